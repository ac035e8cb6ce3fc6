// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Event is a line of a workload's stdout.
type Event struct {
	Event  string  `json:"event"` // listening, warm, done
	URL    string  `json:"url,omitempty"`
	Procs  int     `json:"gomaxprocs"`
	Result *Result `json:"result,omitempty"`
}

// Result is what a self-driven workload did in its window. Figures that were not measured
// are nil.
type Result struct {
	Workload string  `json:"workload"`
	Ops      int64   `json:"ops"`     // finished: goroutines, tasks, documents, items, fan-outs; 0 for probe
	Seconds  float64 `json:"seconds"` // from go until the last of them finished

	// Latencies in seconds. A percentile is nil if no sample can lie above it: P99 needs
	// 100 samples.
	P50     *float64           `json:"p50_seconds"`
	P95     *float64           `json:"p95_seconds"`
	P99     *float64           `json:"p99_seconds"`
	Max     *float64           `json:"max_seconds"`
	Latency *finding.Histogram `json:"latency"`

	// Counts are further numbers by name: hits, items, backlog, ...
	Counts map[string]int64 `json:"counts,omitempty"`
	Probe  *Probe           `json:"probe,omitempty"` // of workload probe
	Note   string           `json:"note,omitempty"`  // a warning for readers of the numbers
}

// Events reads the events of a workload.
type Events struct{ in *bufio.Reader }

// ReadEvents returns the events that arrive on r, the workload's stdout.
func ReadEvents(r io.Reader) *Events { return &Events{bufio.NewReader(r)} }

// Next waits for the next event, which must be the one wanted. It returns io.EOF if the workload
// ended instead; its exit code and stderr then explain why. To stop waiting, end the workload.
func (e *Events) Next(want string) (Event, error) {
	line, err := e.in.ReadBytes('\n')
	if err != nil {
		if err == io.EOF && len(line) > 0 {
			err = io.ErrUnexpectedEOF
		}
		return Event{}, err
	}
	var v Event
	if err := json.Unmarshal(line, &v); err != nil {
		return Event{}, fmt.Errorf("workload said %.60q: %w", line, err)
	}
	if v.Event != want || want == "done" && v.Result == nil || want == "listening" && v.URL == "" {
		return Event{}, fmt.Errorf("workload said %.60q instead of %s", line, want)
	}
	return v, nil
}
