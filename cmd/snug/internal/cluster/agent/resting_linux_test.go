// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"
)

// TestScanResting: the memory of an idle process is read only at every restEvery-th scan, that
// of a young or busy process at each.
func TestScanResting(t *testing.T) {
	const planted, scans = 4321, 4 * restEvery
	for _, c := range []struct {
		name         string
		young, works bool
	}{{name: "rests"}, {name: "young", young: true}, {name: "works", works: true}} {
		t.Run(c.name, func(t *testing.T) {
			child := start(t)
			child.says("ready")
			a := newAgent(t, Options{})
			scan(t, a)
			kept := 0
			for range scans {
				p := a.scanner.known[child.pid()]
				if p == nil {
					t.Fatal("it is not known")
				}
				// After the next scan the value differs only if it was read.
				facts := p.last.Go
				facts.GOGC.N = planted
				facts.Stat.Started = time.Now() // however long the scans take
				if !c.young {
					facts.Stat.Started = facts.Stat.Started.Add(-2 * young)
				}
				if c.works {
					facts.Stat.CPU -= 10 * time.Millisecond // it has used CPU time since
				}
				p.active = p.active.Add(-2 * window)
				row, limits := p.kept, p.shared
				scan(t, a)
				if now := a.scanner.known[child.pid()]; now.last.Go == facts && now.shared == limits && c.name == "rests" && row != nil && now.kept != row {
					t.Errorf("made anew at scan %d, though nothing was read", a.scanner.tick)
				} else if now.last.Go != facts && now.kept == row {
					t.Errorf("kept at scan %d, though it was read", a.scanner.tick)
				}
				switch now := a.scanner.known[child.pid()].last.Go.GOGC.N; {
				case now == planted && a.scanner.due(facts, restEvery):
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
