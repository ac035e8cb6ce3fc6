// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
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
			a := newScanner(t, Options{})
			scan(t, a)
			kept := 0
			for range scans {
				p := a.known[child.pid()]
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
				if now := a.known[child.pid()]; now.last.Go == facts && now.shared == limits && c.name == "rests" && row != nil && now.kept != row {
					t.Errorf("made anew at scan %d, though nothing was read", a.tick)
				} else if now.last.Go != facts && now.kept == row {
					t.Errorf("kept at scan %d, though it was read", a.tick)
				}
				switch now := a.known[child.pid()].last.Go.GOGC.N; {
				case now == planted && a.due(facts, restEvery):
					t.Errorf("not read at scan %d, when it is due", a.tick)
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

// called are the names of all containers.
type called struct{ names.Named }

func (n *called) Lookup(string, string) (names.Named, bool) { return n.Named, true }

// TestContainerKept: a container is made anew unless all its processes rest and its names are the same.
func TestContainerKept(t *testing.T) {
	called := &called{names.Named{Pod: "cart-1"}}
	a := &Scanner{opts: Options{Names: called}}
	in := newGroup("0::/kubepods/burstable/pod"+cartUID+"/"+sum+"\n", 1)
	rests := func(pid int) *process {
		g := &goproc.Facts{Pid: pid}
		m := observe.Moment{At: time.Now(), Go: g}
		return &process{in: in, last: m, prev: m}
	}
	members := []*process{rests(1), rests(2)}
	var last *finding.NodeProcess
	for _, c := range []struct {
		what string
		do   func()
		kept bool
	}{
		{"at first", func() {}, false},
		{"whose throttling is not that of a reading", func() {}, false},
		{"that rests", func() {}, true},
		{"that goes on to rest", func() {}, true},
		{"of which one works", func() { members[1].kept, members[1].full = nil, nil }, false},
		{"after that", func() {}, false},
		{"that rests again", func() {}, true},
		{"with another name", func() { called.Pod = "cart-2" }, false},
		{"with that name", func() {}, true},
		{"whose pod sets GOMAXPROCS", func() { called.SetsProcs = new(true) }, false},
		{"whose pod sets it still", func() { called.SetsProcs = new(true) }, true},
		{"with one more process", func() { members = append(members, rests(3)) }, false},
		{"after that", func() {}, false},
		{"with three", func() {}, true},
		{"with one less", func() { members = members[:2] }, false},
	} {
		c.do()
		got := a.container(members)
		if kept := &got.Processes[0] == last; kept != c.kept || len(got.Processes) != len(members) || *got.Pod != called.Pod {
			t.Errorf("a container %s: kept %t, want %t; %d processes", c.what, kept, c.kept, len(got.Processes))
		}
		last = &got.Processes[0]
	}
}
