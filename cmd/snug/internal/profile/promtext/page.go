// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// ContentType is that of a Page.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Page writes metrics in Prometheus' text format, as other programs' are read here.
// It is here because the client library's protocol buffers open the executable before
// main, whatever the command: without a file descriptor to spare `snug run` would not
// start its program.
type Page struct {
	b    strings.Builder
	name string
}

// Type is what a family counts.
type Type string

const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Family begins a family; all its samples follow, before the next one.
func (p *Page) Family(name, help string, of Type) {
	p.name = name
	p.b.WriteString("# HELP " + name + " " + strings.NewReplacer("\\", `\\`, "\n", `\n`).Replace(help) + "\n")
	p.b.WriteString("# TYPE " + name + " " + string(of) + "\n")
}

// Sample adds one series of the family. Labels without a value are left out.
func (p *Page) Sample(value float64, labels ...Label) { p.sample("", value, labels) }

// Buckets adds a histogram of the family: how many values were at most each of the
// bounds, which rise, their sum, and how many there were in all.
func (p *Page) Buckets(bounds []float64, atMost []uint64, sum float64, count uint64, labels ...Label) {
	for i, bound := range bounds {
		p.sample("_bucket", float64(atMost[i]), append(labels[:len(labels):len(labels)], Label{"le", written(bound)}))
	}
	p.sample("_bucket", float64(count), append(labels[:len(labels):len(labels)], Label{"le", "+Inf"}))
	p.sample("_sum", sum, labels)
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

// escaped writes a label's value; what is no UTF-8 is replaced.
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

// written is a value as Prometheus reads it: NaN, +Inf and -Inf among them.
func written(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// String is the page so far.
func (p *Page) String() string { return p.b.String() }
