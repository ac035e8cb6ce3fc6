// SPDX-License-Identifier: Apache-2.0

// Package gobench reads what Go benchmarks print
// (golang.org/design/14313-benchmark-format).
package gobench

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/perf/benchfmt"
)

// maxLine and maxBytes bound what a hostile or endless output can make a Reader keep.
const (
	maxLine  = 4 << 10
	maxBytes = 4 << 20
)

// A Reader takes the output of one run in pieces of any size, and keeps the lines that
// name a benchmark.
type Reader struct {
	line []byte // incomplete last line; at most maxLine
	long bool   // the line is longer
	kept []byte
	lost int // lines that were too long or too many
}

func (r *Reader) Write(b []byte) (int, error) {
	n := len(b)
	for {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			r.extend(b)
			return n, nil
		}
		r.extend(b[:end])
		r.keep()
		b = b[end+1:]
	}
}

func (r *Reader) extend(b []byte) {
	room := maxLine - len(r.line)
	r.long = r.long || len(b) > room
	r.line = append(r.line, b[:min(len(b), room)]...)
}

// keep ends a line.
func (r *Reader) keep() {
	if bytes.HasPrefix(r.line, []byte("Benchmark")) {
		if r.long || len(r.kept)+len(r.line) > maxBytes {
			r.lost++
		} else {
			r.kept = append(append(r.kept, r.line...), '\n')
		}
	}
	r.line, r.long = r.line[:0], false
}

// Figure is one figure of one benchmark.
type Figure struct {
	Benchmark string // without "Benchmark" and the GOMAXPROCS at its end
	Unit      string // as the benchmark printed it, such as ns/op
	Value     float64
}

// Results are the figures of a run.
type Results struct {
	// Figures are in the order in which the benchmarks ran. If one ran several times
	// (-count), each figure is the median.
	Figures []Figure
	// Iterations are the sums over all runs of each benchmark.
	Iterations map[string]int64
	// Procs is the GOMAXPROCS at the end of the names; 0 = unknown.
	Procs int
	// Broken counts the lines that begin like a result and are none: the benchmark, or
	// what it calls, printed in between. First is the first of them.
	Broken int
	First  string
}

// Results returns what was read. procs is the GOMAXPROCS that was set, 0 if none was: then
// the number at the end of all names is GOMAXPROCS if it is at most cpus. Package testing
// adds -N to each name, unless N is 1, and a name may end like that itself: size-1024.
func (r *Reader) Results(procs, cpus int) Results {
	if len(r.line) > 0 {
		r.keep() // the last line has no end
	}
	out := Results{Broken: r.lost}
	type key struct{ name, unit string }
	var order []key
	values := map[key][]float64{}
	iterations := map[string]int64{}
	in := benchfmt.NewReader(bytes.NewReader(r.kept), "")
	for in.Scan() {
		switch line := in.Result().(type) {
		case *benchfmt.SyntaxError:
			if out.Broken++; out.First == "" {
				out.First = r.lineAt(line.Line)
			}
		case *benchfmt.Result:
			iterations[string(line.Name)] += int64(line.Iters)
			for _, v := range line.Values {
				value, unit := v.Value, v.Unit
				if v.OrigUnit != "" {
					value, unit = v.OrigValue, v.OrigUnit
				}
				if math.IsNaN(value) || math.IsInf(value, 0) {
					continue
				}
				k := key{string(line.Name), unit}
				if values[k] == nil {
					order = append(order, k)
				}
				values[k] = append(values[k], value)
			}
		}
	}
	var names []string
	for _, k := range order {
		names = append(names, k.name)
	}
	suffix := suffixOf(names, procs, cpus)
	switch {
	case suffix != "":
		out.Procs, _ = strconv.Atoi(suffix[1:])
	case len(names) > 0 && procs <= 1:
		out.Procs = 1
	}
	out.Iterations = map[string]int64{}
	for _, k := range order {
		// A function may be named Benchmark; then nothing is left.
		name := cmp.Or(strings.TrimSuffix(k.name, suffix), "Benchmark")
		out.Iterations[name] = iterations[k.name]
		out.Figures = append(out.Figures, Figure{name, k.unit, median(values[k])})
	}
	return out
}

// lineAt returns a kept line; the first is 1.
func (r *Reader) lineAt(n int) string {
	lines := strings.SplitN(string(r.kept), "\n", n+1)
	if n < 1 || n > len(lines) {
		return ""
	}
	return strings.TrimSpace(lines[n-1])
}

// suffixOf returns the -N at the end of all names that is GOMAXPROCS, "" if there is none.
func suffixOf(names []string, procs, cpus int) string {
	suffix := ""
	for i, name := range names {
		at := strings.LastIndexByte(name, '-')
		if at < 0 || i > 0 && name[at:] != suffix {
			return ""
		}
		suffix = name[at:]
	}
	n, err := strconv.Atoi(strings.TrimPrefix(suffix, "-"))
	if err != nil || n < 2 || procs > 0 && n != procs || procs == 0 && n > cpus {
		return ""
	}
	return suffix
}

func median(x []float64) float64 {
	slices.SortFunc(x, cmp.Compare)
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}
