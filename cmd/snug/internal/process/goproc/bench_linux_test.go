// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os/exec"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// BenchmarkLook is the price of one process: known programs, programs known
// from an earlier run, programs never seen, and processes that are not Go's.
func BenchmarkLook(b *testing.B) {
	file := buildTarget(b, how{goLine: "1.26", flags: []string{"-ldflags=-s -w"}})
	target := startTarget(b, exec.Command(file), "GOMAXPROCS=3")
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		b.Fatal(err)
	}
	defer other.Wait()
	defer other.Process.Kill()
	one := func(b *testing.B, pid int, c *Cache) {
		p, err := proc.Open(pid)
		if err != nil {
			b.Fatal(err)
		}
		if f := Look(p, c); f.Err != nil {
			b.Fatal(f.Err)
		}
		p.Close()
	}
	dir := b.TempDir()
	warm := NewCache(dir)
	one(b, target.cmd.Process.Pid, warm)
	for _, c := range []struct {
		name  string
		pid   int
		cache func() *Cache
	}{
		{"known", target.cmd.Process.Pid, func() *Cache { return warm }},
		{"known on disk", target.cmd.Process.Pid, func() *Cache { return NewCache(dir) }},
		{"new", target.cmd.Process.Pid, func() *Cache { return NewCache("") }},
		{"not Go", other.Process.Pid, func() *Cache { return warm }},
	} {
		b.Run(c.name, func(b *testing.B) {
			before := cpuTime(b)
			for b.Loop() {
				one(b, c.pid, c.cache())
			}
			b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// cpuTime is in ns; on a machine with other work it says more than a clock.
func cpuTime(b *testing.B) int64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
