// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// column is one figure of a process.
type column struct {
	id, head string // id is its name for --sort
	width    int    // minimum width in cells
	grows    int    // cells that it may grow by
	left     bool   // align text left; figures are aligned right
	drop     int    // without room, columns with a higher number are dropped first
	words    string // its text in the help
	text     func(*row, *glyphs) (string, Role)
	order    func(a, b *row) int // nil = no sort order
}

// row is one process.
type row = finding.TopProcess

// columns lists all columns from left to right.
var columns = []column{
	{id: "pid", head: "PID", width: 7, drop: 2, words: "process number", text: pidText,
		order: func(a, b *row) int { return cmp.Compare(b.PID, a.PID) }},
	{id: "name", head: "PROGRAM", width: 11, grows: 13, left: true, words: "the executable's name", text: nameText,
		order: func(a, b *row) int { return strings.Compare(b.Name, a.Name) }},
	{id: "go", head: "GO", width: 7, left: true, drop: 18, words: "release of Go it was built with", text: goText},
	{id: "cpu", head: "CPU", width: 5, drop: 1, words: "cores used: 1.00 is one CPU all the time", text: cpuText,
		order: by(func(p *row) figure.Of[float64] { return p.Used })},
	amount(column{id: "quota", head: "QUOTA", width: 5, drop: 12, words: "cores it may use; - is no quota"},
		func(p *row) figure.Of[float64] { return p.Quota }, units.NarrowNumber),
	{id: "throttled", head: "THR%", width: 4, drop: 4, text: throttledText,
		words: "share of throttled periods: the quota was used up, so it was stopped for the rest",
		order: by(func(p *row) figure.Of[float64] { return p.Throttled })},
	{id: "wait", head: "WAIT", width: 4, drop: 8, words: "threads ready to run that waited for a CPU", text: waitText,
		order: by(func(p *row) figure.Of[float64] { return p.Waiting })},
	{id: "gc", head: "GC%", width: 4, drop: 5, words: "share of its CPU time that garbage collection took", text: gcText,
		order: by(func(p *row) figure.Of[float64] { return p.GC })},
	{id: "rate", head: "GC/MIN", width: 6, drop: 7, words: "collections a minute", text: rateText,
		order: by(func(p *row) figure.Of[float64] { return p.PerMinute })},
	{id: "pause", head: "PAUSE", width: 5, drop: 10, words: "time that collections stopped all goroutines, a second",
		text: pauseText, order: by(func(p *row) figure.Of[float64] { return p.Paused })},
	amount(column{id: "memory", head: "MEM", width: 5, drop: 16, words: "resident memory"},
		func(p *row) figure.Of[int64] { return p.Memory }, units.NarrowBytes),
	amount(column{id: "heap", head: "HEAP", width: 5, drop: 11,
		words: "heap: allocated, or marked by the last collection"},
		func(p *row) figure.Of[int64] { return p.Heap }, units.NarrowBytes),
	{id: "full", head: "TO LIMIT", width: 8, grows: 4, left: true, drop: 6, order: by(fullness),
		words: "heap, its goal, and the room up to GOMEMLIMIT or the memory limit"},
	amount(column{id: "limit", head: "LIMIT", width: 5, drop: 15, words: "the smaller of GOMEMLIMIT and the memory limit"},
		limit, units.NarrowBytes),
	amount(column{id: "procs", head: "P", width: 3, drop: 9,
		words: "GOMAXPROCS: how many threads may run Go code at a time"},
		func(p *row) figure.Of[int] { return p.GOMAXPROCS }, strconv.Itoa),
	{id: "by", head: "BY", width: 5, left: true, drop: 14, text: byText,
		words: "who set GOMAXPROCS: env, code, quota (Go, from the quota), host (Go, from the CPUs)"},
	amount(column{id: "busy", head: "BUSY", width: 4, drop: 10,
		words: "Ps (of GOMAXPROCS) that were not idle, on average"},
		func(p *row) figure.Of[float64] { return p.Busy }, ps),
	amount(column{id: "spin", head: "SPIN", width: 4, drop: 13, words: "busy Ps that looked for work"},
		func(p *row) figure.Of[float64] { return p.Spinning }, ps),
	{id: "latency", head: "LAT99", width: 5, drop: 13, words: "time within which 99 of 100 runnable goroutines ran",
		text: latencyText, order: by(latency)},
	amount(column{id: "idle", head: "IDLE", width: 4, drop: 17, words: "Ps that were idle"},
		func(p *row) figure.Of[float64] { return p.Idle }, ps),
	{id: "finding", head: "WORST FINDING", width: 22, grows: 40, left: true, drop: 12,
		words: "what is wrong: E error, W warning, i information", text: findingText, order: byFinding},
}

// amount completes a column that shows a figure and sorts by it.
func amount[T cmp.Ordered](c column, get func(*row) figure.Of[T], print func(T) string) column {
	c.text = func(p *row, _ *glyphs) (string, Role) { return show(get(p), print) }
	c.order = by(get)
	return c
}

// Orders returns the names of the sort orders.
func Orders() []string {
	var all []string
	for _, c := range columns {
		if c.order != nil {
			all = append(all, c.id)
		}
	}
	return all
}

// by orders by a figure. Unknown figures come last.
func by[T cmp.Ordered](get func(*row) figure.Of[T]) func(a, b *row) int {
	return func(a, b *row) int { return figure.Compare(get(a), get(b)) }
}

func byFinding(a, b *row) int {
	if c := cmp.Compare(finding.Worst(a.Findings).Level(), finding.Worst(b.Findings).Level()); c != 0 {
		return c
	}
	return cmp.Compare(len(a.Findings), len(b.Findings))
}

// limit returns what bounds the heap: the smaller of GOMEMLIMIT and the memory limit.
func limit(p *row) figure.Of[int64] {
	l := p.MemoryLimit
	if p.GOMEMLIMIT.Known() && (!l.Known() || p.GOMEMLIMIT.N < l.N) {
		l = p.GOMEMLIMIT
	}
	return l
}

// bound returns the limit of the heap, or its goal if there is no limit.
func bound(p *row) figure.Of[int64] {
	if l := limit(p); l.Known() {
		return l
	}
	return p.Goal
}

// fullness returns the heap's share of its bound.
func fullness(p *row) (share figure.Of[float64]) {
	if of := bound(p); p.Heap.Known() && of.Known() && of.N > 0 {
		share.Know(float64(p.Heap.N)/float64(of.N), "")
	}
	return share
}

func pidText(p *row, _ *glyphs) (string, Role) { return strconv.Itoa(p.PID), Plain }

func nameText(p *row, _ *glyphs) (string, Role) { return p.Name, Plain }

func goText(p *row, _ *glyphs) (string, Role) {
	return show(p.GoVersion, func(v string) string {
		v, _, _ = strings.Cut(strings.TrimPrefix(v, "go"), " ")
		return v
	})
}

// show returns the text of a figure.
func show[T any](f figure.Of[T], print func(T) string) (string, Role) {
	if f.Known() {
		return print(f.N), Plain
	}
	return absent(f), Dim
}

// absent returns the text for a figure without a number: "?" if it could not be read, "-" if
// there is none.
func absent[T any](f figure.Of[T]) string {
	if f.Read() {
		return "-"
	}
	return "?"
}

func cpuText(p *row, _ *glyphs) (string, Role) {
	if !p.Used.Known() {
		return ".", Dim
	}
	return units.NarrowFixed(p.Used.N, 5), Plain
}

func throttledText(p *row, _ *glyphs) (string, Role) {
	switch {
	case p.Throttled.Known():
		return units.NarrowShare(p.Throttled.N), alarm(p.Throttled.N, 0.05, 0.25)
	case !p.Used.Known():
		return ".", Dim
	case p.Quota.Known() && p.Throttled.Read():
		return "0", Dim // no period passed because it did not run
	}
	return absent(p.Throttled), Dim
}

func waitText(p *row, _ *glyphs) (string, Role) {
	switch {
	case !p.Waiting.Known() && p.Used.Known():
		return "?", Dim // threads ended, and their waiting time is lost
	case !p.Waiting.Known():
		return ".", Dim
	}
	return units.NarrowFixed(p.Waiting.N, 4), Plain
}

func gcText(p *row, _ *glyphs) (string, Role) {
	switch {
	case p.GC.Known():
		return units.NarrowShare(p.GC.N), alarm(p.GC.N, 0.25, 0.5)
	case p.PerMinute.Known() && p.PerMinute.N == 0:
		return "0", Dim
	}
	return absent(p.GC), Dim
}

func rateText(p *row, _ *glyphs) (string, Role) {
	if !p.PerMinute.Known() {
		return pending(p), Dim
	}
	return units.NarrowCount(p.PerMinute.N, 6), Plain
}

// pending returns the text for a missing rate of collections: "." if it needs a second look.
func pending(p *row) string {
	switch {
	case !p.Cycles.Read():
		return "?"
	case p.Window.Known():
		return "-"
	}
	return "."
}

func pauseText(p *row, g *glyphs) (string, Role) {
	if !p.Paused.Known() {
		return pending(p), Dim
	}
	return g.duration(p.Paused.N), alarm(p.Paused.N, 0.02, 0.1)
}

// setters maps who set GOMAXPROCS to the words of snug ps.
var setters = map[string]string{"environment": "env", "code": "code", "runtime": "quota", "host": "host"}

func byText(p *row, _ *glyphs) (string, Role) {
	return show(p.GOMAXPROCSSource, func(by string) string { return cmp.Or(setters[by], by) })
}

// latency returns the 99th percentile of the scheduler latency over the window.
func latency(p *row) (f figure.Of[float64]) {
	if p.Lately.Known() {
		f.Know(p.Lately.N.P99, "")
	}
	return f
}

func latencyText(p *row, g *glyphs) (string, Role) {
	switch l := latency(p); {
	case l.Known():
		return g.duration(l.N), Plain
	case !p.Latency.Read():
		return "?", Dim
	case p.Window.Known():
		return "-", Dim
	}
	return ".", Dim
}

func ps(n float64) string { return units.NarrowFixed(n, 4) }

func findingText(p *row, _ *glyphs) (string, Role) {
	f := finding.Gravest(p.Findings)
	if f == nil {
		if why := whyUnknown(p); why != "" {
			return "? " + why, Dim
		}
		return "-", Dim
	}
	s := mark(f.Severity) + " " + f.ID
	if more := len(p.Findings) - 1; more > 0 {
		s += " +" + strconv.Itoa(more)
	}
	return s, roleOf(f.Severity)
}

// whyUnknown returns the reason why most figures of a process are unknown; "" if they are known.
func whyUnknown(p *row) string {
	for _, field := range []string{"program", "gomaxprocs"} {
		for _, gap := range p.Unknown {
			if gap.Field == field {
				return gap.Why
			}
		}
	}
	return ""
}

// mark returns a severity as one letter, so that the text does not depend on colour.
func mark(s finding.Severity) string {
	switch s {
	case finding.SeverityError:
		return "E"
	case finding.SeverityWarning:
		return "W"
	case finding.SeverityInfo:
		return "i"
	}
	return " "
}

func roleOf(s finding.Severity) Role {
	switch s {
	case finding.SeverityError:
		return Bad
	case finding.SeverityWarning:
		return Warn
	}
	return Plain
}

// alarm returns the role of a share.
func alarm(x, warn, bad float64) Role {
	switch {
	case x >= bad:
		return Bad
	case x >= warn:
		return Warn
	}
	return Plain
}
