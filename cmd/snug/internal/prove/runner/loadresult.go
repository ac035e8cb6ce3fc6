// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// loadResult is what a load command reports: the last line of its stdout that is a JSON
// object. Times are in seconds. nil is not reported.
type loadResult struct {
	Operations *float64 `json:"operations"`
	Errors     float64  `json:"errors"`
	Error      string   `json:"error"` // the first of them
	Seconds    *float64 `json:"seconds"`
	Open       bool     `json:"open"`

	P50 *float64 `json:"p50_seconds"`
	P95 *float64 `json:"p95_seconds"`
	P99 *float64 `json:"p99_seconds"`
	Max *float64 `json:"max_seconds"`

	Latency *finding.Histogram `json:"latency"`

	reported map[string]float64 // all other numbers
}

// loadFields are the names above that are numbers.
var loadFields = []string{"operations", "errors", "seconds", "p50_seconds", "p95_seconds", "p99_seconds", "max_seconds"}

// cureLoad says what a load command must print.
const cureLoad = `its last line must be as {"operations": 5000, "errors": 0, "p99_seconds": 0.012}`

// leastShare is the share of the window that a load without errors must last.
const leastShare = 0.1

// readLoad reads the output of a load command that took wall seconds of a window.
func readLoad(o *output, wall, window float64) (*loadResult, error) {
	o.mu.Lock()
	lines := bytes.Split(o.tail, []byte("\n"))
	line, all := lastObject(lines)
	o.mu.Unlock()
	if all == nil {
		what := "the load command printed nothing"
		if line := o.lastLine(); line != "" {
			what = "the load command printed no JSON object; its last line: " + shorter(line)
		}
		return nil, &TargetError{what, cureLoad}
	}
	res, err := objectLoad(line, all)
	if err != nil {
		return nil, err
	}
	if bad, cure := res.check(wall); bad != "" {
		return nil, &TargetError{"the load command printed " + bad, cure}
	}
	span := wall
	if res.Seconds != nil {
		span = *res.Seconds
	}
	// With errors it may have ended early because the service did.
	if res.Errors == 0 && span < leastShare*window {
		return nil, &TargetError{
			fmt.Sprintf("the load command loaded for %.1f s of a window of %g s", span, window),
			"it must load for SNUG_SECONDS, or with enough operations to fill them",
		}
	}
	return res, nil
}

// objectLoad reads a line that is a JSON object.
func objectLoad(line []byte, all map[string]any) (*loadResult, error) {
	res := new(loadResult)
	if err := json.Unmarshal(line, res); err != nil {
		return nil, &TargetError{"the load command printed a wrong result: " + finding.Wrong(err) + ": " +
			shorter(string(line)), cureLoad}
	}
	if res.Operations == nil {
		return nil, &TargetError{"the load command printed no operations, but " + shorter(string(line)), cureLoad}
	}
	for _, name := range loadFields {
		delete(all, name)
	}
	res.reported = numbers(all)
	return res, nil
}

// check returns what is impossible and a cure, "" if nothing is.
func (l *loadResult) check(wall float64) (bad, cure string) {
	whole := func(x float64) bool { return x >= 0 && x < 1<<53 && x == math.Trunc(x) }
	switch {
	case !whole(*l.Operations):
		return fmt.Sprintf("%v operations", *l.Operations), "operations and errors are whole numbers from 0 on"
	case !whole(l.Errors):
		return fmt.Sprintf("%v errors", l.Errors), "operations and errors are whole numbers from 0 on"
	case l.Seconds != nil && *l.Seconds <= 0:
		return fmt.Sprintf("%v seconds", *l.Seconds),
			"seconds is how long it loaded; without it snug takes how long the command ran"
	}
	const tooLong = "times are in seconds, and cannot be longer than the command took"
	for _, t := range []struct {
		name string
		of   *float64
	}{{"seconds", l.Seconds}, {"p50_seconds", l.P50}, {"p95_seconds", l.P95}, {"p99_seconds", l.P99},
		{"max_seconds", l.Max}} {
		// The command's own clock may start a little earlier, and count in whole milliseconds.
		if t.of != nil && !(*t.of >= 0 && *t.of <= wall*1.01+0.05) {
			return fmt.Sprintf("%s %v, and took %.2f s", t.name, *t.of, wall), tooLong
		}
	}
	below, least := "", 0.0 // tools round: to whole milliseconds, or to the bounds of a histogram
	for _, t := range []struct {
		name string
		of   *float64
	}{{"p50_seconds", l.P50}, {"p95_seconds", l.P95}, {"p99_seconds", l.P99}, {"max_seconds", l.Max}} {
		if t.of == nil {
			continue
		}
		if *t.of < least*0.99-0.001 {
			return fmt.Sprintf("%s %v, above %s %v", below, least, t.name, *t.of),
				"a higher percentile of the same latencies cannot be less: see which is which"
		}
		below, least = t.name, *t.of
	}
	if h := l.Latency; h != nil {
		switch {
		case len(h.Seconds) != len(h.Counts):
			return fmt.Sprintf("a latency with %d seconds and %d counts", len(h.Seconds), len(h.Counts)),
				"each count is of the latency at the same place in seconds"
		case !slices.IsSorted(h.Seconds):
			return "a latency with seconds that do not ascend", "sort seconds, and counts with them"
		case slices.ContainsFunc(h.Counts, func(n int64) bool { return n < 0 }):
			return "a latency with a negative count", "counts are whole numbers from 0 on"
		case len(h.Seconds) > 0 && !(h.Seconds[0] >= 0 && h.Seconds[len(h.Seconds)-1] <= wall*1.01+0.05):
			return fmt.Sprintf("a latency of %v seconds, and took %.2f s", h.Seconds[len(h.Seconds)-1], wall), tooLong
		}
	}
	return "", ""
}

// fill fills in a run. rate is the requested rate, 0 if none was.
func (l *loadResult) fill(run *finding.Run, wall, rate float64) {
	run.Window, run.Elapsed = wall, wall
	if l.Seconds != nil {
		run.Window = *l.Seconds
	}
	run.Ops, run.Errors, run.Error = int64(*l.Operations), int64(l.Errors), l.Error
	if run.Window > 0 {
		run.RPS = new(*l.Operations / run.Window)
	}
	run.P50, run.P95, run.P99, run.Max = l.P50, l.P95, l.P99, l.Max
	if h := l.Latency; h != nil && len(h.Seconds) > 0 {
		run.Latency = h
		for share, p := range map[float64]**float64{0.50: &run.P50, 0.95: &run.P95, 0.99: &run.P99, 1: &run.Max} {
			if *p == nil {
				*p = quantile(h, share)
			}
		}
	}
	run.Loop = finding.LoopClosed
	if l.Open {
		run.Loop = finding.LoopOpen
		if rate > 0 {
			run.Offered = &rate
		}
	}
	run.Reported = l.reported
}

// quantile returns the smallest class of a histogram that holds a share of its samples and
// all smaller classes; nil if it has none.
func quantile(h *finding.Histogram, share float64) *float64 {
	total := int64(0)
	for _, n := range h.Counts {
		total += n
	}
	below := int64(0)
	for i, n := range h.Counts {
		below += n
		if n > 0 && float64(below) >= share*float64(total) {
			return &h.Seconds[i]
		}
	}
	return nil
}
