// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// maxVars bounds the size of /debug/vars, which is read as a whole.
const maxVars = 16 << 20

// ErrNoMemStats means that a page has no runtime.MemStats.
var ErrNoMemStats = errors.New("no runtime.MemStats")

// memStats holds the fields of runtime.MemStats that facts use.
type memStats struct {
	Alloc, Sys, HeapReleased, NextGC, PauseTotalNs *uint64
	NumGC, NumForcedGC                             *uint32
	GCCPUFraction                                  *float64
}

func (m memStats) facts() GoFacts {
	g := GoFacts{IsGo: true}
	for _, f := range []struct {
		from *uint64
		to   *figure.Of[int64]
	}{{m.Alloc, &g.HeapAlloc}, {m.Sys, &g.Sys}, {m.HeapReleased, &g.HeapReleased}} {
		if f.from != nil && *f.from <= math.MaxInt64 {
			*f.to = known(int64(*f.from))
		}
	}
	if m.NextGC != nil {
		g.HeapGoal = limit(float64(*m.NextGC))
		if *m.NextGC < unbounded {
			g.HeapGoal = known(int64(*m.NextGC))
		}
	}
	if m.PauseTotalNs != nil {
		g.GCPauseSeconds = known(float64(*m.PauseTotalNs) / 1e9)
	}
	if m.NumGC != nil {
		g.GCs = known(int64(*m.NumGC))
	}
	if m.NumForcedGC != nil {
		g.ForcedGCs = known(int64(*m.NumForcedGC))
	}
	if m.GCCPUFraction != nil {
		g.GCCPUFraction = fraction(*m.GCCPUFraction)
	}
	return g
}

// ReadVars reads /debug/vars of package expvar: a JSON object with a MemStats
// under "memstats". It keeps nothing else, because "cmdline" holds arguments.
// The error is one of r, or says that the data is something else.
func ReadVars(r io.Reader) (GoFacts, error) {
	limited := &io.LimitedReader{R: r, N: maxVars + 1}
	dec := json.NewDecoder(limited)
	fail := func(err error) (GoFacts, error) {
		if limited.N <= 0 {
			return GoFacts{}, errors.New("more than 16 MiB of variables")
		}
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return GoFacts{}, errors.New("truncated JSON")
		}
		// The errors of encoding/json quote the text.
		if _, syntax := errors.AsType[*json.SyntaxError](err); syntax {
			return GoFacts{}, errors.New("not JSON")
		}
		return GoFacts{}, err
	}
	if t, err := dec.Token(); err != nil {
		return fail(err)
	} else if t != json.Delim('{') {
		return GoFacts{}, errors.New("not a JSON object")
	}
	var stats *memStats
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return fail(err)
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return fail(err)
		}
		if key != "memstats" {
			continue
		}
		var m memStats
		if json.Unmarshal(value, &m) != nil || m.NumGC == nil {
			return GoFacts{}, ErrNoMemStats
		}
		stats = &m
	}
	if _, err := dec.Token(); err != nil {
		return fail(err)
	}
	if stats == nil {
		return GoFacts{}, ErrNoMemStats
	}
	return stats.facts(), nil
}

// ReadHeap reads /debug/pprof/heap?debug=1, which ends with a MemStats as text
// (writeHeapInternal in runtime/pprof/pprof.go):
//
//	# runtime.MemStats
//	# Alloc = 1815992
//	...
//	# PauseNs = [164109 170952 0 ...]
//	# NumGC = 2
//	# MaxRSS = 12558336
//
// Some systems have no MaxRSS. The error is one of r, or ErrNoMemStats.
func ReadHeap(r io.Reader) (GoFacts, error) {
	var (
		m      memStats
		inside bool
		rss    figure.Of[int64]
		pauses []string
	)
	err := lines(r, func(line []byte, whole bool) {
		text, ok := strings.CutPrefix(string(line[:min(len(line), 8<<10)]), "# ")
		if !ok || !whole {
			return
		}
		text = strings.TrimSpace(text)
		if text == "runtime.MemStats" {
			// Only the last one counts, because a name in the profile may look like it.
			m, rss, pauses, inside = memStats{}, figure.Of[int64]{}, nil, true
			return
		}
		key, value, ok := strings.Cut(text, " = ")
		if !ok || !inside {
			return
		}
		switch key {
		case "Alloc":
			m.Alloc = parse64(value)
		case "Sys":
			m.Sys = parse64(value)
		case "HeapReleased":
			m.HeapReleased = parse64(value)
		case "NextGC":
			m.NextGC = parse64(value)
		case "NumGC":
			m.NumGC = parse32(value)
		case "NumForcedGC":
			m.NumForcedGC = parse32(value)
		case "GCCPUFraction":
			if f, err := strconv.ParseFloat(value, 64); err == nil {
				m.GCCPUFraction = &f
			}
		case "MaxRSS":
			if n, err := strconv.ParseUint(value, 10, 63); err == nil && n > 0 {
				rss = known(int64(n))
			}
		case "PauseNs":
			pauses = strings.Fields(strings.Trim(value, "[]"))
		}
	})
	if err != nil {
		return GoFacts{}, err
	}
	if m.NumGC == nil {
		return GoFacts{}, ErrNoMemStats
	}
	m.PauseTotalNs = total(pauses, *m.NumGC)
	g := m.facts()
	g.MaxRSS = rss
	return g, nil
}

// total sums the pauses. MemStats keeps the last 256; with more, the sum is unknown.
func total(pauses []string, gcs uint32) *uint64 {
	if len(pauses) != 256 || gcs > 256 {
		return nil
	}
	sum := uint64(0)
	for _, p := range pauses {
		n, err := strconv.ParseUint(p, 10, 48)
		if err != nil {
			return nil
		}
		sum += n
	}
	return &sum
}

func parse64(s string) *uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}

func parse32(s string) *uint32 {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil {
		return nil
	}
	small := uint32(n)
	return &small
}
