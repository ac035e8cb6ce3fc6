// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// one is a container with one process, as a scan has it: in each interval it allocates 100 MiB and collects twice.
func one(workload string, pid int) (finding.Container, *process) {
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
	return c, &process{filesAt: noon, last: observe.Moment{At: noon, Go: g}}
}

const interval = 15 * time.Second

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// next is the scan 15 s later.
func (e *process) next() time.Time {
	g := *e.last.Go
	g.Allocated.N += 100 << 20
	g.Collections.N += 2
	g.CPU.N.GCTotal += 100 * time.Millisecond
	g.CPU.N.User += 900 * time.Millisecond
	e.prev = e.last
	e.last = observe.Moment{At: e.prev.At.Add(15 * time.Second), Go: &g}
	return e.last.At
}

func scanOf(all ...finding.Container) *finding.Node { return &finding.Node{Containers: all} }

// TestSizes: figures of a scan become those of the workload; the first look at a process has none.
func TestSizes(t *testing.T) {
	s := newSizes("", "n", interval, nil)
	c, p := one("Deployment/web", 7)
	known := map[int]*process{7: p}
	s.add(scanOf(c), known, noon)
	w := s.of[needs.Key{Namespace: "shop", Workload: "Deployment/web", Container: "app"}]
	if w == nil || w.Seen != 0 || w.Used.Seconds != 0 || w.Has.Containers != 1 || w.Has.Limit.Least != 512<<20 {
		t.Fatalf("%+v", w)
	}
	for range 100 {
		s.add(scanOf(c), known, p.next())
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
	p.filesAt = time.Time{}
	s.add(scanOf(c), known, p.next())
	if w.Used.Seconds > usedFor || w.Other.Seconds > otherFor || w.Live.Seconds <= liveFor {
		t.Errorf("its pages are not read: %+v", w)
	}
	p.filesAt = noon
	// It rests: nothing is read, and it has allocated nothing.
	p.prev, p.last = p.last, observe.Moment{At: p.last.At.Add(15 * time.Second), Go: p.last.Go}
	c.Used.N = 0
	s.add(scanOf(c), known, p.last.At)
	if n, _ := w.CPU.Quantile(0.001); n != 0 || w.Allocated.Zero == 0 {
		t.Errorf("%+v", w.CPU)
	}
	// The time in which it was seen lasts no longer for a second container of the node.
	seenFor, measured := w.Seen, w.Other.Seconds
	beside, q := one("Deployment/web", 8)
	beside.Processes[0].PID = 8
	q.prev, q.last = p.prev, p.last
	both := map[int]*process{7: p, 8: q}
	p.next()
	q.prev, q.last = p.prev, p.last
	s.add(scanOf(c, beside), both, p.last.At)
	if w.Seen != seenFor+15 || w.Other.Seconds < measured+29 {
		t.Errorf("%v s, and %v of both", w.Seen, w.Other.Seconds)
	}
	// With another process its heap is not that of the container.
	live, other := w.Live.Seconds, w.Other.Seconds
	c.Processes = append(c.Processes, c.Processes[0])
	s.add(scanOf(c), known, p.next())
	if w.Mates != 2 || w.Live.Seconds > live || w.Other.Seconds > other || w.Size().Live.Why != "up to 2 Go processes share a container" {
		t.Errorf("%+v", w)
	}
	s.add(scanOf(), nil, p.last.At.Add(time.Minute))
	if w.Has.Containers != 0 || w.Has.Limit.N != 0 || w.Used.Seconds == 0 {
		t.Errorf("after its end: %+v", w)
	}
	if s.add(scanOf(), nil, p.last.At.Add(keepNeeds+time.Hour)); len(s.of) != 0 {
		t.Error("it is never forgotten")
	}
}

// TestSizesUnknown: without the process's memory the heap is unknown, and says why.
func TestSizesUnknown(t *testing.T) {
	s := newSizes("", "", interval, nil)
	c, p := one("Deployment/web", 7)
	old := &goproc.Facts{Pid: 7}
	old.Stat.RSSBytes = 90 << 20
	old.HeapMarked.Unknown("", "Go 1.12 is too old")
	p.last.Go = old
	known := map[int]*process{7: p}
	p.prev, p.last = p.last, observe.Moment{At: noon.Add(15 * time.Second), Go: old}
	s.add(scanOf(c), known, p.last.At)
	got := s.document().Workloads[0].Size()
	if got.Live.Known() || got.Allocated.Known() || got.GCCores.Known() || got.Rest.Known() || !got.Used.Known() || !strings.Contains(got.Live.Why, "too old") {
		t.Errorf("%+v", got)
	}
}

// many returns the containers and processes of n workloads.
func many(n int) (all []finding.Container, known map[int]*process) {
	known = map[int]*process{}
	for i := range n {
		c, p := one(fmt.Sprintf("Deployment/w%d", i), i)
		all, known[i] = append(all, c), p
	}
	return all, known
}

// TestSizesBounded: a node with too many workloads keeps those that it has, and counts the others. One that has gone
// makes room. Containers without a name are counted.
func TestSizesBounded(t *testing.T) {
	s := newSizes("", "", interval, nil)
	all, known := many(needs.MaxWorkloads + 3)
	nameless := finding.Container{PodUID: new("u"), Processes: all[0].Processes}
	shell := finding.Container{Unit: new("session-1.scope"), Processes: all[0].Processes}
	service := finding.Container{Unit: new("etcd.service"), Processes: all[0].Processes}
	s.add(scanOf(append(all, nameless, shell)...), known, noon)
	if d := s.document(); len(d.Workloads) != needs.MaxWorkloads || d.LeftOut != 3 || d.Nameless != 1 {
		t.Errorf("%d workloads, %d left out, %d nameless", len(d.Workloads), d.LeftOut, d.Nameless)
	}
	s.add(scanOf(append(all[1:needs.MaxWorkloads], service)...), known, noon.Add(goneFor/2))
	if s.left != 1 || s.nameless != 0 {
		t.Errorf("%d left out, %d nameless", s.left, s.nameless)
	}
	s.add(scanOf(append(all[1:needs.MaxWorkloads], service)...), known, noon.Add(goneFor))
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
	known := map[int]*process{7: p}
	s := newSizes(dir, "n1", interval, note)
	s.add(scanOf(c), known, noon)
	for range 10 {
		s.add(scanOf(c), known, p.next())
	}
	s.end()
	again := newSizes(dir, "n1", interval, note)
	if len(notes) != 0 || len(again.of) != 1 {
		t.Fatalf("%d workloads, %v", len(again.of), notes)
	}
	for key, w := range again.of {
		if w.Seen != 150 || w.Has.Containers != 0 || w.Has.Minor != 26 {
			t.Errorf("%+v: %+v", key, w)
		}
	}
	again.add(scanOf(c), known, p.next())
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
		s := newSizes(dir, "n1", interval, note)
		s.add(scanOf(c), known, p.next())
		s.end()
		if now, _ := os.ReadFile(file); !bytes.Equal(now, other) || len(notes) != 2 || !strings.Contains(notes[1], "hint: remove the file") || len(s.of) != 1 {
			t.Errorf("%s: %q, %d bytes are %d", name, notes, len(other), len(now))
		}
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	notes = nil
	if newSizes(dir, "n2", interval, note); len(notes) != 2 || !strings.Contains(notes[0], "node n1") {
		t.Errorf("%q", notes)
	}
	// A damaged one is moved aside, and replaces what was there.
	for _, broken := range [][]byte{text[:len(text)/2], nil, make([]byte, 100)} {
		if err := os.WriteFile(file, broken, 0o600); err != nil {
			t.Fatal(err)
		}
		notes = nil
		s := newSizes(dir, "n1", interval, note)
		s.add(scanOf(c), known, p.next())
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
	if s := newSizes(odd, "n1", interval, note); s.file != "" || len(notes) != 2 {
		t.Errorf("%q", notes)
	}
	// A directory that is not there is said once.
	notes = nil
	s = newSizes(filepath.Join(dir, "none"), "n1", interval, note)
	for range 3 {
		s.add(scanOf(c), known, p.last.At.Add(10*time.Minute))
		p.last.At = p.last.At.Add(10 * time.Minute)
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "no such file or directory") {
		t.Errorf("%q", notes)
	}
}

// TestSizesAfterPause: workloads that run make no room, though no agent has seen them for an hour.
func TestSizesAfterPause(t *testing.T) {
	s := newSizes("", "", interval, nil)
	all, known := many(needs.MaxWorkloads + 1)
	s.add(scanOf(all[1:]...), known, noon)
	s.add(scanOf(all...), known, noon.Add(2*goneFor))
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
	s := newSizes("", "", interval, nil)
	c, p := one("Deployment/web", 7)
	p.next()
	p.last.At = p.prev.At.Add(time.Hour)
	s.add(scanOf(c), map[int]*process{7: p}, p.last.At)
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
	if g := &p.last.Go.GOGC.N; w.Has.GOGC == g || *w.Has.GOGC != *g {
		t.Error("it keeps what was read of the process")
	}
	// The clock is set back.
	s.add(scanOf(c), nil, noon.Add(-time.Hour))
	if !w.Last.Equal(noon.Add(-time.Hour)) {
		t.Errorf("last seen at %v", w.Last)
	}
}

// TestSizesNames: the metrics have the names of package needs, in its order.
func TestSizesNames(t *testing.T) {
	m, families := needSeen, newRegistry()
	for i, one := range needs.Names {
		if i == 0 || one.Name != needs.Names[i-1].Name {
			m++
		}
		if families[m].name != "snug_go_workload_"+one.Name {
			t.Errorf("%s, want %s", families[m].name, one.Name)
		}
	}
	if m != needRequest {
		t.Errorf("metric %d is the last one", m)
	}
}

// TestSizesServed: the document and the metrics of a workload are served, and the file is written at the end.
func TestSizesServed(t *testing.T) {
	dir := t.TempDir()
	a, err := New(Options{Interval: time.Hour, Files: goproc.NewCache(""), State: dir, Node: "n1"})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	c, p := one("Deployment/web", 7)
	known := map[int]*process{7: p}
	a.sizes.add(scanOf(c), known, noon)
	a.sizes.add(scanOf(c), known, p.next())
	a.last, a.ended, a.scans = sampleNode(), time.Now(), 2
	w := httptest.NewRecorder()
	a.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/needs", nil))
	if d, err := needs.Decode(w.Body); err != nil || w.Code != 200 || len(d.Workloads) != 1 || d.Node != "n1" {
		t.Errorf("%d: %v", w.Code, err)
	}
	got := gathered(t, a)
	const of = "container=app,namespace=shop,"
	for name, want := range map[string]float64{
		"seen_seconds{" + of + "workload=Deployment/web}": 15, "cpu_cores{" + of + "stat=mean,workload=Deployment/web}": 0.25,
		"info{container=app,go=1.26,gogc=100,gomaxprocs=4,namespace=shop,workload=Deployment/web}": 1, "memory_limit_bytes{" + of + "stat=least,workload=Deployment/web}": 512 << 20, "memory_limit_bytes{" + of + "stat=count,workload=Deployment/web}": 1,
		"gc_cycles_per_second{" + of + "stat=mean,workload=Deployment/web}": 2 / 15.0, "allocated_bytes_per_second{" + of + "stat=mean,workload=Deployment/web}": 100 << 20 / 15.0,
	} {
		if v, ok := got["snug_go_workload_"+name]; !ok || v < 0.999*want || v > 1.001*want {
			t.Errorf("%s: %v", name, v)
		}
	}
	for name := range got {
		if strings.HasPrefix(name, "snug_go_workload_throttled") {
			t.Error("a share of no periods: " + name)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Serve(ctx, l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, stateFile)); err != nil {
		t.Error(err)
	}
}
