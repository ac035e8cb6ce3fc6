// SPDX-License-Identifier: Apache-2.0

package keep

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// one is a container with one process, as a scan has it: in each interval it allocates 100 MiB and collects twice.
func one(workload string, pid int) (finding.Container, *snapshot.Sample) {
	c := finding.Container{
		ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("p"), Name: new("app"), Workload: new(workload)},
		Used:           figure.New(0.25, ""), MemoryLimit: figure.New(int64(512<<20), ""), Request: figure.New(0.5, ""),
		Processes: []finding.NodeProcess{{Process: finding.Process{PID: pid, Memory: figure.New(int64(90<<20), "")}, Aware: new(true)}},
	}
	g := &goproc.Facts{Pid: pid, CPUs: 4}
	g.Exe.Minor = 26
	g.Stat.RSSBytes = 90 << 20
	g.HeapMarked, g.HeapLive, g.HeapGoal = figure.New(uint64(30<<20), ""), figure.New(uint64(50<<20), ""), figure.New(uint64(60<<20), "")
	g.Mapped, g.Allocated = figure.New(uint64(60<<20), ""), figure.New(uint64(1<<30), "")
	g.Collections, g.GOGC, g.GOMAXPROCS = figure.New(uint32(100), ""), figure.New(100, ""), figure.New(4, "")
	g.CPU = figure.New(goproc.CPUClasses{GCTotal: time.Second, User: 9 * time.Second}, "")
	return c, &snapshot.Sample{Read: true, Last: observe.Moment{At: noon, Go: g}}
}

const interval = 15 * time.Second

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// next is the scan 15 s later.
func next(e *snapshot.Sample) time.Time {
	g := *e.Last.Go
	g.Allocated.N += 100 << 20
	g.Collections.N += 2
	g.CPU.N.GCTotal += 100 * time.Millisecond
	g.CPU.N.User += 900 * time.Millisecond
	e.Prev = e.Last
	e.Last = observe.Moment{At: e.Prev.At.Add(15 * time.Second), Go: &g}
	return e.Last.At
}

// add adds a scan of containers, with samples by process; of a process without one nothing is known.
func add(s *Store, at time.Time, known map[int]*snapshot.Sample, all ...finding.Container) {
	from := &snapshot.Snapshot{Node: &finding.Node{Containers: all}}
	for i := range all {
		var one snapshot.Sample
		if of := known[all[i].Processes[0].PID]; of != nil {
			one = *of
		}
		from.Samples = append(from.Samples, one)
	}
	s.Add(from, at)
}

// TestSizes: figures of a scan become those of the workload; the first look at a process has none.
func TestSizes(t *testing.T) {
	s := Open("", "n", interval, nil)
	c, p := one("Deployment/web", 7)
	known := map[int]*snapshot.Sample{7: p}
	add(s, noon, known, c)
	w := s.of[needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}]
	if w == nil || w.Seen != 0 || w.Used.Seconds != 0 || w.Has.Containers != 1 || w.Has.Limit.Least != 512<<20 {
		t.Fatalf("%+v", w)
	}
	for range 100 {
		add(s, next(p), known, c)
	}
	got := w.Size()
	for name, v := range map[string][2]float64{
		"seen": {w.Seen, 1500}, "live": {got.Live.N, 30 << 20}, "allocated": {got.Allocated.N, 100 << 20 / 15.0}, "gc": {got.GCCores.N, 0.025},
		"goal": {got.Goal.N, 60 << 20}, "cpu": {got.CPUMean.N, 0.25}, "cycles": {w.Cycles / w.Heap, 2 / 15.0},
	} {
		if v[0] < 0.999*v[1] || v[0] > 1.001*v[1] {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	for name, v := range map[string][2]float64{"rest": {got.Rest.N, 10 << 20}, "other": {got.Other.N, 30 << 20}, "used": {got.Used.N, 90 << 20}, "high": {got.CPUHigh.N, 0.25}} {
		if v[0] < v[1] || v[0] > 1.0501*v[1] {
			t.Errorf("%s: %v, want %v", name, v[0], v[1])
		}
	}
	if got.Throttled.Known() || got.Quota.Known() || w.Why != "" {
		t.Errorf("%+v", got)
	}
	// As long as its pages of files could not be read, its memory is unknown, and the rest is not.
	usedFor, otherFor, liveFor := w.Used.Seconds, w.Other.Seconds, w.Live.Seconds
	p.Read = false
	add(s, next(p), known, c)
	if w.Used.Seconds > usedFor || w.Other.Seconds > otherFor || w.Live.Seconds <= liveFor {
		t.Errorf("its pages are not read: %+v", w)
	}
	p.Read = true
	// It rests: nothing is read, and it has allocated nothing.
	p.Prev, p.Last = p.Last, observe.Moment{At: p.Last.At.Add(15 * time.Second), Go: p.Last.Go}
	c.Used.N = 0
	add(s, p.Last.At, known, c)
	if n, _ := w.CPU.Quantile(0.001); n != 0 || w.Allocated.Zero == 0 {
		t.Errorf("%+v", w.CPU)
	}
	// The time in which it was seen lasts no longer for a second container of the node.
	seenFor, measured := w.Seen, w.Other.Seconds
	beside, q := one("Deployment/web", 8)
	beside.Processes[0].PID = 8
	q.Prev, q.Last = p.Prev, p.Last
	both := map[int]*snapshot.Sample{7: p, 8: q}
	next(p)
	q.Prev, q.Last = p.Prev, p.Last
	add(s, p.Last.At, both, c, beside)
	if w.Seen != seenFor+15 || w.Other.Seconds < measured+29 {
		t.Errorf("%v s, and %v of both", w.Seen, w.Other.Seconds)
	}
	// With another process its heap is not that of the container.
	live, other := w.Live.Seconds, w.Other.Seconds
	c.Processes = append(c.Processes, c.Processes[0])
	add(s, next(p), known, c)
	if w.Mates != 2 || w.Live.Seconds > live || w.Other.Seconds > other || w.Size().Live.Why != "up to 2 Go processes share a container" {
		t.Errorf("%+v", w)
	}
	add(s, p.Last.At.Add(time.Minute), nil)
	if w.Has.Containers != 0 || w.Has.Limit.N != 0 || w.Used.Seconds == 0 {
		t.Errorf("after its end: %+v", w)
	}
	if add(s, p.Last.At.Add(keepNeeds+time.Hour), nil); len(s.of) != 0 {
		t.Error("it is never forgotten")
	}
}

// TestSizesUnknown: without the process's memory the heap is unknown, and says why.
func TestSizesUnknown(t *testing.T) {
	s := Open("", "", interval, nil)
	c, p := one("Deployment/web", 7)
	old := &goproc.Facts{Pid: 7}
	old.Stat.RSSBytes = 90 << 20
	old.HeapMarked.Unknown("", "Go 1.12 is too old")
	p.Last.Go = old
	known := map[int]*snapshot.Sample{7: p}
	p.Prev, p.Last = p.Last, observe.Moment{At: noon.Add(15 * time.Second), Go: old}
	add(s, p.Last.At, known, c)
	got := s.document().Workloads[0].Size()
	if got.Live.Known() || got.Allocated.Known() || got.GCCores.Known() || got.Rest.Known() || !got.Used.Known() || !strings.Contains(got.Live.Why, "too old") {
		t.Errorf("%+v", got)
	}
}

// many returns the containers and processes of n workloads.
func many(n int) (all []finding.Container, known map[int]*snapshot.Sample) {
	known = map[int]*snapshot.Sample{}
	for i := range n {
		c, p := one(fmt.Sprintf("Deployment/w%d", i), i)
		all, known[i] = append(all, c), p
	}
	return all, known
}

// TestSizesBounded: a node with too many workloads keeps those that it has, and counts the others. One that has gone
// makes room. Containers without a name are counted.
func TestSizesBounded(t *testing.T) {
	s := Open("", "", interval, nil)
	all, known := many(needs.MaxWorkloads + 3)
	nameless := finding.Container{PodUID: new("u"), Processes: all[0].Processes}
	shell := finding.Container{Unit: new("session-1.scope"), Processes: all[0].Processes}
	service := finding.Container{Unit: new("etcd.service"), Processes: all[0].Processes}
	add(s, noon, known, append(all, nameless, shell)...)
	if d := s.document(); len(d.Workloads) != needs.MaxWorkloads || d.LeftOut != 3 || d.Nameless != 1 {
		t.Errorf("%d workloads, %d left out, %d nameless", len(d.Workloads), d.LeftOut, d.Nameless)
	}
	add(s, noon.Add(goneFor/2), known, append(all[1:needs.MaxWorkloads], service)...)
	if s.left != 1 || s.nameless != 0 {
		t.Errorf("%d left out, %d nameless", s.left, s.nameless)
	}
	add(s, noon.Add(goneFor), known, append(all[1:needs.MaxWorkloads], service)...)
	if s.left != 0 || s.of[needs.Key{Container: "etcd.service"}] == nil {
		t.Errorf("%d left out", s.left)
	}
}

// TestSizesState: what was seen outlives the agent; another file is said and left as it is.
func TestSizesState(t *testing.T) {
	dir := t.TempDir()
	var notes []string
	note := func(text string) { notes = append(notes, text) }
	c, p := one("Deployment/web", 7)
	known := map[int]*snapshot.Sample{7: p}
	s := Open(dir, "n1", interval, note)
	add(s, noon, known, c)
	for range 10 {
		add(s, next(p), known, c)
	}
	s.End()
	again := Open(dir, "n1", interval, note)
	if len(notes) != 0 || len(again.of) != 1 {
		t.Fatalf("%d workloads, %v", len(again.of), notes)
	}
	for key, w := range again.of {
		if w.Seen != 150 || w.Has.Containers != 0 || w.Has.Minor != 26 {
			t.Errorf("%+v: %+v", key, w)
		}
	}
	add(again, next(p), known, c)
	if w := again.document().Workloads[0]; w.Seen != 165 || w.First != noon {
		t.Errorf("%+v", w)
	}
	file := filepath.Join(dir, stateFile)
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, other := range map[string][]byte{"foreign": []byte(`{"kind":"agent"}`), "newer": bytes.Replace(text, []byte(`"version":1`), []byte(`"version":9`), 1)} {
		if err := os.WriteFile(file, other, 0o600); err != nil {
			t.Fatal(err)
		}
		notes = nil
		s := Open(dir, "n1", interval, note)
		add(s, next(p), known, c)
		s.End()
		if now, _ := os.ReadFile(file); !bytes.Equal(now, other) || len(notes) != 2 || !strings.Contains(notes[1], "hint: remove the file") || len(s.of) != 1 {
			t.Errorf("%s: %q, %d bytes are %d", name, notes, len(other), len(now))
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	notes = nil
	if Open(dir, "n2", interval, note); len(notes) != 2 || !strings.Contains(notes[0], "node n1") {
		t.Errorf("%q", notes)
	}
	// A damaged one is moved aside, and replaces what was there.
	for _, broken := range [][]byte{text[:len(text)/2], nil, make([]byte, 100)} {
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		notes = nil
		s := Open(dir, "n1", interval, note)
		add(s, next(p), known, c)
		if now, err := os.ReadFile(file + ".broken"); err != nil || !bytes.Equal(now, broken) || len(notes) != 1 || !strings.Contains(notes[0], "it is damaged") {
			t.Errorf("%q, %d bytes are %d, %v", notes, len(broken), len(now), err)
		}
		if d, err := readState(file, "n1"); err != nil || len(d.Workloads) != 1 {
			t.Error(err)
		}
	}
	// What is not a file is not waited for.
	odd := t.TempDir()
	if err := os.Mkdir(filepath.Join(odd, stateFile), 0o700); err != nil {
		t.Fatal(err)
	}
	notes = nil
	if s := Open(odd, "n1", interval, note); s.file != "" || len(notes) != 2 {
		t.Errorf("%q", notes)
	}
	// A directory that is not there is said once.
	notes = nil
	s = Open(filepath.Join(dir, "none"), "n1", interval, note)
	for range 3 {
		add(s, p.Last.At.Add(10*time.Minute), known, c)
		p.Last.At = p.Last.At.Add(10 * time.Minute)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "no such file or directory") {
		t.Errorf("%q", notes)
	}
}

// TestSizesAfterPause: workloads that run make no room, though no agent has seen them for an hour.
func TestSizesAfterPause(t *testing.T) {
	s := Open("", "", interval, nil)
	all, known := many(needs.MaxWorkloads + 1)
	add(s, noon, known, all[1:]...)
	add(s, noon.Add(2*goneFor), known, all...)
	for key, w := range s.of {
		if w.First != noon {
			t.Errorf("%v is new", key)
		}
	}
	if s.left != 1 || len(s.of) != needs.MaxWorkloads {
		t.Errorf("%d left out", s.left)
	}
}

// TestSizesLate: a scan that is late weighs two intervals, its rates are those of the whole time, and the interval stays.
func TestSizesLate(t *testing.T) {
	s := Open("", "", interval, nil)
	c, p := one("Deployment/web", 7)
	next(p)
	p.Last.At = p.Prev.At.Add(time.Hour)
	add(s, p.Last.At, map[int]*snapshot.Sample{7: p}, c)
	w := s.document().Workloads[0]
	if w.Seen != 30 || w.Every != 15 || w.CPU.Seconds != 30 || w.Allocated.Seconds != 30 || w.Heap != 30 {
		t.Errorf("%+v", w)
	}
	if got, want := w.Allocated.Sum/30, 100<<20/3600.0; got < 0.999*want || got > 1.001*want {
		t.Errorf("%v a second, want %v", got, want)
	}
	if got, want := w.Cycles/w.Heap, 2/3600.0; got < 0.999*want || got > 1.001*want {
		t.Errorf("%v collections a second, want %v", got, want)
	}
	if g := &p.Last.Go.GOGC.N; w.Has.GOGC == g || *w.Has.GOGC != *g {
		t.Error("it keeps what was read of the process")
	}
	// The clock is set back.
	add(s, noon.Add(-time.Hour), nil, c)
	if !w.Last.Equal(noon.Add(-time.Hour)) {
		t.Errorf("last seen at %v", w.Last)
	}
}
