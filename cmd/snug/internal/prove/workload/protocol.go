// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Event is a line of a self-driven workload's stdout.
type Event struct {
	Event  string  `json:"event"` // warm, done
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

	GC    GC    `json:"gc"`    // in the window
	Stats Stats `json:"stats"` // at its end
}

// Events reads the events of a self-driven workload.
type Events struct{ in *bufio.Reader }

// ReadEvents returns the events that arrive on r, the workload's stdout.
func ReadEvents(r io.Reader) *Events { return &Events{bufio.NewReader(r)} }

// Next waits for the next event. It returns io.EOF if the workload ended instead; its
// exit code and stderr then explain why. To stop waiting, end the workload.
func (e *Events) Next() (Event, error) {
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
	if v.Event != "warm" && (v.Event != "done" || v.Result == nil) {
		return Event{}, fmt.Errorf("workload said %.60q: no event", line)
	}
	return v, nil
}

const greeting = "listening "

// ReadListening waits for the line that a service prints once it serves, and returns its
// address: http://127.0.0.1:40000/. It returns io.EOF if the service ended instead.
func ReadListening(r io.Reader) (string, error) {
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		return "", err
	}
	url, ok := strings.CutPrefix(strings.TrimSpace(line), greeting)
	if !ok {
		return "", fmt.Errorf("service said %.60q, want %q", line, greeting+"URL")
	}
	return url, nil
}
