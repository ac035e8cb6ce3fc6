// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// metricWords puts words where a text names a metric by its key. Keys that are
// words themselves stay.
var metricWords = func() *strings.Replacer {
	var pairs []string
	for _, m := range metrics {
		if strings.Contains(m.key, "_") {
			pairs = append(pairs, m.key, m.words)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// plainBytes is a size as Go reads one, in bytes: too long to compare at a
// glance.
var plainBytes = regexp.MustCompile(`\b[0-9]{4,18}B\b`)

// worded is another's sentence for people: safe, with metrics in words and sizes
// in the unit that suits them.
func worded(s string) string { return humanBytes(metricWords.Replace(Clean(s))) }

func humanBytes(s string) string {
	return plainBytes.ReplaceAllStringFunc(s, func(n string) string {
		v, err := strconv.ParseInt(strings.TrimSuffix(n, "B"), 10, 64)
		if err != nil {
			return n
		}
		return size(v)
	})
}

// limitText is a GOMEMLIMIT for people; its exact text is in what is to be
// pasted. Without a unit it counts bytes.
func limitText(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		v += "B"
	}
	return humanBytes(Clean(v))
}

// valueText is the value of a knob for people.
func valueText(knob, v string) string {
	switch {
	case v == "":
		return "unset"
	case knob == "GOMEMLIMIT":
		return limitText(v)
	case knob == "burst":
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
			return duration(float64(n) / 1e6)
		} else if err == nil && n == 0 {
			return "unset"
		}
	}
	return Clean(v)
}

// programName is what was measured: a program by its file's name, a service by
// where it is.
func programName(s *finding.Setup, workload string) string {
	switch {
	case workload == "command" && len(s.Command) > 0 && s.Command[0] != "":
		return path.Base(s.Command[0])
	case workload == "url" && s.URL != "":
		return "the service at " + s.URL
	}
	return workload
}

// named are cells whose workload is the name of what was measured. The document
// stays as it is.
func named(s *finding.Setup, cells []finding.Cell) []finding.Cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i].Workload = programName(s, out[i].Workload)
	}
	return out
}

func namedBench(d *finding.Bench) *finding.Bench {
	out := *d
	out.Cells = named(&d.Setup, d.Cells)
	return &out
}

func namedTune(d *finding.Tune) *finding.Tune {
	out := *d
	out.Cells = named(&d.Setup, d.Cells)
	if d.Confirm != nil {
		c := *d.Confirm
		c.Winner.Workload = programName(&d.Setup, c.Winner.Workload)
		c.Default.Workload = programName(&d.Setup, c.Default.Workload)
		out.Confirm = &c
	}
	return &out
}

// withConfirmation are all cells of a search and those of its confirmation.
func withConfirmation(d *finding.Tune) []finding.Cell {
	if d.Confirm == nil {
		return d.Cells
	}
	return append(d.Cells[:len(d.Cells):len(d.Cells)], confirmed(d.Confirm)...)
}
