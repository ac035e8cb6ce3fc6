// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"
)

// TestScanResting: the memory of a process that does nothing is read at every so many scans
// only, of one that has just started at each, and of one that works too.
func TestScanResting(t *testing.T) {
	const planted, scans = 4321, 4 * restLooks
	for _, c := range []struct {
		name         string
		young, works bool
	}{{name: "rests"}, {name: "young", young: true}, {name: "works", works: true}} {
		t.Run(c.name, func(t *testing.T) {
			child := start(t)
			child.says("ready")
			a := make1(t, Options{})
			scan(t, a)
			kept := 0
			for range scans {
				p := a.scanner.known[child.pid()]
				if p == nil {
					t.Fatal("it is not known")
				}
				// Of the next scan only what it has read can differ.
				facts := p.last.Go
				facts.GOGC.N = planted
				if !c.young {
					facts.Stat.Started = time.Now().Add(-2 * young)
				}
				if c.works {
					facts.Stat.CPU -= 10 * time.Millisecond // since then it has used some
				}
				scan(t, a)
				switch now := a.scanner.known[child.pid()].last.Go.GOGC.N; {
				case now == planted && a.scanner.due(facts, restLooks):
					t.Errorf("not read at scan %d, when it is due", a.scanner.tick)
				case now == planted:
					kept++
				case now != 77:
					t.Errorf("GOGC is %d", now)
				}
			}
			if rests := !c.young && !c.works; rests != (kept > 0) {
				t.Errorf("not read at %d of %d scans", kept, scans)
			}
		})
	}
}
