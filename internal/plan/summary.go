// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/limits"
)

// Summary returns the limits and decisions in the few lines that testdata/situations keeps as
// `want`: one "key value..." per line, in a fixed order, so that a changed decision is a
// changed line.
func Summary(l *limits.Limits, p *Plan) []byte {
	var b summary
	c, m := &l.CPU, &l.Memory
	b.line("cpu.quota_cores", value(c.Quota, exact))
	b.line("cpu.cores", value(c.Cores, exact))
	b.line("cpu.affinity_cpus", value(c.Affinity, strconv.Itoa))
	if c.Quota.State == limits.Known {
		b.line("cpu.source", escape(c.QuotaSource.File[1:]))
	}
	if n, ok := c.Throttle.Throttled.Get(); ok && n > 0 {
		b.line("cpu.throttled", decimal(n)+"/"+decimal(c.Throttle.Periods.N), exact(c.Throttle.Time.Seconds())+"s")
	}
	b.line("memory.hard_bytes", value(m.Hard, decimal))
	b.line("memory.soft_bytes", value(m.Soft, decimal))
	if m.Hard.State == limits.Known {
		b.line("memory.source", escape(m.HardSource.File[1:]))
	}
	if m.HardShared {
		b.line("memory.shared", "true")
	}
	var fields, codes []string
	for _, g := range l.Gaps {
		if !g.Redundant {
			fields = append(fields, g.Field)
		}
	}
	for _, w := range l.Warnings {
		codes = append(codes, w.Code)
	}
	b.each("unknown", fields)
	b.each("warning", codes)
	b.line("runtime", runtimes(p.Runtime))
	if n := RuntimeProcs(c, Go{Minor: 25}); n != p.Runtime {
		b.line("runtime-1.25", runtimes(n))
	}
	b.setting("gomaxprocs", &p.GOMAXPROCS)
	b.setting("gomemlimit", &p.GOMEMLIMIT)
	return b
}

type summary []byte

func (b *summary) line(words ...string) {
	for i, w := range words {
		if i > 0 {
			*b = append(*b, ' ')
		}
		*b = append(*b, w...)
	}
	*b = append(*b, '\n')
}

// each writes each distinct word on a line of its own, sorted.
func (b *summary) each(key string, words []string) {
	slices.Sort(words)
	for _, w := range slices.Compact(words) {
		b.line(key, w)
	}
}

func (b *summary) setting(name string, s *Setting) {
	if s.Leave {
		b.line(name, "leave", s.Code)
		return
	}
	b.line(name, decimal(s.Value), s.Code)
}

func runtimes(procs int) string {
	switch procs {
	case Crash:
		return "crash"
	case 0:
		return "unknown"
	}
	return strconv.Itoa(procs)
}

func value[T int | int64 | float64](v limits.Value[T], print func(T) string) string {
	switch v.State {
	case limits.Known:
		return print(v.N)
	case limits.None:
		return "none"
	}
	return "unknown"
}

func decimal(n int64) string { return strconv.FormatInt(n, 10) }

func exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// escape escapes blanks and backslashes as the kernel does in mountinfo, so that a path stays
// one word.
func escape(path string) string {
	return strings.NewReplacer(" ", `\040`, "\t", `\011`, "\n", `\012`, `\`, `\134`).Replace(path)
}
