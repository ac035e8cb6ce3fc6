// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Benchfmt writes the rounds of an experiment in the Go benchmark format
// (golang.org/design/14313-benchmark-format), one line per valid round, for
// benchstat: benchstat -col /procs FILE.
//
// Values are in seconds and bytes, the base units of golang.org/x/perf/benchunit.
func Benchfmt(w io.Writer, d finding.Document) error {
	var b strings.Builder
	switch d := d.(type) {
	case *finding.Bench:
		benchHead(&b, &d.Setup)
		benchLines(&b, content.Named(&d.Setup, d.Cells))
	case *finding.Tune:
		benchHead(&b, &d.Setup)
		// Fresh data, under the names of the confirmation.
		benchLines(&b, content.Named(&d.Setup, content.WithConfirmation(d)))
	default:
		return fmt.Errorf("no benchmark lines for a document of kind %s", finding.KindOf(d))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// benchHead writes the configuration, and for each unit which direction is better.
func benchHead(b *strings.Builder, s *finding.Setup) {
	m := &s.Machine
	limit, cpus := "", ""
	if s.NoLimit {
		limit = "no quota enforced"
	}
	if m.CPUs > 0 {
		cpus = strconv.Itoa(m.CPUs)
	}
	for _, c := range [][2]string{
		{"goos", m.OS}, {"goarch", m.Arch}, {"cpu", m.CPUModel}, {"cpus", cpus}, {"kernel", m.Kernel}, {"go", m.Go},
		{"cgroup", m.CgroupWay}, {"snug", s.Version}, {"limit", limit},
	} {
		if v := strings.TrimSpace(message.Clean(c[1])); v != "" {
			fmt.Fprintf(b, "%s: %s\n", c[0], v)
		}
	}
	for _, u := range benchUnits {
		better := "lower"
		if u.more {
			better = "higher"
		}
		fmt.Fprintf(b, "Unit %s better=%s\n", u.name, better)
	}
}

// benchUnits are the figures of a round, by unit.
var benchUnits = []struct {
	name string
	more bool
	of   func(*finding.Run) *float64
}{
	{"cpu-sec/op", false, func(r *finding.Run) *float64 { return r.CPUPerOp }},
	{"req/s", true, func(r *finding.Run) *float64 { return r.RPS }},
	{"wall-sec", false, func(r *finding.Run) *float64 { return r.Wall }},
	{"p50-sec", false, func(r *finding.Run) *float64 { return r.P50 }},
	{"p95-sec", false, func(r *finding.Run) *float64 { return r.P95 }},
	{"p99-sec", false, func(r *finding.Run) *float64 { return r.P99 }},
	{"throttled/period", false, metric.ThrottledOf},
	{"gc-cycles", false, func(r *finding.Run) *float64 { return metric.Float(r.GCs) }},
	{"stw-sec", false, func(r *finding.Run) *float64 { return r.STW }},
	{"heap-peak-B", false, func(r *finding.Run) *float64 { return metric.Float(r.PeakHeap) }},
	{"memory-peak-B", false, func(r *finding.Run) *float64 { return metric.Float(r.Peak) }},
}

func benchLines(b *strings.Builder, cells []finding.Cell) {
	names, uses := make([]string, len(cells)), map[string]int{}
	for i := range cells {
		names[i] = benchName(&cells[i])
		uses[names[i]]++
	}
	for i := range cells {
		c := &cells[i]
		name := names[i]
		if uses[name] > 1 { // the default and the same number set explicitly are two settings
			name += "/setting=" + word(content.ArmName(c))
		}
		for k := range c.Rounds {
			r := &c.Rounds[k]
			if r.Invalid != "" {
				continue
			}
			var values strings.Builder
			for _, u := range benchUnits {
				if v := u.of(r); v != nil && !units.Odd(*v) {
					fmt.Fprintf(&values, " %s %s", strconv.FormatFloat(*v, 'g', -1, 64), u.name)
				}
			}
			if values.Len() > 0 {
				fmt.Fprintf(b, "%s 1%s\n", name, values.String())
			}
			goBenchmarks(b, name, r)
		}
	}
}

// goBenchmarks writes the figures of Go benchmarks under their own names, with the setting
// after them. Iterations are not kept: medians have none.
func goBenchmarks(b *strings.Builder, name string, r *finding.Run) {
	_, setting, _ := strings.Cut(name, "/quota=")
	last, begun := "", false
	for _, f := range r.Benchmarks {
		if units.Odd(f.Value) {
			continue
		}
		if f.Benchmark != last || !begun {
			if begun {
				b.WriteByte('\n')
			}
			last, begun = f.Benchmark, true
			parts := units.Texts(strings.Split(last, "/"), word)
			fmt.Fprintf(b, "Benchmark%s/quota=%s 1", strings.Join(parts, "/"), setting)
		}
		fmt.Fprintf(b, " %s %s", strconv.FormatFloat(f.Value, 'g', -1, 64),
			cmp.Or(strings.Join(strings.Fields(message.Clean(f.Unit)), "_"), "none"))
	}
	if begun {
		b.WriteByte('\n')
	}
}

// benchName names a cell in the style of the format: key=value parts separated by slashes.
func benchName(c *finding.Cell) string {
	name := "BenchmarkSnug/workload=" + word(strings.TrimPrefix(c.Workload, "the service at ")) + "/quota="
	if c.Quota == 0 {
		name += "none"
	} else {
		name += units.Number(c.Quota)
	}
	part := func(key, value string) {
		name += units.If(value != "", "/"+key+"="+word(value))
	}
	if c.Memory > 0 {
		part("memory", strconv.FormatInt(c.Memory, 10))
	}
	if c.Burst > 0 {
		part("burst", strconv.FormatInt(c.Burst, 10)+"us")
	}
	if c.Replicas > 1 {
		part("containers", strconv.Itoa(c.Replicas))
	}
	procs := cmp.Or(c.GOMAXPROCS, "unset")
	if c.Procs != nil {
		procs = strconv.Itoa(*c.Procs)
	}
	part("procs", procs)
	part("gogc", c.GOGC)
	part("gomemlimit", c.GOMEMLIMIT)
	for _, v := range c.Vars.List() {
		key, value, _ := strings.Cut(v, "=")
		part(key, value)
	}
	part("load", strings.Replace(c.Load, "/s", "rps", 1))
	return name
}

// word makes a text one part of a name. It replaces spaces, which end a name, slashes, which
// end a part, and hyphens, after which benchstat takes a number for GOMAXPROCS.
func word(s string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '-':
			return '_'
		case r == '/':
			return ':'
		case !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s), "none")
}
