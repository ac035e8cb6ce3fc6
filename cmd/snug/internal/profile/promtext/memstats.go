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

// memStats holds the fields of runtime.MemStats that facts use; nil = missing.
type memStats struct {
	Sys, HeapReleased, NextGC, NumGC *uint64
}

func (m memStats) facts() GoFacts {
	g := GoFacts{IsGo: true}
	for _, f := range []struct {
		from *uint64
		to   *figure.Of[int64]
	}{{m.Sys, &g.Sys}, {m.HeapReleased, &g.HeapReleased}, {m.NextGC, &g.HeapGoal}, {m.NumGC, &g.GCs}} {
		if f.from != nil && *f.from <= math.MaxInt64 {
			*f.to = known(int64(*f.from))
		}
	}
	if m.NextGC != nil && *m.NextGC >= unbounded {
		g.HeapGoal = figure.None[int64](fromProgram)
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
//	# NumGC = 2
//
// The error is one of r, or ErrNoMemStats.
func ReadHeap(r io.Reader) (GoFacts, error) {
	var m memStats
	inside := false
	err := lines(r, func(line []byte, whole bool) {
		text, ok := strings.CutPrefix(string(line[:min(len(line), 8<<10)]), "# ")
		if !ok || !whole {
			return
		}
		text = strings.TrimSpace(text)
		if text == "runtime.MemStats" {
			m, inside = memStats{}, true // only the last one counts, because a name in the profile may look like it
			return
		}
		key, value, _ := strings.Cut(text, " = ")
		to := map[string]**uint64{
			"Sys": &m.Sys, "HeapReleased": &m.HeapReleased, "NextGC": &m.NextGC, "NumGC": &m.NumGC,
		}[key]
		if n, err := strconv.ParseUint(value, 10, 64); to != nil && inside && err == nil {
			*to = &n
		}
	})
	if err != nil {
		return GoFacts{}, err
	}
	if m.NumGC == nil {
		return GoFacts{}, ErrNoMemStats
	}
	return m.facts(), nil
}
