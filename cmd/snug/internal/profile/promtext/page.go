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
	b    strings.Builder
	name string
}

// Type is the type of a family.
type Type string

const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Family begins a family; add all its samples before the next family.
func (p *Page) Family(name, help string, of Type) {
	p.name = name
	p.b.WriteString("# HELP " + name + " " + strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(help) + "\n")
	p.b.WriteString("# TYPE " + name + " " + string(of) + "\n")
}

// Sample adds one series of the family. It leaves out labels without a value.
func (p *Page) Sample(value float64, labels ...Label) { p.sample("", value, labels) }

// Buckets adds a histogram of the family. atMost[i] counts the values up to bounds[i];
// bounds are in ascending order. sum and count are over all values; a sum of NaN is left out.
func (p *Page) Buckets(bounds []float64, atMost []uint64, sum float64, count uint64, labels ...Label) {
	for i, bound := range bounds {
		p.sample("_bucket", float64(atMost[i]), append(labels[:len(labels):len(labels)], Label{"le", written(bound)}))
	}
	p.sample("_bucket", float64(count), append(labels[:len(labels):len(labels)], Label{"le", "+Inf"}))
	if sum == sum {
		p.sample("_sum", sum, labels)
	}
	p.sample("_count", float64(count), labels)
}

func (p *Page) sample(suffix string, value float64, labels []Label) {
	p.b.WriteString(p.name + suffix)
	open := byte('{')
	for _, l := range labels {
		if l.Value == "" {
			continue
		}
		p.b.WriteByte(open)
		open = ','
		p.b.WriteString(l.Name + `="`)
		p.escaped(l.Value)
		p.b.WriteByte('"')
	}
	if open == ',' {
		p.b.WriteByte('}')
	}
	p.b.WriteString(" " + written(value) + "\n")
}

// escaped escapes a label's value and replaces invalid UTF-8.
func (p *Page) escaped(value string) {
	if !utf8.ValidString(value) {
		value = strings.ToValidUTF8(value, "\uFFFD")
	}
	for i := range len(value) {
		switch c := value[i]; c {
		case '\\', '"':
			p.b.WriteByte('\\')
			p.b.WriteByte(c)
		case '\n':
			p.b.WriteString(`\n`)
		default:
			p.b.WriteByte(c)
		}
	}
}

// written formats a value for Prometheus, including NaN, +Inf and -Inf.
func written(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// String returns the page so far.
func (p *Page) String() string { return p.b.String() }
