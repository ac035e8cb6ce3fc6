// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/quantity"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// formatted is a number that a reference gives.
func formatted(n int64) string { return strconv.FormatInt(n, 10) }

// valueType finds values that Kubernetes does not read as text.
func valueType(s *subject) {
	for _, name := range knobNames {
		k := s.knobs[name]
		if k == nil || k.from != "" {
			continue
		}
		for _, e := range append(k.earlier, k.env) {
			if e.From == manifest.Literal && e.Value.Set() && !e.Value.String && plain(e.Value.Text) {
				s.notText(s.o, e)
			}
		}
	}
}

func (s *subject) notText(o *manifest.Object, e *manifest.Env) {
	f := s.report("env-value-type", finding.SeverityError, o.EnvAt(e),
		"the value of "+e.Name+" is "+e.Value.Text+" without quotes, which is not a string: the API server refuses the object",
		`write "`+e.Value.Text+`"`)
	f.edit(o.Replace(e.Value, e.Value.Text))
}

// values judges texts as the runtime of Go reads them at start.
func values(s *subject) {
	for _, name := range knobNames {
		// What is in a ConfigMap is judged there, what a reference gives by rules
		// of its own.
		k := s.knobs[name]
		switch {
		case k.literal() && k.known && !(k.via != nil && k.unit == ""):
			s.judge(s.o, k.env, k.text)
		case k != nil && k.known && k.entry != nil && k.env.Name != name:
			s.judgeKey(k)
		}
	}
}

func (s *subject) judge(o *manifest.Object, e *manifest.Env, text string) {
	for _, p := range vet.Knob(e.Name, text) {
		fix := ""
		if p.Fix != "" {
			fix = "write " + p.Fix
		}
		message := p.Text
		switch {
		case strings.Contains(text, "$("):
			message += "; no variable of that name is set before it, so the reference is not expanded"
			fix = ""
		case text != e.Value.Text:
			message += "; the manifest says " + e.Value.Text
			fix = ""
		}
		// Where it is not likely what was meant, the limit tells what would be right.
		guess := p.ID == "gomemlimit-malformed" && (p.Fix == "" || s.beyond(p.Fix))
		if guess && text == e.Value.Text && !strings.Contains(text, "$(") {
			fix = s.fitting()
		}
		f := s.report(p.ID, severityOf(p.ID), o.EnvAt(e), message, fix)
		// Where the unit is only likely, a person decides.
		if p.ID == "gomemlimit-malformed" && !guess && fix != "" {
			f.edit(o.Replace(e.Value, p.Fix))
		}
	}
}

// fitting says what GOMEMLIMIT the container should get; "" = that is not known.
func (s *subject) fitting() string {
	if s.c == nil {
		return ""
	}
	if value, ok := strings.CutPrefix(s.memlimitFix(), "GOMEMLIMIT="); ok {
		return "write " + value
	}
	return ""
}

// beyond tells whether a GOMEMLIMIT is above the memory limit, as far as it is
// known: 512MiB is where 512M is the limit.
func (s *subject) beyond(text string) bool {
	if s.c == nil {
		return false
	}
	limit, ok := s.memoryLimit()
	n, is := bytesOf(text)
	return ok && is && n > limit.q.Value()
}

// judgeKey judges what a key of a ConfigMap gives that is not named like the
// variable: only who takes it knows what it is.
func (s *subject) judgeKey(k *knob) {
	for _, p := range vet.Knob(k.name, k.text) {
		fix := ""
		if p.Fix != "" {
			fix = "write " + p.Fix
		}
		s.report(p.ID, severityOf(p.ID), s.at(k), p.Text+"; the value is from the key "+k.env.Name+" of the ConfigMap "+k.from, fix)
	}
}

// configMap judges variables in a ConfigMap or a file, whoever takes them.
func (in *input) configMap(o *manifest.Object, e *manifest.Env) {
	s := &subject{in: in, o: o}
	if e.From != manifest.Literal || !plain(e.Value.Text) || strings.Contains(e.Value.Text, "$") {
		return
	}
	if !e.Value.String {
		s.notText(o, e)
	}
	s.judge(o, e, e.Value.Text)
}

// bytesOf is a GOMEMLIMIT in bytes; false for off and for what Go does not take.
func bytesOf(text string) (int64, bool) {
	if text == "" || text == "off" {
		return 0, false
	}
	for _, p := range vet.Knob("GOMEMLIMIT", text) {
		if p.ID == "gomemlimit-malformed" {
			return 0, false
		}
	}
	q, ok := quantity.Parse(strings.TrimSuffix(text, "B"))
	return q.Value(), ok && q.Value() < math.MaxInt64
}

// procsOf is a GOMAXPROCS; false for what Go does not take.
func procsOf(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return n, err == nil && n > 0
}

// memlimitSet tells whether a GOMEMLIMIT bounds the heap, as far as can be seen.
func (s *subject) memlimitSet() bool {
	k := s.knobs["GOMEMLIMIT"]
	return k != nil && !(k.known && (k.text == "off" || k.text == "")) || s.opaque() || s.c.Partial() || s.program.Automemlimit != "" || s.knobs["AUTOMEMLIMIT"] != nil
}

// gogcOff finds collectors that nothing turns on again.
func gogcOff(s *subject) {
	if k := s.knobs["GOGC"]; k != nil && k.known && k.text == "off" && !s.memlimitSet() {
		s.report("gogc-off-alone", severityOf("gogc-off-alone"), s.at(k),
			"GOGC=off without a GOMEMLIMIT: garbage is never collected, and the heap grows until the "+s.noun()+" is killed",
			s.memlimitFix())
	}
}

// at is where a variable of the container is written, or named where a ConfigMap
// has its value; the container where that is for all.
func (s *subject) at(k *knob) manifest.Pos {
	if k.entry != nil {
		return s.o.NameAt(k.entry)
	}
	if k.in != s.o {
		return s.c.At()
	}
	return k.in.EnvAt(k.env)
}
