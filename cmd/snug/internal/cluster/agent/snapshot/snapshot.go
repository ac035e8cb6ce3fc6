// SPDX-License-Identifier: Apache-2.0

// Package snapshot holds the value that a scan of a node leaves behind: a scan fills it, and metrics,
// documents, pages and what is kept of workloads are made of it alone.
package snapshot

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Snapshot is what the last scan has seen. What it refers to does not change, except Trends and
// Needs, which are safe for concurrent use.
type Snapshot struct {
	Node   *finding.Node // the document; nil = no scan has succeeded yet
	Ended  time.Time     // when that scan ended
	Scans  int64         // that have succeeded
	Failed string        // why the last scan failed; "" = it succeeded, or there was none
	Room   Room
	Trends *Trends
	Needs  Needs

	// Samples are what sizing reads of the containers of Node, in their order; nil once they are kept.
	Samples []Sample
}

// Room is what the agent's memory is for, and what was left out for lack of it.
type Room struct{ Files, Processes, Dropped int }

// Sample is what happened to a container between two scans: to its first process, and the pages of all.
type Sample struct {
	Prev, Last  observe.Moment // Prev.Go is nil at the first scan that sees it, Last.Go if the process is unknown
	Files, Code float64        // resident bytes in pages of files, and in those of code, which processes may share
	Read        bool           // these were read
}

// Needs is what sizing needs of each workload, as of the last scan.
type Needs interface {
	// Each calls f with each workload, in the order of their names. It is valid during the call.
	Each(f func(*needs.Workload))
	// Encode returns the document.
	Encode() ([]byte, error)
}

// The reasons why a scan skips a process.
const (
	SkipEnded    = "ended"            // it ended, or became another program, during the scan
	SkipZombie   = "zombie"           // it has ended, and its parent has not waited for it
	SkipDenied   = finding.LeftDenied // the agent lacks the rights, so it may be Go or not
	SkipMuch     = "too-much"         // it has more mapped than is looked at, or others took the scan's budget
	SkipStarting = "starting"         // it has not run its own program yet, and looks like its parent
	SkipError    = "error"            // any other error
	SkipMemory   = "memory"           // the agent has no memory for more
)

// Reasons lists all reasons, so that each is a series from the first scan on.
var Reasons = [...]string{SkipDenied, SkipEnded, SkipError, SkipMemory, SkipStarting, SkipMuch, SkipZombie}

// staleAfter is the age of the last scan, in intervals, from which the agent is unhealthy.
const staleAfter = 3

// Healthy returns nil if there is a recent scan, or else why not. interval is the time from scan to scan.
func (s *Snapshot) Healthy(interval time.Duration) error {
	switch age := time.Since(s.Ended); {
	case s.Node == nil && s.Failed == "":
		return errors.New("no scan yet")
	case s.Node == nil:
		return errors.New(s.Failed)
	case age > staleAfter*interval:
		return errors.New("the last scan ended " + age.Truncate(time.Second).String() + " ago")
	}
	return nil
}

// maxText bounds a text that is kept, in bytes.
const maxText = 200

// Short bounds a text.
func Short(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return strings.Clone(finding.UTF8(s)) // and keeps nothing else alive
}

const (
	// historyLen is the number of scans whose figures are kept for the page: half an hour at
	// 15 s.
	historyLen = 120
	// paceScans is how many scans a pace is taken from.
	paceScans = 20
)

// Trends are the figures of containers at the last scans. The zero Trends has none.
type Trends struct {
	mu sync.Mutex
	of map[string]*history // by KeyOf
}

// history is a container's figures of the last scans, in order. Below 0 = unknown or none.
// float32 has more digits than the picture.
type history struct {
	throttled []float32 // 0 to 1
	memory    []float32 // bytes, unreclaimable
	seen      time.Time // the last scan that found it
}

func (h *history) add(throttled figure.Of[float64], memory figure.Of[int64], at time.Time) {
	x, y := float32(-1), float32(-1)
	if throttled.Known() {
		x = float32(throttled.N)
	}
	if memory.Known() {
		y = float32(memory.N)
	}
	h.throttled, h.memory, h.seen = push(h.throttled, x), push(h.memory, y), at
}

func push(list []float32, x float32) []float32 {
	if len(list) < historyLen {
		return append(list, x)
	}
	copy(list, list[1:])
	list[len(list)-1] = x
	return list
}

// KeyOf returns a key that is the same for a container at every scan.
func KeyOf(c *finding.Container) string {
	return Word(c.PodUID) + "/" + Word(c.ID) + "/" + Word(c.Group)
}

// Word returns "" for nil.
func Word(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// Add adds a scan to the figures of each container, and forgets those that are gone.
func (t *Trends) Add(d *finding.Node, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == nil {
		t.of = map[string]*history{}
	}
	for i := range d.Containers {
		c := &d.Containers[i]
		k := KeyOf(c)
		h := t.of[k]
		if h == nil {
			h = &history{}
			t.of[k] = h
		}
		h.add(c.Throttled, c.Unreclaimable, now)
	}
	for k, h := range t.of {
		if !h.seen.Equal(now) {
			delete(t.of, k)
		}
	}
}

// Of returns the figures of a container, in the order of scans: the share of its periods in which it
// was throttled, and its memory that cannot be reclaimed, in bytes. Below 0 = unknown or none.
func (t *Trends) Of(c *finding.Container) (throttled, memory []float32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of[KeyOf(c)]
	if h == nil {
		return nil, nil
	}
	return slices.Clone(h.throttled), slices.Clone(h.memory)
}

// Pace returns the growth of a container's memory over the last scans, in bytes a second; 0 =
// unknown.
func (t *Trends) Pace(key string, interval time.Duration) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.of[key]
	if h == nil || interval <= 0 {
		return 0
	}
	m := h.memory[max(0, len(h.memory)-paceScans):]
	if len(m) < 2 || m[0] < 0 || m[len(m)-1] < 0 {
		return 0
	}
	return float64(m[len(m)-1]-m[0]) / (float64(len(m)-1) * interval.Seconds())
}
