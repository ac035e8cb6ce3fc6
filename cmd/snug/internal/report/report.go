// SPDX-License-Identifier: Apache-2.0

// Package report renders documents. It knows nothing but the document: what is
// not in it is not printed, so that a saved one renders the same again.
package report

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// JSON writes a document as one line. What is not to be seen in its texts, or turns
// the order of what is behind it, is escaped: it may be shown on a terminal.
func JSON(w io.Writer, d finding.Document) error {
	line, err := finding.Encode(d)
	if err != nil {
		return err
	}
	_, err = w.Write(escaped(line))
	return err
}

// escaped is JSON with the runes of its strings that are not printable, beyond
// those that encoding/json escapes, as \u and four digits.
func escaped(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && unprintable(r) }
	if !bytes.ContainsFunc(text, odd) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Text writes a document for people: the verdict, a small table, the reasons,
// one next command.
func Text(w io.Writer, d finding.Document) error {
	var p page
	switch d := d.(type) {
	case *finding.Limits:
		p.limits(d)
	case *finding.Plan:
		p.plan(d)
	case *finding.Verdict:
		p.verdict(d)
	case *finding.Explanation:
		p.explanation(d)
	case *finding.Index:
		p.index(d)
	case *finding.Build:
		p.build(d)
	case *finding.Bench:
		p.bench(d)
	case *finding.Tune:
		p.tune(d)
	case *finding.PS:
		p.ps(d)
	case *finding.Node:
		p.node(d)
	case *finding.Doctor:
		p.doctor(d)
	case *finding.Profile:
		p.profile(d)
	case *finding.Vet:
		p.vet(d)
	case *finding.Trace:
		p.trace(d)
	case *finding.Lint:
		p.lint(d)
	case *finding.Policy:
		p.WriteString(d.YAML)
	case *finding.Given:
		p.given(d)
	default:
		return fmt.Errorf("no text for a document of kind %s", kindOf(d))
	}
	_, err := io.WriteString(w, p.String())
	return err
}

// kindOf is the kind of a document, as its JSON names it.
func kindOf(d finding.Document) string {
	switch d.(type) {
	case *finding.Limits:
		return finding.KindLimits
	case *finding.Plan:
		return finding.KindPlan
	case *finding.Verdict:
		return finding.KindVerdict
	case *finding.Explanation:
		return finding.KindExplain
	case *finding.Index:
		return finding.KindIndex
	case *finding.Build:
		return finding.KindVersion
	case *finding.Bench:
		return finding.KindBench
	case *finding.Tune:
		return finding.KindTune
	case *finding.PS:
		return finding.KindPS
	case *finding.Doctor:
		return finding.KindDoctor
	case *finding.Profile:
		return finding.KindProfile
	case *finding.Vet:
		return finding.KindVet
	case *finding.Trace:
		return finding.KindTrace
	case *finding.Watch:
		return finding.KindTop
	case *finding.Node:
		return finding.KindAgent
	case *finding.Lint:
		return finding.KindLint
	case *finding.Policy:
		return finding.KindPolicy
	case *finding.Given:
		return finding.KindGiven
	}
	return "unknown"
}

// page collects the lines of one answer.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// table writes rows in columns. Cells that are empty at the end of a row leave
// no blanks behind.
func (p *page) table(rows [][]string) {
	var b strings.Builder
	tw := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(tw, strings.Join(row, "\t"))
	}
	tw.Flush()
	for line := range strings.Lines(b.String()) {
		p.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
}

// notes are what a reader must know about the figures above.
func (p *page) notes(warnings []finding.Warning, unknown []finding.Gap) {
	if len(warnings)+len(unknown) > 0 {
		p.line("")
	}
	for _, w := range warnings {
		p.line("warning: %s [%s]", worded(w.Text), Clean(w.Code))
	}
	for _, g := range unknown {
		p.line("unknown: %s, %s: %s", worded(g.Field), Clean(g.File), worded(g.Why))
	}
}

func (p *page) next(command string) {
	if command != "" {
		p.line("")
		p.line("next: %s", Clean(command))
	}
}

func (p *page) target(t finding.Target) {
	switch {
	case t.PID == nil && t.Root == nil:
		p.line("for this process; --pid N reads another, --root DIR another tree")
	case t.PID == nil:
		p.line("for proc/self of %s; --pid N reads another process there", Clean(*t.Root))
	case t.Root == nil:
		p.line("for process %d", *t.PID)
	default:
		p.line("for process %d of %s", *t.PID, Clean(*t.Root))
	}
}

func (p *page) explanation(d *finding.Explanation) {
	p.line("%s: %s", d.ID, d.Title)
	p.line("")
	p.WriteString(d.Text)
}

func (p *page) index(d *finding.Index) {
	p.line("%d ids of what snug can say", len(d.Entries))
	p.line("")
	rows := [][]string{}
	for _, e := range d.Entries {
		rows = append(rows, []string{e.ID, e.Class, e.Title})
	}
	p.table(rows)
	p.next(d.Next)
}

func (p *page) build(d *finding.Build) {
	p.line("snug %s (%s, %s/%s)", d.Version, d.Go, d.OS, d.Arch)
	if d.Commit != nil {
		changed := ""
		if d.Changed {
			changed = ", with changes"
		}
		p.line("commit %s%s", *d.Commit, changed)
	}
}

// Clean makes other people's text safe for a terminal: what is not printable
// becomes its escape, so that nothing in a file can pretend to be output.
func Clean(s string) string {
	if !strings.ContainsFunc(s, unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if unprintable(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }

// from is a source as "file: text". A variable is not a file, and the reason
// quotes it.
func from(s *finding.Source) string {
	switch {
	case s == nil || s.File == "":
		return ""
	case !strings.HasPrefix(s.File, "/"):
		return "the environment"
	}
	raw := []rune(Clean(s.Raw))
	if len(raw) > 60 {
		raw = append(raw[:57], '.', '.', '.')
	}
	return Clean(s.File) + ": " + string(raw)
}

// number prints at most three decimals.
func number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func plural[T int | int64 | float64](n T, word string) string {
	if n != 1 {
		word += "s"
	}
	return number(float64(n)) + " " + word
}

// size prints bytes for people: 512 MiB, 1.5 GiB.
func size(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	x, i := float64(n), 0
	for x >= 1024 && i < len(units)-1 {
		x, i = x/1024, i+1
	}
	s := strconv.FormatFloat(x, 'f', 1, 64)
	return strings.TrimSuffix(s, ".0") + " " + units[i]
}

// seconds prints a duration in the unit that suits it.
func seconds(s float64) string {
	switch {
	case s >= 3600:
		return number(s/3600) + " h"
	case s >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 2, 64), ".00") + " s"
	}
	return number(s*1000) + " ms"
}

// percent prints a ratio.
func percent(r float64) string {
	if r > 0 && r < 0.001 {
		return "under 0.1 %"
	}
	return strings.TrimSuffix(strconv.FormatFloat(r*100, 'f', 1, 64), ".0") + " %"
}
