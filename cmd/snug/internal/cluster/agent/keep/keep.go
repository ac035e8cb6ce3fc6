// SPDX-License-Identifier: Apache-2.0

// Package keep keeps what sizing needs of each workload, over scans and in a file of the agent's volume.
package keep

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

const (
	// keepNeeds is how long a workload is kept that has gone: then its peaks are forgotten too.
	keepNeeds = 8 * 24 * time.Hour
	// goneFor is after how long it makes room for another.
	goneFor = time.Hour
	// stateEvery is the least time between two writes of the file, which are all that a crash loses.
	stateEvery = 5 * time.Minute
)

// stateFile is the name of the file in the directory.
const stateFile = "needs.json"

// Store keeps what sizing needs of each workload. It is safe for concurrent use.
type Store struct {
	node  string
	every time.Duration // from scan to scan
	file  string        // "" = none
	note  func(string)

	mu       sync.Mutex
	of       map[needs.Key]*needs.Workload
	at       time.Time // of the last scan
	left     int       // workloads of that scan without room
	nameless int       // containers of that scan

	writing sync.Mutex // is locked before mu
	written time.Time
	failed  string // why the last write failed
}

// Open returns what the file in dir has, "" = none. A file that is not this agent's is left as it is, and nothing is
// written. One that is damaged, as after a power failure, is moved aside.
func Open(dir, node string, every time.Duration, note func(string)) *Store {
	s := &Store{node: node, every: every, note: note, of: map[needs.Key]*needs.Workload{}}
	if dir == "" {
		return s
	}
	s.file = filepath.Join(dir, stateFile)
	d, err := readState(s.file, node)
	aside := s.file + ".broken"
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case errors.Is(err, needs.ErrBroken) && os.Rename(s.file, aside) == nil:
		note("note: what was seen of workloads before is lost: " + s.file + ": " + message.Reason(err) +
			"; it is now " + aside)
	case err != nil:
		note("error: what was seen of workloads before is not used, and nothing is kept: " +
			s.file + ": " + message.Reason(err))
		note("hint: remove the file, or name another directory with --state")
		s.file = ""
	default:
		for _, w := range d.Workloads {
			w.Has.None()
			s.of[w.Key] = w
		}
	}
	return s
}

func readState(name, node string) (*needs.Document, error) {
	text, err := bounded.ReadFile(name, needs.MaxBytes)
	if err != nil {
		return nil, err
	}
	d, err := needs.Decode(text)
	if err == nil && d.Node != node {
		return nil, errors.New("it is that of the node " + message.Typed(d.Node))
	}
	return d, err
}

// Add adds a scan, and writes the file if that is due.
func (s *Store) Add(from *snapshot.Snapshot, now time.Time) {
	s.keep(from, now.Round(0)) // times are those of the wall clock, as in the file
	s.write(now, stateEvery)
}

func (s *Store) keep(from *snapshot.Snapshot, now time.Time) {
	d := from.Node
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.nameless = now, 0
	for _, w := range s.of {
		if w.Last.After(now) { // the clock was set back
			w.Last = now
		}
	}
	running := map[needs.Key]bool{}
	for i := range d.Containers {
		if key, ok := needs.KeyOf(&d.Containers[i]); ok {
			running[key] = true
		}
	}
	there, left := map[*needs.Workload]float64{}, map[needs.Key]bool{}
	for i := range d.Containers {
		c := &d.Containers[i]
		key, ok := needs.KeyOf(c)
		if !ok {
			if c.Unit == nil {
				s.nameless++
			}
			continue
		}
		w := s.of[key]
		if w == nil {
			if len(s.of) >= needs.MaxWorkloads && !s.makeRoom(running, now) {
				left[key] = true
				continue
			}
			w = &needs.Workload{Key: key, First: now, Last: now}
			s.of[key] = w
		}
		if _, begun := there[w]; !begun {
			w.DecayTo(now)
			w.Has.None()
			w.Mates, w.Why = 0, ""
		}
		there[w] = max(there[w], s.sample(w, c, &from.Samples[i]))
	}
	s.left = len(left)
	for key, w := range s.of {
		took, is := there[w]
		switch {
		case is:
			if w.Seen += took; took > 0 {
				w.Every = s.every.Seconds()
			}
		case now.Sub(w.Last) > keepNeeds:
			delete(s.of, key)
		default:
			w.Has.None()
		}
	}
}

// makeRoom forgets the workload that went first, if it is gone for some time. Those that are running stay: the time
// since they were last seen is that in which no agent ran.
func (s *Store) makeRoom(running map[needs.Key]bool, now time.Time) bool {
	var oldest *needs.Workload
	for key, w := range s.of {
		if !running[key] && now.Sub(w.Last) >= goneFor && (oldest == nil || w.Last.Before(oldest.Last)) {
			oldest = w
		}
	}
	if oldest == nil {
		return false
	}
	delete(s.of, oldest.Key)
	return true
}

// document returns what is kept, as of the last scan.
func (s *Store) document() *needs.Document {
	d := &needs.Document{Node: s.node, At: s.at, LeftOut: s.left, Nameless: s.nameless}
	d.Workloads = slices.Collect(maps.Values(s.of))
	slices.SortFunc(d.Workloads, func(a, b *needs.Workload) int {
		return strings.Compare(a.Namespace+"/"+a.Workload+"/"+a.Container, b.Namespace+"/"+b.Workload+"/"+b.Container)
	})
	return d
}

// Encode returns the text of the document.
func (s *Store) Encode() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.document().Encode()
}

// write writes the file, if there is one and the last write was that long ago, and notes an error that differs from
// the one before.
func (s *Store) write(now time.Time, after time.Duration) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.file == "" || now.Sub(s.written) < after {
		return
	}
	s.written = now
	text, err := s.Encode()
	if err == nil && len(text) > needs.MaxBytes {
		err = errors.New("too much to keep")
	}
	if err == nil {
		err = outfile.Replace(s.file, append(bytes.TrimSpace(text), '\n'))
	}
	said := ""
	if err != nil {
		said = "error: what was seen of workloads is not kept: " + s.file + ": " + message.Reason(err)
	}
	if said != s.failed {
		if s.failed = said; said != "" {
			s.note(said)
		} else {
			s.note("note: what was seen of workloads is kept again")
		}
	}
}

// End writes the file a last time.
func (s *Store) End() {
	s.mu.Lock()
	at := s.at
	s.mu.Unlock()
	if !at.IsZero() {
		s.write(at, math.MinInt64)
	}
}

// Each calls f with each workload, in the order of their names.
func (s *Store) Each(f func(*needs.Workload)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.document().Workloads {
		f(w)
	}
}

// lateScan is how many intervals a scan stands for at most. One that is later, as after a suspension, has
// seen too little of the time to weigh as much.
const lateScan = 2

// sample adds a container of a scan to its workload, and returns the seconds that it stands for: from the scan before.
func (s *Store) sample(w *needs.Workload, c *finding.Container, of *snapshot.Sample) (seconds float64) {
	h := &w.Has
	h.Containers++
	h.Limit.Add(figure.As[float64](c.MemoryLimit))
	h.Request.Add(c.Request)
	h.Quota.Add(c.Quota)
	w.Mates = max(w.Mates, len(c.Processes))
	if of.Last.Go == nil || of.Prev.Go == nil {
		return 0
	}
	took := of.Last.At.Sub(of.Prev.At).Seconds()
	if took <= 0 {
		return 0
	}
	weight := min(took, lateScan*s.every.Seconds())
	if c.Used.Known() {
		w.CPU.Add(c.Used.N, weight)
	}
	x, y := of.Prev.Limits, of.Last.Limits
	resident, kept := 0.0, -1.0
	for i := range c.Processes {
		resident += float64(c.Processes[i].Memory.N)
	}
	if examine.OwnLimit(y) {
		kept = float64(y.Memory.Unreclaimable.N)
	}
	g := of.Last.Go
	used, notGo := size.InUse(resident, of.Files, of.Code, kept, float64(g.Mapped.N))
	if of.Read {
		w.Used.Add(used, weight)
	} else {
		notGo = -1
	}
	if share, ok := observe.Throttled(x, y); ok && x != nil {
		periods := float64(y.CPU.Throttle.Periods.N-x.CPU.Throttle.Periods.N) * weight / took
		w.Throttle.Whole += periods
		w.Throttle.Part += share * periods
	}
	if len(c.Processes) == 1 {
		sampleHeap(w, of.Prev.Go, g, notGo, took, weight)
	}
	h.Minor, h.CPUs, h.Procs, h.GOGC, h.Bound = g.Exe.Minor, g.CPUs, g.GOMAXPROCS.N, nil, g.GOMEMLIMIT.N
	h.Aware = c.Processes[0].Aware != nil && *c.Processes[0].Aware
	if g.GOGC.Known() {
		h.GOGC = new(g.GOGC.N) // a pointer into g would keep all of it
	}
	return weight
}

// sampleHeap adds the heap of a process that is alone in its container, as two scans have seen it, in which
// some bytes are not Go's, -1 = unknown. The later scan took place some seconds after the other, and weighs
// as much or less.
func sampleHeap(w *needs.Workload, a, b *goproc.Facts, notGo, took, weight float64) {
	if n := b.Collections; b.HeapMarked.Known() && n.Known() && n.N > 0 {
		w.Live.Add(float64(b.HeapMarked.N), weight)
	}
	if b.Mapped.Known() && b.HeapLive.Known() {
		w.Rest.Add(max(0, float64(b.Mapped.N)-float64(b.HeapLive.N)), weight)
		if notGo >= 0 {
			w.Other.Add(notGo, weight)
		}
	}
	if b.HeapGoal.Known() {
		w.Goal += float64(b.HeapGoal.N) * weight
		w.GoalFor += weight
	}
	if a.Allocated.Known() && b.Allocated.Known() && b.Allocated.N >= a.Allocated.N {
		w.Allocated.Add(float64(b.Allocated.N-a.Allocated.N)/took, weight)
	}
	if m, n := a.Collections, b.Collections; m.Known() && n.Known() && n.N >= m.N {
		w.Cycles += float64(n.N-m.N) * weight / took
		w.Heap += weight
	}
	if a.CPU.Known() && b.CPU.Known() {
		// Marking by idle Ps counts: in a container it is CPU time like any other.
		x, y := &a.CPU.N, &b.CPU.N
		gc := (y.GCTotal - x.GCTotal).Seconds()
		if busy := gc + (y.User - x.User + y.Scavenge - x.Scavenge).Seconds(); gc >= 0 && busy >= gc {
			w.GC += gc * weight / took
			w.Busy += busy * weight / took
		}
	}
	for _, why := range [...]string{b.HeapMarked.Why, b.Allocated.Why, b.CPU.Why, b.Mapped.Why, b.Hint} {
		if why != "" && w.Why == "" {
			w.Why = snapshot.Short(why)
		}
	}
}
