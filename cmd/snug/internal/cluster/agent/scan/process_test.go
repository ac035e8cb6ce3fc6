// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/limits"
)

// TestChanging: a changed limit is recorded, and unknown is no change.
func TestChanging(t *testing.T) {
	unknown, none := limits.Value[float64]{}, limits.NoLimit[float64]()
	of := limits.Of[float64]
	for _, c := range []struct {
		name string
		seen []limits.Value[float64]
		at   int // index into seen; -1 = no change
	}{
		{"the same", []limits.Value[float64]{of(1), of(1), of(1)}, -1},
		{"resized", []limits.Value[float64]{of(1), of(2), of(2)}, 1},
		{"resized twice", []limits.Value[float64]{of(1), of(2), of(1)}, 2},
		{"the first that is known", []limits.Value[float64]{unknown, unknown, of(1)}, -1},
		{"unread in between", []limits.Value[float64]{of(1), unknown, of(1)}, -1},
		{"resized while it was not read", []limits.Value[float64]{of(1), unknown, of(2)}, 2},
		{"taken away", []limits.Value[float64]{of(1), none}, 1},
		{"given", []limits.Value[float64]{none, of(1)}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var limit changing[float64]
			begin := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
			for i, v := range c.seen {
				limit.note(v, begin.Add(time.Duration(i)*time.Second))
			}
			got := limit.when()
			if c.at < 0 {
				if got != nil {
					t.Errorf("changed at %s", *got)
				}
			} else if want := begin.Add(time.Duration(c.at) * time.Second).Format(time.RFC3339); got == nil || *got != want {
				t.Errorf("%v, want %s", got, want)
			}
		})
	}
}

// TestKept: parts of the document from an earlier scan are used until something else was read, or
// the time that findings are judged by begins after the process was last active.
func TestKept(t *testing.T) {
	e, g := &process{}, &goproc.Facts{}
	at := time.Now()
	given := func(cores float64) *limits.Limits {
		l := &limits.Limits{}
		l.CPU.Quota = limits.Of(cores)
		return l
	}
	shows := func(l *limits.Limits) (kept bool, cores, rate float64) {
		at = at.Add(15 * time.Second)
		e.prev, e.last = e.last, observe.Moment{At: at, Go: g}
		e.settle(l, window)
		kept = e.kept != nil && e.box != nil
		row, box := e.row(nil), e.container(podid.Place{})
		if row.Quota.N != box.Quota.N {
			t.Errorf("quota %v, of the container %v", row.Quota.N, box.Quota.N)
		}
		if !box.Throttled.Read() || !row.Used.Read() || !row.GC.Read() {
			t.Errorf("unknown: %+v, %+v, %+v", box.Throttled, row.Used, row.GC)
		}
		return kept, row.Quota.N, row.Used.N
	}
	l := given(1)
	shows(l)
	e.active = at
	for s := 15 * time.Second; s <= 2*window; s += 15 * time.Second {
		if kept, cores, _ := shows(l); kept != (s > window) || cores != 1 {
			t.Errorf("%s after it was active: kept %t, quota %v", s, kept, cores)
		}
	}
	// A scan is a little late: the window has passed, and the last row was judged by one that had begun before
	// the process was last active.
	g = &goproc.Facts{}
	shows(l)
	e.active = at
	for range 3 {
		shows(l)
	}
	at = at.Add(30 * time.Millisecond)
	for _, want := range []bool{false, true} {
		if kept, _, _ := shows(l); kept != want {
			t.Errorf("a late scan: kept %t", kept)
		}
	}
	l = given(2)
	if kept, cores, _ := shows(l); kept || cores != 2 {
		t.Errorf("other limits: kept %t, quota %v", kept, cores)
	}
	if kept, _, _ := shows(l); !kept {
		t.Error("the same limits: not kept")
	}
	g = &goproc.Facts{}
	g.Stat.CPU = 3 * time.Second
	if kept, _, rate := shows(l); kept || rate < .19 || rate > .21 {
		t.Errorf("it has worked: kept %t, %v CPUs", kept, rate)
	}
	if kept, _, rate := shows(l); !kept || rate != 0 {
		t.Errorf("it rests: kept %t, %v CPUs", kept, rate)
	}
	e.moved("0::/elsewhere\n")
	if kept, _, _ := shows(l); kept {
		t.Error("kept in another group")
	}
}

// TestRareScans: at any interval a row covers at least the time since the previous scan, also if scans are
// late, and at most a minute or one and a half intervals.
func TestRareScans(t *testing.T) {
	for _, interval := range []time.Duration{time.Second, 15 * time.Second, 45 * time.Second, time.Minute, 5 * time.Minute, time.Hour} {
		e, at := &process{}, time.Now()
		over := windowOf(interval)
		for i := range 12 {
			at = at.Add(interval)
			late := time.Duration(i%3) * interval / 100
			g := &goproc.Facts{}
			g.Stat.CPU = time.Duration(i) * interval / 2
			e.prev, e.last = e.last, observe.Moment{At: at.Add(late), Go: g}
			e.settle(nil, over)
			if i == 0 {
				continue
			}
			r := e.row(nil)
			if !r.Window.Known() || r.Window.N < .98*interval.Seconds() || r.Window.N > over.Seconds() || !r.Used.Known() || r.Used.N < .45 || r.Used.N > .55 {
				t.Errorf("every %s, scan %d: window %+v, used %+v", interval, i, r.Window, r.Used)
			}
			if len(e.moments) > maxMoments+1 {
				t.Errorf("every %s: %d moments", interval, len(e.moments))
			}
		}
	}
}

// TestMoved: new limits after a move to another group are no resize.
func TestMoved(t *testing.T) {
	e := &process{}
	given := func(cores float64, memory int64) {
		e.last.Go, e.last.At = &goproc.Facts{}, time.Now()
		l := &limits.Limits{}
		l.CPU.Quota, l.Memory.Hard = limits.Of(cores), limits.Of(memory)
		e.settle(l, window)
	}
	e.moved("0::/a\n")
	given(1, 1<<20)
	e.moved("0::/b\n")
	given(2, 2<<20)
	if cpu, memory := e.quota.when(), e.memory.when(); cpu != nil || memory != nil || e.group != "0::/b\n" || len(e.moments) != 1 {
		t.Errorf("%v, %v, in %q, %d moments", cpu, memory, e.group, len(e.moments))
	}
	given(3, 3<<20)
	if cpu, memory := e.quota.when(), e.memory.when(); cpu == nil || memory == nil {
		t.Errorf("%v, %v", cpu, memory)
	}
}
