// SPDX-License-Identifier: Apache-2.0

package snapshot

import (
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestTrends: historyLen scans are kept, and none of containers that have ended.
func TestTrends(t *testing.T) {
	d := &finding.Node{Containers: []finding.Container{
		{ID: new("a"), Unreclaimable: figure.New(int64(64<<20), "")}, {ID: new("b"), PodUID: new("u")}, {ID: new("b")}, {Group: new("/c")},
	}}
	var trends Trends
	now := time.Now()
	for i := range historyLen + 10 {
		d.Containers[0].Throttled = figure.New(float64(i), "")
		now = now.Add(time.Second)
		trends.Add(d, now)
	}
	throttled, memory := trends.Of(&d.Containers[0])
	if len(throttled) != historyLen || throttled[historyLen-1] != historyLen+9 || throttled[0] != 10 || memory[0] != 64<<20 {
		t.Errorf("%v %v", throttled, memory)
	}
	if throttled, _ := trends.Of(&d.Containers[1]); throttled[0] != -1 {
		t.Errorf("no quota: %v", throttled[0])
	}
	gone := d.Containers[0]
	d.Containers = d.Containers[1:]
	trends.Add(d, now.Add(time.Second))
	if len(trends.of) != 3 {
		t.Errorf("%d containers are remembered", len(trends.of))
	}
	if throttled, memory := trends.Of(&gone); throttled != nil || memory != nil {
		t.Error("one that has ended is remembered")
	}
}

// TestPace: the growth over the last scans, if it is known.
func TestPace(t *testing.T) {
	for name, c := range map[string]struct {
		memory []float32
		want   float64
	}{
		"nothing": {nil, 0}, "one": {[]float32{5}, 0}, "unknown": {[]float32{-1, 100}, 0}, "grows": {[]float32{100, 130, 160}, 3}, "shrinks": {[]float32{100, 70}, -3},
	} {
		if got := (&Trends{of: map[string]*history{"a": {memory: c.memory}}}).Pace("a", 10*time.Second); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if new(Trends).Pace("a", time.Second) != 0 {
		t.Error("a new container grows")
	}
}
