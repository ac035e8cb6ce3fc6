// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// BenchNotes returns the caveats about the tables, one sentence each.
func BenchNotes(d *finding.Bench) []string {
	notes := Early(&d.Setup)
	parts := Sections(d.Cells, d.Comparisons)
	if text := criterion(parts, d.Cells, d.Comparisons); text != "" {
		notes = append(notes, text)
	}
	for i := range parts {
		notes = append(notes, parts[i].notShown(d.Cells, d.Comparisons, len(parts) > 1)...)
		notes = append(notes, parts[i].missing(d.Cells)...)
	}
	any := func(is func(c *finding.Cell) bool) bool {
		return slices.ContainsFunc(d.Cells, func(c finding.Cell) bool { return is(&c) })
	}
	closed := any(func(c *finding.Cell) bool { return closedLoop(c.Load) })
	saturated := any(func(c *finding.Cell) bool { return c.P99 != nil && c.Load == "saturated" })
	if closed && !slices.ContainsFunc(d.Verdict.Cannot, omission) {
		notes = append(notes, "what a closed loop hides: each user waits for an answer before the next request, so a stall "+
			"also stops new requests; real visitors keep coming. Compare latencies under --load, where requests arrive on "+
			"their own schedule")
	}
	if saturated {
		notes = append(notes, "latencies of a saturated closed loop are left out: its callers queue behind each other, "+
			"which says nothing about the service")
	}
	notes = append(notes, runNotes(d.Cells)...)
	notes = append(notes, askedNote(d.Cells)...)
	return append(notes, common(&d.Setup, d.Cells, d.Verdict.Cannot)...)
}

// omission reports whether a text is about coordinated omission in a closed loop.
func omission(text string) bool { return strings.Contains(text, "coordinated omission") }

// askedNote explains the P column of programs that did not report their GOMAXPROCS.
func askedNote(cells []finding.Cell) []string {
	if slices.ContainsFunc(cells, func(c finding.Cell) bool { return c.Procs == nil && c.GOMAXPROCS != "" }) {
		return []string{"asked: the GOMAXPROCS that was set; the program did not report the one it used"}
	}
	return nil
}

// Early returns a note if the experiment was stopped early.
func Early(s *finding.Setup) []string {
	if s.Complete {
		return nil
	}
	return []string{"stopped early: these are partial results, and fewer rounds show less"}
}

// common returns the notes shared by a bench and a search.
func common(s *finding.Setup, cells []finding.Cell, cannot []string) []string {
	var notes []string
	hidden, given := false, false
	for _, c := range cannot {
		given = given || strings.Contains(c, "did not count: ")
		if again := hidden && omission(c); !again && !slices.Contains(notes, metric.Readable(c)) {
			notes = append(notes, metric.Readable(c))
		}
		hidden = hidden || omission(c)
	}
	if !given {
		return append(notes, invalidNotes(s, cells)...)
	}
	if s.Repeated > 0 { // the reason is given; only the fate of the runs is missing
		notes = append(notes, units.Plural(s.Repeated, "run")+" "+were(s.Repeated)+" repeated")
	}
	if s.Excluded > 0 {
		notes = append(notes, units.Plural(s.Excluded, "run")+" "+were(s.Excluded)+" not replaced, but left out")
	}
	return notes
}

// criterion says from which size on a difference counts, by metric; "" without
// comparisons.
func criterion(parts []Section, cells []finding.Cell, all []finding.Comparison) string {
	var sizes []string
	heads := map[string][]string{} // by size
	for i := range parts {
		for _, c := range parts[i].Comparisons(cells, all) {
			size, head := units.About(c.Margin), metric.Heading(c.Metric, parts[i].Requests)
			if heads[size] == nil {
				sizes = append(sizes, size)
			}
			if !slices.Contains(heads[size], head) {
				heads[size] = append(heads[size], head)
			}
		}
	}
	for i, size := range sizes {
		sizes[i] = size + " (" + strings.Join(heads[size], ", ") + ")"
	}
	if len(sizes) == 0 {
		return ""
	}
	return "a difference counts if its whole interval lies beyond " + strings.Join(sizes, ", ")
}

// notShown says where no difference is shown, and how many rounds would show one.
func (s *Section) notShown(cells []finding.Cell, all []finding.Comparison, several bool) []string {
	mine := slices.DeleteFunc(s.Comparisons(cells, all), func(c finding.Comparison) bool {
		return ofBenchmark(c) && (c.Metric != metric.BenchTime || c.Benchmark != "") // the table says ~
	})
	type rest struct{ size, text string }
	var rests []rest
	metrics := map[rest][]string{}
	for _, key := range Compared(mine) {
		var names []string
		var needs []int
		size := ""
		for _, c := range mine {
			if c.Metric == key && c.Word == finding.NotShown {
				size, names = units.About(c.Margin), append(names, s.Name(&cells[c.Cell]))
				if c.NeedN != nil {
					needs = append(needs, *c.NeedN)
				}
			}
		}
		if len(names) == 0 {
			continue
		}
		r := rest{size, " of " + few(names)}
		r.text += units.If(several, " ("+Short(s.brief, 60)+")")
		if len(needs) > 0 {
			r.text += Needs(size, slices.Min(needs), slices.Max(needs))
		}
		if metrics[r] == nil {
			rests = append(rests, r)
		}
		metrics[r] = append(metrics[r], metric.Called(key))
	}
	return units.Texts(rests, func(r rest) string { return "not decided: " + strings.Join(metrics[r], ", ") + r.text })
}

// Missing says what is unknown and why, with the file if there is one.
func Missing(g *finding.Gap) string {
	text := metric.Readable(g.Field)
	text += units.If(g.File != "", ", "+message.Clean(g.File))
	return text + ": " + metric.Readable(g.Why)
}

// maxRounds is the largest number of rounds that is practical.
const maxRounds = 1000

// Needs says how many rounds would show a difference of a size: low and high are the
// minimum and maximum over several settings; 0 is unknown.
func Needs(size string, low, high int) string {
	takes := "; to show " + size + " takes "
	switch {
	case high <= 0:
		return ""
	case low > maxRounds:
		return takes + "over 1000 rounds, which is not practical"
	case high > maxRounds:
		return takes + fmt.Sprintf("%d rounds or more, for some over 1000", low)
	case low != high:
		return takes + fmt.Sprintf("about %d to %d rounds", low, high)
	}
	return takes + fmt.Sprintf("about %d rounds", high)
}

// few joins names; of six or more it shows four and counts the rest.
func few(names []string) string {
	names = slices.Clone(names)
	if n := len(names) - 4; n > 1 {
		return strings.Join(names[:4], "; ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, "; ")
}

// Windowed reports whether a round lasts as long as the window. A batch
// and Go benchmarks have no fixed length.
func Windowed(s *finding.Setup, cells []finding.Cell) bool {
	return s.Window > 0 && (len(cells) == 0 || slices.ContainsFunc(cells, func(c finding.Cell) bool {
		return c.Load != "batch" && c.Load != "benchmark"
	}))
}

// RoundsText returns the number of rounds, or the round in which they stopped; "" if
// nothing was measured. planned is true for a bench, which knows the number beforehand.
func RoundsText(s *finding.Setup, cells []finding.Cell, planned bool) string {
	last := 0
	for i := range cells {
		for k := range cells[i].Rounds {
			last = max(last, cells[i].Rounds[k].Round+1)
		}
	}
	text, each := units.Plural(s.Rounds, "round"), " of "
	switch {
	case len(cells) == 0 || s.Rounds == 0 && last == 0:
		return ""
	case !s.Complete && planned && s.Rounds > 0:
		text, each = fmt.Sprintf("stopped in round %d of %d", min(max(last, 1), s.Rounds), s.Rounds), ", each "
	case !s.Complete:
		text, each = fmt.Sprintf("stopped in round %d", max(last, 1)), ", each "
	}
	if Windowed(s, cells) {
		text += each + units.Duration(s.Window)
	}
	return text
}

// OriginText describes the rounds and the machine in one line; "" without cells.
func OriginText(s *finding.Setup, cells []finding.Cell, planned bool) string {
	if len(cells) == 0 {
		return ""
	}
	m := &s.Machine
	took, cpus := units.If(s.Seconds > 0, Whole(s.Seconds)+" in all"), units.If(m.CPUs > 0, units.Plural(m.CPUs, "CPU"))
	way := units.If(m.CgroupWay != "" && !s.NoLimit, "cgroups: "+m.CgroupWay)
	return units.Join("; ", units.Join(", ", RoundsText(s, cells, planned), took),
		message.Clean(units.Join(", ", cpus, m.OS, m.Kernel, m.Go, way)), "seed "+fmt.Sprint(s.Seed))
}

// invalidNotes say how many runs did not count, why, and whether they were repeated.
func invalidNotes(s *finding.Setup, cells []finding.Cell) []string {
	var again, lost reasons
	for i := range cells {
		runs := cells[i].Rounds
		for k := range runs {
			r := &runs[k]
			if r.Invalid == "" {
				continue
			}
			if slices.ContainsFunc(runs, func(o finding.Run) bool {
				return o.Round == r.Round && (o.Invalid == "" || o.Try > r.Try)
			}) {
				again.add(r.Invalid)
			} else {
				lost.add(r.Invalid)
			}
		}
	}
	var notes []string
	if s.Repeated > 0 {
		notes = append(notes, units.Plural(s.Repeated, "run")+" did not count and "+were(s.Repeated)+" repeated: "+
			again.text())
	}
	if s.Excluded > 0 {
		notes = append(notes, units.Plural(s.Excluded, "run")+" did not count"+": "+lost.text()+"; not replaced, left out")
	}
	return notes
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// reasons counts why runs did not count, or their notes; those that differ only in numbers are grouped.
type reasons []reason

type reason struct {
	key, example string
	runs         int
	differ       bool
}

func (all *reasons) add(why string) {
	key := withoutFigures(why)
	for i := range *all {
		if r := &(*all)[i]; r.key == key {
			r.runs, r.differ = r.runs+1, r.differ || r.example != why
			return
		}
	}
	*all = append(*all, reason{key, why, 1, false})
}

// text joins the reasons. Without any, the document does not hold the runs, and the text says so.
func (all reasons) text() string {
	if len(all) == 0 {
		return "the document does not hold the runs, so the reason is unknown"
	}
	var parts []string
	for _, r := range all {
		text := message.Clean(r.example)
		if what, figures, ok := strings.Cut(text, ": "); ok && !strings.Contains(figures, ": ") {
			if r.differ {
				figures = "for example " + figures
			}
			text = what + " (" + figures + ")"
		} else if r.differ {
			text = "for example " + text
		}
		if len(all) > 1 {
			text = fmt.Sprintf("%d \u00d7 %s", r.runs, text)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

var figures = regexp.MustCompile(`[0-9][0-9.,]*`)

// withoutFigures replaces the numbers in a note by 0, because they may differ between runs.
func withoutFigures(note string) string { return figures.ReplaceAllString(note, "0") }

// runNotes returns each note of the valid runs once, and the number of requests that the
// percentiles of a closed loop of users leave out.
func runNotes(cells []finding.Cell) []string {
	var remarks reasons
	var ended, unfinished int64
	several := false
	for i := range cells {
		c := &cells[i]
		several = several || c.Workload != cells[0].Workload
		for k := range c.Rounds {
			r := &c.Rounds[k]
			if r.Invalid != "" {
				continue
			}
			if closedLoop(c.Load) {
				ended, unfinished = ended+r.Ops, unfinished+r.Unfinished
			}
			if r.Note != "" {
				remarks.add(c.Workload + ": " + r.Note)
			}
		}
	}
	var notes []string
	for _, m := range remarks {
		text := m.example
		if !several {
			text = strings.TrimPrefix(text, cells[0].Workload+": ")
		}
		notes = append(notes, fmt.Sprintf("%s (%s)", message.Clean(text), units.Plural(m.runs, "run")))
	}
	if unfinished > 0 {
		text := units.Plural(unfinished, "request")
		text += units.If(ended > 0, " ("+units.Share(float64(unfinished)/float64(ended+unfinished))+")")
		notes = append(notes, text+" unfinished at the end of the window, and not in the percentiles")
	}
	return notes
}
