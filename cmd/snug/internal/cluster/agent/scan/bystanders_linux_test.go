// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"os/exec"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestOthersSettled: a container counts as old as its oldest process, or as long as it is known.
func TestOthersSettled(t *testing.T) {
	var pids [2]int
	var started [2]time.Time
	for i := range pids {
		cmd := exec.Command("sleep", "600")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		pids[i] = cmd.Process.Pid
		p, err := proc.Open(pids[i])
		if err != nil {
			t.Fatal(err)
		}
		started[i] = p.First().Started
		p.Close()
		time.Sleep(50 * time.Millisecond) // start times are in ticks
	}
	now, after := started[1], started[1].Sub(started[0])-10*time.Millisecond
	for _, c := range []struct {
		name  string
		there []int // in the order of PIDs
		known time.Duration
		want  bool
	}{
		{"the old one", pids[:1], 0, true},
		{"the young one", pids[1:], 0, false},
		{"both", pids[:], 0, true},
		{"the young one, known for as long", pids[1:], after, true},
		{"the young one, known for almost as long", pids[1:], after - 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Scanner{named: true, at: now.Add(-c.known), bystanders: map[string]*bystander{}}
			b := s.bystander(podid.Parse("0::/kubepods/burstable/pod" + cartUID + "/" + sum + "\n"))
			for range 2 {
				s.tick++
				for _, pid := range c.there {
					s.notePresent(pid, &other{in: b}, false)
				}
			}
			if got := b.hasSettled(now, after); got != c.want || b.tick != s.tick {
				t.Errorf("it has settled: %t, seen at scan %d of %d", got, b.tick, s.tick)
			}
		})
	}
}
