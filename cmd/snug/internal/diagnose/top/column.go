// SPDX-License-Identifier: Apache-2.0

package top

import (
	"cmp"
	"strconv"
	"strings"

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
	text     func(*finding.TopProcess, *glyphs) (string, Role)
	order    func(a, b *finding.TopProcess) int // nil = no sort order
}

// columns lists all columns from left to right.
var columns = []column{
	{id: "pid", head: "PID", width: 7, drop: 2, words: "process number", text: pidText, order: func(a, b *finding.TopProcess) int { return cmp.Compare(b.PID, a.PID) }},
	{id: "name", head: "PROGRAM", width: 11, grows: 13, left: true, words: "the executable's name", text: nameText,
		order: func(a, b *finding.TopProcess) int { return strings.Compare(b.Name, a.Name) }},
	{id: "go", head: "GO", width: 7, left: true, drop: 18, words: "release of Go it was built with", text: goText},
	{id: "cpu", head: "CPU", width: 5, drop: 1, words: "cores used: 1.00 is one CPU all the time", text: cpuText, order: by(func(p *finding.TopProcess) *float64 { return p.Used })},
	{id: "quota", head: "QUOTA", width: 5, drop: 12, words: "cores it may use; - is no quota", text: quotaText, order: by(func(p *finding.TopProcess) *float64 { return p.Quota })},
	{id: "throttled", head: "THR%", width: 4, drop: 4, words: "share of throttled periods: the quota was used up, so it was stopped for the rest", text: throttledText,
		order: by(func(p *finding.TopProcess) *float64 { return p.Throttled })},
	{id: "wait", head: "WAIT", width: 4, drop: 8, words: "threads ready to run that waited for a CPU", text: waitText, order: by(func(p *finding.TopProcess) *float64 { return p.Waiting })},
	{id: "gc", head: "GC%", width: 4, drop: 5, words: "share of its CPU time that garbage collection took", text: gcText, order: by(func(p *finding.TopProcess) *float64 { return p.GC })},
	{id: "rate", head: "GC/MIN", width: 6, drop: 7, words: "collections a minute", text: rateText, order: by(func(p *finding.TopProcess) *float64 { return p.PerMinute })},
	{id: "pause", head: "PAUSE", width: 5, drop: 10, words: "time that collections stopped all goroutines, a second", text: pauseText, order: by(func(p *finding.TopProcess) *float64 { return p.Paused })},
	{id: "memory", head: "MEM", width: 5, drop: 16, words: "resident memory", text: memoryText, order: byWhole(func(p *finding.TopProcess) *int64 { return p.Memory })},
	{id: "heap", head: "HEAP", width: 5, drop: 11, words: "heap: allocated, or marked by the last collection", text: heapText, order: byWhole(func(p *finding.TopProcess) *int64 { return p.Heap })},
	{id: "full", head: "TO LIMIT", width: 8, grows: 4, left: true, drop: 6, words: "heap, its goal, and the room up to GOMEMLIMIT or the memory limit", text: nil, order: by(fullness)},
	{id: "limit", head: "LIMIT", width: 5, drop: 15, words: "the smaller of GOMEMLIMIT and the memory limit", text: limitText, order: byWhole(limit)},
	{id: "procs", head: "P", width: 3, drop: 9, words: "GOMAXPROCS: how many threads may run Go code at a time", text: procsText, order: by(func(p *finding.TopProcess) *float64 { return float(p.GOMAXPROCS) })},
	{id: "by", head: "BY", width: 5, left: true, drop: 14, words: "who set GOMAXPROCS: env, code, quota (Go, from the quota), host (Go, from the CPUs)", text: byText},
	{id: "busy", head: "BUSY", width: 4, drop: 10, words: "Ps (of GOMAXPROCS) that were not idle, on average", text: busyText, order: by(func(p *finding.TopProcess) *float64 { return p.Busy })},
	{id: "spin", head: "SPIN", width: 4, drop: 13, words: "busy Ps that looked for work", text: spinText, order: by(func(p *finding.TopProcess) *float64 { return p.Spinning })},
	{id: "idle", head: "IDLE", width: 4, drop: 17, words: "Ps that were idle", text: idleText, order: by(func(p *finding.TopProcess) *float64 { return p.Idle })},
	{id: "finding", head: "WORST FINDING", width: 22, grows: 40, left: true, drop: 12, words: "what is wrong: E error, W warning, i information", text: findingText, order: byFinding},
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
func by(figure func(*finding.TopProcess) *float64) func(a, b *finding.TopProcess) int {
	return func(a, b *finding.TopProcess) int { return finding.CompareKnown(figure(a), figure(b)) }
}

func byWhole(figure func(*finding.TopProcess) *int64) func(a, b *finding.TopProcess) int {
	return func(a, b *finding.TopProcess) int { return finding.CompareKnown(figure(a), figure(b)) }
}

func byFinding(a, b *finding.TopProcess) int {
	if c := cmp.Compare(finding.Worst(a.Findings).Level(), finding.Worst(b.Findings).Level()); c != 0 {
		return c
	}
	return cmp.Compare(len(a.Findings), len(b.Findings))
}

func float(n *int) *float64 {
	if n == nil {
		return nil
	}
	return new(float64(*n))
}

// limit returns what bounds the heap: the smaller of GOMEMLIMIT and the memory limit; nil if
// there is neither.
func limit(p *finding.TopProcess) *int64 {
	l := p.MemoryLimit
	if p.GOMEMLIMIT != nil && (l == nil || *p.GOMEMLIMIT < *l) {
		l = p.GOMEMLIMIT
	}
	return l
}

// fullness returns the heap's share of its limit, or of its goal if there is no limit.
func fullness(p *finding.TopProcess) *float64 {
	of := limit(p)
	if of == nil {
		of = p.Goal
	}
	if p.Heap == nil || of == nil || *of <= 0 {
		return nil
	}
	return new(float64(*p.Heap) / float64(*of))
}

func pidText(p *finding.TopProcess, _ *glyphs) (string, Role) { return strconv.Itoa(p.PID), Plain }

func nameText(p *finding.TopProcess, _ *glyphs) (string, Role) { return p.Name, Plain }

func goText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.GoVersion == nil {
		return absent(p, "go_version"), Dim
	}
	v, _, _ := strings.Cut(strings.TrimPrefix(*p.GoVersion, "go"), " ")
	return v, Plain
}

// absent returns the text for a missing figure: "?" if it could not be read, "-" if there is
// none, "" if it is not known yet.
func absent(p *finding.TopProcess, field string) string {
	for _, gap := range p.Unknown {
		if gap.Field == field {
			return "?"
		}
	}
	return "-"
}

func cpuText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.Used == nil {
		return ".", Dim
	}
	return units.NarrowFixed(*p.Used, 5), Plain
}

func quotaText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.Quota == nil {
		return absent(p, "quota_cores"), Dim
	}
	return units.NarrowNumber(*p.Quota), Plain
}

func throttledText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	switch {
	case p.Throttled != nil:
		return units.NarrowShare(*p.Throttled), alarm(*p.Throttled, 0.05, 0.25)
	case p.Used == nil:
		return ".", Dim
	case p.Quota != nil && absent(p, "throttled_ratio") == "-":
		return "0", Dim // no period passed because it did not run
	}
	return absent(p, "throttled_ratio"), Dim
}

func waitText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	switch {
	case p.Waiting == nil && p.Used != nil:
		return "?", Dim // threads ended, and their waiting time is lost
	case p.Waiting == nil:
		return ".", Dim
	}
	return units.NarrowFixed(*p.Waiting, 4), Plain
}

func gcText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	switch {
	case p.GC != nil:
		return units.NarrowShare(*p.GC), alarm(*p.GC, 0.25, 0.5)
	case p.PerMinute != nil && *p.PerMinute == 0:
		return "0", Dim
	}
	return absent(p, "gc_cpu_ratio"), Dim
}

func rateText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.PerMinute == nil {
		return pending(p, "collections"), Dim
	}
	return units.NarrowCount(*p.PerMinute, 6), Plain
}

// pending is like absent, but returns "." for a rate that needs a second look.
func pending(p *finding.TopProcess, field string) string {
	if s := absent(p, field); s == "?" || p.Window != nil {
		return s
	}
	return "."
}

func pauseText(p *finding.TopProcess, g *glyphs) (string, Role) {
	if p.Paused == nil {
		return pending(p, "collections"), Dim
	}
	return g.duration(*p.Paused), alarm(*p.Paused, 0.02, 0.1)
}

func memoryText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	return bytesText(p, p.Memory, "memory_bytes")
}
func heapText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	return bytesText(p, p.Heap, "heap_bytes")
}
func limitText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	return bytesText(p, limit(p), "memory_limit_bytes")
}

func bytesText(p *finding.TopProcess, n *int64, field string) (string, Role) {
	if n == nil {
		return absent(p, field), Dim
	}
	return units.NarrowBytes(*n), Plain
}

func procsText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.GOMAXPROCS == nil {
		return absent(p, "gomaxprocs"), Dim
	}
	return strconv.Itoa(*p.GOMAXPROCS), Plain
}

// setters maps who set GOMAXPROCS to the words of snug ps.
var setters = map[string]string{"environment": "env", "code": "code", "runtime": "quota", "host": "host"}

func byText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if p.GOMAXPROCSSource == nil {
		return absent(p, "gomaxprocs_source"), Dim
	}
	if s, ok := setters[*p.GOMAXPROCSSource]; ok {
		return s, Plain
	}
	return *p.GOMAXPROCSSource, Plain
}

func busyText(p *finding.TopProcess, _ *glyphs) (string, Role) { return psText(p, p.Busy) }
func spinText(p *finding.TopProcess, _ *glyphs) (string, Role) { return psText(p, p.Spinning) }
func idleText(p *finding.TopProcess, _ *glyphs) (string, Role) { return psText(p, p.Idle) }

func psText(p *finding.TopProcess, n *float64) (string, Role) {
	if n == nil {
		return absent(p, "busy_ps"), Dim
	}
	return units.NarrowFixed(*n, 4), Plain
}

func findingText(p *finding.TopProcess, _ *glyphs) (string, Role) {
	if len(p.Findings) == 0 {
		if why := whyUnknown(p); why != "" {
			return "? " + why, Dim
		}
		return "-", Dim
	}
	f := &p.Findings[0]
	s := mark(f.Severity) + " " + f.ID
	if more := len(p.Findings) - 1; more > 0 {
		s += " +" + strconv.Itoa(more)
	}
	return s, roleOf(f.Severity)
}

// whyUnknown returns the reason why most figures of a process are unknown; "" if they are known.
func whyUnknown(p *finding.TopProcess) string {
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
