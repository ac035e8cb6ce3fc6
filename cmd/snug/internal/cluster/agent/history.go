// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// historyLen is the number of scans whose figures are kept for the page: half an hour at
// 15 s.
const historyLen = 120

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

// keyOfContainer returns a key that is the same for a container at every scan.
func keyOfContainer(c *finding.Container) string {
	return word(c.PodUID) + "/" + word(c.ID) + "/" + word(c.Group)
}

// remember adds a scan to the history of each container, and forgets those that are gone.
func (a *Agent) remember(d *finding.Node, now time.Time) {
	for i := range d.Containers {
		c := &d.Containers[i]
		k := keyOfContainer(c)
		h := a.history[k]
		if h == nil {
			h = &history{}
			a.history[k] = h
		}
		h.add(c.Throttled, c.Unreclaimable, now)
	}
	for k, h := range a.history {
		if !h.seen.Equal(now) {
			delete(a.history, k)
		}
	}
}
