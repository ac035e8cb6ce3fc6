// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"time"

	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/sense"
	"github.com/snug-go/snug/limits"
)

// simple is a law of four constants for GOMEMLIMIT, which looks as often as every says: 95 %
// of the limit, less what memory that is not Go's has needed in the last minute, and at most
// 90 %.
func simple(every time.Duration) error {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		return err
	}
	sensor := sense.New()
	var (
		heap       law.Heap
		held, last float64
		begin      = time.Now()
		at         float64
	)
	step := func() {
		before := sensor.Mapped()
		l, _ := h.Read(limits.Unreclaimable)
		sensor.Heap(&heap)
		limit, ok := l.Memory.Soft.Get()
		used, known := l.Memory.Unreclaimable.Get()
		if !ok || !known || heap.Mapped < 0 {
			return
		}
		const most, all, tau, step = 0.9, 0.95, 60, 0.005
		now := time.Since(begin).Seconds()
		nonGo := max(0, float64(used-min(before, heap.Mapped)))
		held = max(nonGo, nonGo+(held-nonGo)*math.Exp(-(now-at)/tau))
		at = now
		total := float64(limit)
		n := min(all*total-held, most*total)
		if n > 0 && math.Abs(n-last) > step*total {
			debug.SetMemoryLimit(int64(n))
			last = n
		}
	}
	step()
	go func() {
		for range time.Tick(every) {
			step()
		}
	}()
	return nil
}
