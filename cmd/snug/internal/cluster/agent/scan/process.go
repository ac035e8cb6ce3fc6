// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

const (
	// window is the time over which collections are counted and findings are judged, unless scans are
	// rare. It is long, so that findings do not come and go.
	window = time.Minute
	// wholeEvery is the interval, in scans, at which a process is inspected as if it were new:
	// what was unknown may be known by then. idleWholeEvery is that of an idle process.
	wholeEvery, idleWholeEvery = 20, 80
	// groupEvery is the interval, in scans, at which its cgroups are read.
	groupEvery = 8
	// restEvery is the interval, in scans, at which the memory of an idle process is read: at 15 s
	// every 2 minutes, which is how often Go collects the garbage of one that does nothing
	// (runtime/proc.go, forcegcperiod).
	restEvery = 8
	// young is the age up to which every scan reads cgroups and memory: a new process may still
	// change.
	young = time.Minute
	// maxMoments bounds the moments of the window, for any interval.
	maxMoments = 5
)

// process is a known Go process.
type process struct {
	p       *proc.Process // nil = closed
	closed  bool          // p is opened again at each scan
	group   string        // its /proc/PID/cgroup; "" = unknown
	key     string        // of the group
	pod     string        // podOf it
	in      *group        // of the last scan
	tick    int           // the last scan that found it
	moments []earlier     // of the window, spaced; the first is its beginning
	last    observe.Moment
	prev    observe.Moment // of the previous scan; Go is nil at the first
	quota   changing[float64]
	memory  changing[int64]
	shared  *limits.Limits // those of the group from which last.Limits were made
	active  time.Time      // the last scan that found that it had done something
	rested  bool           // it had done nothing at the last scan

	files, code float64       // resident bytes in pages of files, and in those of its code
	filesAt     time.Time     // when they were read
	filesFor    time.Duration // for how long they hold

	// Parts of the document from an earlier scan, which still hold; nil = they must be made.
	kept *finding.NodeProcess // without the figures of rates
	sets *bool                // what kept was made with
	box  *finding.Container   // its container, if this is the first process in it
	full *fullContainer       // its container with all processes
}

func (e *process) close() {
	if !e.closed {
		e.p.Close()
		e.p, e.closed = nil, true
	}
}

// moved records that a process has changed its cgroups. The new limits and counters are not
// comparable with the old ones, and the change is no resize.
func (e *process) moved(text string) {
	e.group, e.key, e.pod = text, keyOfGroup(text), podOf(text)
	e.quota, e.memory = changing[float64]{}, changing[int64]{}
	e.last.Limits, e.moments = nil, nil
}

// worked reports whether a process has used CPU time since the previous scan, to the
// kernel's resolution of 10 ms.
func (e *process) worked() bool {
	return e.prev.Go == nil || e.prev.Go.Stat.CPU != e.last.Go.Stat.CPU
}

// windowOf returns the window for an interval between scans: with rare scans, one and a half
// intervals, so that it begins at the previous scan even if that was early or this one is late.
func windowOf(interval time.Duration) time.Duration { return max(window, interval+interval/2) }

// settle adds the limits to the last moment. over is the length of the window.
func (e *process) settle(l *limits.Limits, over time.Duration) {
	now := e.last.At
	same := l != nil && l == e.shared && e.prev.Limits != nil && e.prev.Go.CPUs == e.last.Go.CPUs
	if e.last.Limits = e.prev.Limits; !same {
		e.last.Limits, e.shared = observe.OnCPUs(l, e.last.Go.CPUs), l
	}
	// Findings follow what happened in the window, and what is kept may be of one that began earlier.
	recent := now.Sub(e.active) <= over || len(e.moments) > 0 && e.moments[0].at.Before(e.active)
	if !same || recent || e.last.Go != e.prev.Go {
		e.kept, e.box, e.full = nil, nil, nil
	}
	if l != nil {
		e.quota.note(l.CPU.Quota, now)
		e.memory.note(l.Memory.Hard, now)
	}
	if n := len(e.moments); n == 0 || now.Sub(e.moments[n-1].at) >= over/(maxMoments-1)-over/100 {
		e.moments = append(e.moments, earlierOf(&e.last))
	}
	old := 0
	for old < len(e.moments)-1 && now.Sub(e.moments[old].at) > over {
		old++
	}
	e.moments = slices.Delete(e.moments, 0, old)
}

// earlier is the part of a moment that a later one is compared with. A moment has ten times as many bytes.
type earlier struct {
	at          time.Time
	cpu         time.Duration
	collections figure.Of[uint32]
	collector   figure.Of[goproc.CPUClasses]
	throttle    *limits.Throttle // nil = the limits are unknown
}

func earlierOf(m *observe.Moment) earlier {
	e := earlier{at: m.At, cpu: m.Go.Stat.CPU, collections: m.Go.Collections, collector: m.Go.CPU}
	if m.Limits != nil {
		e.throttle = new(m.Limits.CPU.Throttle)
	}
	return e
}

// moment returns a moment with these figures alone.
func (e *earlier) moment() *observe.Moment {
	m := &observe.Moment{At: e.at, Go: &goproc.Facts{Collections: e.collections, CPU: e.collector}}
	m.Go.Stat.CPU = e.cpu
	if e.throttle != nil {
		m.Limits = &limits.Limits{CPU: limits.CPU{Throttle: *e.throttle}}
	}
	return m
}

// fullContainer is a container of a document, with what it was made of.
type fullContainer struct {
	finding.Container
	named names.Named
}

// changing is a limit that may change while a program runs, for example when a pod is resized
// in place. The values that the program read at its start are then stale.
type changing[T int64 | float64] struct {
	last limits.Value[T] // the last known value
	at   time.Time       // when the last change was seen; zero = never
}

// note records a value. Unknown is no change.
func (c *changing[T]) note(now limits.Value[T], at time.Time) {
	if now.State == limits.Unknown {
		return
	}
	if c.last.State != limits.Unknown && now != c.last {
		c.at = at
	}
	c.last = now
}

// when returns the time of the last change as RFC 3339; nil = never.
func (c *changing[T]) when() *string {
	if c.at.IsZero() {
		return nil
	}
	return new(c.at.Format(time.RFC3339))
}
