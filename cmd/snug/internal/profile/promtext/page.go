// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ContentType is the content type of a Page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page writes metrics in Prometheus' text format. snug does not use the client library, because
// its protocol buffers open the executable before main for every command: without a free file
// descriptor, `snug run` could not start its program.
type Page struct {
	b    []byte
	name string
}

// Type is the type of a family.
type Type string

const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Labels is the text of labels, without the braces: a="1",b="2". Series that have the same
// labels can share it.
type Labels string

// Text returns the text of labels. It leaves out those without a value.
func Text(labels ...Label) Labels {
	var b []byte
	for _, l := range labels {
		if l.Value == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, ',')
		}
		b = append(append(b, l.Name...), `="`...)
		b = append(escaped(b, l.Value), '"')
	}
	return Labels(b)
}

// escaped adds a label's value, and replaces invalid UTF-8.
func escaped(b []byte, value string) []byte {
	if !utf8.ValidString(value) {
		value = strings.ToValidUTF8(value, "\uFFFD")
	}
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, `\n`...)
		default:
			b = append(b, c)
		}
	}
	return b
}

var inHelp = strings.NewReplacer("\\", `\\`, "\n", `\n`)

// Family begins a family; add all its samples before the next family.
func (p *Page) Family(name, help string, of Type) {
	p.name = name
	p.b = append(p.b, "# HELP "+name+" "+inHelp.Replace(help)+"\n# TYPE "+name+" "+string(of)+"\n"...)
}

// Again continues a family that another page has begun.
func (p *Page) Again(name string) { p.name = name }

// Reset empties the page, and keeps its room.
func (p *Page) Reset() { p.b = p.b[:0] }

// Sample adds one series of the family.
func (p *Page) Sample(value float64, labels Labels) { p.sample("", value, labels, "") }

// Buckets adds a histogram of the family. atMost[i] counts the values up to bounds[i];
// bounds are in ascending order. sum and count are over all values; a sum of NaN is left out.
func (p *Page) Buckets(bounds []float64, atMost []uint64, sum float64, count uint64, labels Labels) {
	for i, bound := range bounds {
		p.sample("_bucket", float64(atMost[i]), labels, strconv.FormatFloat(bound, 'g', -1, 64))
	}
	p.sample("_bucket", float64(count), labels, "+Inf")
	if sum == sum {
		p.sample("_sum", sum, labels, "")
	}
	p.sample("_count", float64(count), labels, "")
}

// sample adds a series. le is the label of that name; "" = none.
func (p *Page) sample(suffix string, value float64, labels Labels, le string) {
	b := append(append(p.b, p.name...), suffix...)
	if labels != "" || le != "" {
		b = append(append(b, '{'), labels...)
		if labels != "" && le != "" {
			b = append(b, ',')
		}
		if le != "" {
			b = append(append(append(b, `le="`...), le...), '"')
		}
		b = append(b, '}')
	}
	// Including NaN, +Inf and -Inf, as Prometheus reads them.
	p.b = append(strconv.AppendFloat(append(b, ' '), value, 'g', -1, 64), '\n')
}

// Bytes returns the page so far, until more is added.
func (p *Page) Bytes() []byte { return p.b }

// String returns the page so far.
func (p *Page) String() string { return string(p.b) }
