// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/limits"
)

// BenchmarkDepth reads, from outside, the limits of a process in nested groups. Inside, a
// process in 1,000 memory groups would pay the kernel for each page it touches.
func BenchmarkDepth(b *testing.B) {
	realCgroups(b)
	for _, levels := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("levels=%d", levels), func(b *testing.B) {
			g := newGroup(b, nil, "snug-depth")
			for range levels - 1 {
				g = newGroup(b, g, "d")
			}
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "SNUG_TEST_BLOCK=1")
			stdin, err := cmd.StdinPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() {
				stdin.Close()
				cmd.Wait()
			})
			g.join(b, cmd.Process.Pid)
			b.ResetTimer()
			begin := cpuTime()
			for range b.N {
				l, err := limits.Read(limits.Process{PID: cmd.Process.Pid})
				if err != nil || len(l.CPU.Levels) < levels {
					b.Fatalf("%d levels, %v", len(l.CPU.Levels), err)
				}
			}
			b.ReportMetric(float64(cpuTime()-begin)/float64(b.N), "cpu-ns/op")
		})
	}
}

func cpuTime() time.Duration {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
