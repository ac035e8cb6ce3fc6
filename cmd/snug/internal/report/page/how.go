// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Sentence capitalises the first letter of a text, unless it begins with the name of a
// program or variable.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s, " ")
	if !unicode.IsLower(r) || strings.ContainsAny(word, "/=._;") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// facts returns the facts below the verdict.
func facts(s *finding.Setup, cells []finding.Cell, planned bool) []string {
	var f []string
	if len(cells) == 0 {
		f = append(f, "nothing was measured")
	} else if rounds := content.RoundsText(s, cells, planned); rounds != "" {
		f = append(f, rounds)
	}
	if s.Seconds > 0 {
		f = append(f, content.Whole(s.Seconds)+" in all")
	}
	m := &s.Machine
	if m.CPUs > 0 {
		f = append(f, units.Plural(m.CPUs, "CPU")+" here")
	}
	if m.Go != "" {
		f = append(f, message.Clean(m.Go))
	}
	if !s.Started.IsZero() {
		f = append(f, s.Started.UTC().Format("2 January 2006"))
	}
	return f
}

// how describes the measurement in plain words.
func how(s *finding.Setup, cells []finding.Cell) []fact {
	var f []fact
	add := func(name, text string) {
		if text != "" {
			f = append(f, fact{name, text})
		}
	}
	if len(cells) == 0 && s.Rounds == 0 {
		add("Measured", "nothing was measured")
		return f
	}
	switch {
	case len(s.Command) > 0:
		add("Program", message.Clean(strings.Join(s.Command, " ")))
	case s.URL != "":
		add("Service", message.Clean(s.URL))
	}
	design := "Each run is a fresh process in a fresh cgroup. A round holds every setting once, in an order shuffled by the seed, and settings are compared within rounds."
	if s.NoLimit {
		design = "Each run is a fresh process without any quota. A round holds every setting once, in an order shuffled by the seed, and settings are compared within rounds."
	}
	add("Design", design)
	rounds := units.Plural(s.Rounds, "round") + " planned"
	if content.Windowed(s, cells) {
		rounds += ", each measured for " + units.Duration(s.Window)
	}
	if s.WarmUp > 0 {
		rounds += " after a warm-up of " + units.Duration(s.WarmUp)
	}
	add("Rounds", rounds)
	add("Numbers", "A cell of a table is the median of its valid rounds; P99.9 is of all rounds together. An interval is exact, from order statistics"+confidence(cells)+
		". Differences are of paired rounds (Hodges-Lehmann, Wilcoxon, Holm).")
	repeats := "none"
	if s.Repeated+s.Excluded > 0 {
		repeats = fmt.Sprintf("%s repeated, %s left out", units.Plural(s.Repeated, "run"), units.Plural(s.Excluded, "run"))
	}
	add("Runs that did not count", repeats)
	for _, c := range s.Capacities {
		add("Capacity", fmt.Sprintf("%s with %s: the default served %s/s; loads in %% are of it", message.Clean(content.ProgramName(s, c.Workload)), content.Quota(c.Quota), units.Rate(c.RPS)))
	}
	add("Prepared by", message.Clean(s.Prepare))
	add("Loaded by", message.Clean(s.LoadCommand))
	add("Requests", requestText(s.Request))
	add("Load generator", generatorText(s, cells))
	if s.Probe > 0 {
		add("Stall probe", "one thread per P of the program spins for "+units.Duration(s.Probe)+" in each run, outside its window")
	}
	way := message.Clean(s.Machine.CgroupWay)
	if s.NoLimit {
		way = "none: no quota was enforced"
	}
	add("Cgroups", way)
	add("Machine", machine(&s.Machine))
	add("Seed", strconv.FormatUint(s.Seed, 10)+" (order, arrivals, bootstrap)")
	if !s.Started.IsZero() {
		add("Started", s.Started.UTC().Format("2006-01-02 15:04:05 UTC")+", took "+content.Whole(s.Seconds))
	}
	return f
}

// confidence returns the confidence of the intervals, or its range.
func confidence(cells []finding.Cell) string {
	low, high := 2.0, 0.0
	for i := range cells {
		for _, iv := range cells[i].Intervals {
			low, high = min(low, iv.Confidence), max(high, iv.Confidence)
		}
	}
	switch {
	case low > high || units.Odd(low) || units.Odd(high):
		return ""
	case units.Share(low) == units.Share(high):
		return ", with a confidence of " + units.Share(low)
	}
	return ", with a confidence of " + units.Share(low) + " to " + units.Share(high)
}

// requestText describes the requests, without what may be secret.
func requestText(r *finding.Request) string {
	if r == nil || r.Method == "" { // the load command's requests are unknown
		return ""
	}
	parts := []string{message.Clean(r.Method)}
	switch {
	case r.GRPC != "":
		parts[0] = "gRPC " + message.Clean(r.GRPC)
	case r.HTTP2:
		parts[0] += " by HTTP/2"
	}
	if len(r.Headers) > 0 {
		parts[0] += " with the headers " + message.Clean(strings.Join(r.Headers, ", "))
	}
	if r.BodySHA256 != "" {
		parts = append(parts, "a body with the SHA-256 sum "+message.Clean(r.BodySHA256))
	}
	if r.Timeout > 0 {
		parts = append(parts, "timeout "+units.Duration(r.Timeout))
	}
	if r.Connections > 0 {
		parts = append(parts, units.Plural(r.Connections, "connection")+" in a saturated closed loop")
	}
	return strings.Join(parts, "; ")
}

// generatorText describes the load generator and how late its requests were.
func generatorText(s *finding.Setup, cells []finding.Cell) string {
	late, worst, n := 0.0, 0.0, 0
	for i := range cells {
		for k := range cells[i].Rounds {
			if r := &cells[i].Rounds[k]; r.Generator != nil && r.Invalid == "" {
				if a, b := r.Generator.LatenessP99, r.Generator.LatenessMax; a != nil && b != nil {
					late, worst, n = max(late, *a), max(worst, *b), n+1
				}
			}
		}
	}
	var parts []string
	if s.Machine.Generator != "" {
		parts = append(parts, "outside the cgroup, "+message.Clean(s.Machine.Generator))
	}
	if n > 0 {
		parts = append(parts, "requests started at most "+units.Duration(late)+" late (P99 of the latest run), "+units.Duration(worst)+" at worst")
	}
	return strings.Join(parts, "; ")
}

func machine(m *finding.Machine) string {
	var parts []string
	for _, v := range []string{m.OS + "/" + m.Arch, m.Kernel, m.CPUModel} {
		if strings.Trim(v, "/") != "" {
			parts = append(parts, message.Clean(v))
		}
	}
	if m.CPUs > 0 {
		parts = append(parts, units.Plural(m.CPUs, "CPU")+" usable")
	}
	if m.Memory > 0 {
		parts = append(parts, units.Bytes(m.Memory)+" of memory")
	}
	if m.Go != "" {
		parts = append(parts, "the program built with "+message.Clean(m.Go))
	}
	return strings.Join(parts, ", ")
}

// maxRuns is the maximum number of raw runs on a page; the download has all.
const maxRuns = 400

// runsTable lists all runs in order, including those that did not count.
func runsTable(cells []finding.Cell) table {
	type run struct {
		cell *finding.Cell
		*finding.Run
	}
	var all []run
	for i := range cells {
		for k := range cells[i].Rounds {
			all = append(all, run{&cells[i], &cells[i].Rounds[k]})
		}
	}
	slices.SortStableFunc(all, func(a, b run) int {
		return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.Round, b.Round), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Try, b.Try))
	})
	caption := units.Plural(len(all), "run")
	if len(all) > maxRuns {
		all = all[:maxRuns]
		caption = fmt.Sprintf("The first %d of %s; the download has all", maxRuns, caption)
	}
	var names, loads, rounds, counts, notes []string
	for _, r := range all {
		names, loads = append(names, content.ArmName(r.cell)), append(loads, message.Clean(r.cell.Workload)+", "+content.Quota(r.cell.Quota)+", "+message.Clean(r.cell.Load))
		rounds = append(rounds, fmt.Sprintf("%d.%d", r.Round+1, r.Order+1))
		counts = append(counts, countsOf(r.Counts))
		note := "valid"
		if r.Invalid != "" {
			note = "not counted: " + message.Clean(r.Invalid)
		}
		if r.Exit != "" {
			note += ", " + message.Clean(r.Exit)
		}
		if r.Try > 0 {
			note += fmt.Sprintf(" (repetition %d)", r.Try)
		}
		notes = append(notes, note)
	}
	var g content.Grid
	g.Key("round", rounds)
	g.Text("setting", names)
	g.Text("where", loads)
	for i := range metric.Metrics {
		m := &metric.Metrics[i]
		if m.Run == nil || m.Aside {
			continue
		}
		values := make([]*float64, len(all))
		for k, r := range all {
			values[k] = m.Run(r.Run)
		}
		if column := m.Print(values); content.Measured(column) {
			g.Add(m.Head, column)
		}
	}
	if content.Measured(counts) {
		g.Text("also", counts)
	}
	g.Text("counts", notes)
	if len(all) == 0 {
		return table{}
	}
	return tableOf(caption, g)
}

// countsOf lists the further figures of a run, by name.
func countsOf(counts map[string]int64) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, message.Clean(name)+" "+strconv.FormatInt(counts[name], 10))
	}
	return content.OrNone(strings.Join(parts, ", "), len(parts) == 0)
}

// maxJSON is the maximum size in bytes of JSON that a page shows besides the download.
const maxJSON = 1 << 20

// embed puts the document into the page.
func (v *view) embed(d finding.Document) error {
	data, err := finding.Encode(d)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	v.Data = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed.Bytes()))
	v.Size, v.Full = units.Bytes(int64(packed.Len())), units.Bytes(int64(len(data)))
	if len(data) <= maxJSON {
		v.JSON = string(data)
	}
	return nil
}
