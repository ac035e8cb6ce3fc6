// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"slices"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

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
