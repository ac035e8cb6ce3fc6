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

// formatted formats the number that a reference gives.
func formatted(n int64) string { return strconv.FormatInt(n, 10) }

// valueType finds values that are not strings.
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
		"the value of "+e.Name+" is "+e.Value.Text+
			" without quotes, which is not a string: the API server refuses the object",
		`write "`+e.Value.Text+`"`)
	f.edit(o.Replace(e.Value, e.Value.Text))
}

// values checks literals as the Go runtime parses them at start.
func values(s *subject) {
	for _, name := range knobNames {
		// configMap checks ConfigMaps; other rules check references.
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
		// If the likely meaning is the limit or above it, or there is none, the limit gives the fix.
		over, whole := s.beyond(p.Fix)
		guess := p.ID == "gomemlimit-malformed" && (p.Fix == "" || over)
		whole = whole && p.ID == "gomemlimit-malformed"
		if (guess || whole) && text == e.Value.Text && !strings.Contains(text, "$(") {
			if p.Fix = s.fitting(); p.Fix != "" {
				fix = "write " + p.Fix
			} else {
				fix, guess = "", true
			}
		}
		f := s.report(p.ID, severityOf(p.ID), o.EnvAt(e), message, fix)
		// A person decides if the unit is only a guess.
		if p.ID == "gomemlimit-malformed" && !guess && fix != "" {
			f.edit(o.Replace(e.Value, p.Fix))
		}
	}
}

// fitting returns the GOMEMLIMIT that the container should get; "" = unknown.
func (s *subject) fitting() string {
	if s.c == nil {
		return ""
	}
	if value, ok := strings.CutPrefix(s.memlimitFix(), "GOMEMLIMIT="); ok {
		return value
	}
	return ""
}

// beyond reports whether a GOMEMLIMIT is above a known memory limit, as 512MiB is above 512M, or is the limit.
func (s *subject) beyond(text string) (above, equal bool) {
	if s.c == nil {
		return false, false
	}
	limit, ok := s.memoryLimit()
	n, is := bytesOf(text)
	return ok && is && n > limit.q.Value(), ok && is && n == limit.q.Value()
}

// judgeKey checks a value from a ConfigMap whose key is not the name of the variable. Only
// the reference to the key shows what it is.
func (s *subject) judgeKey(k *knob) {
	for _, p := range vet.Knob(k.name, k.text) {
		fix := ""
		if p.Fix != "" {
			fix = "write " + p.Fix
		}
		message := p.Text + "; the value is from the key " + k.env.Name + " of the ConfigMap " + k.from
		s.report(p.ID, severityOf(p.ID), s.at(k), message, fix)
	}
}

// configMap checks the variables in a ConfigMap or a file, used or not.
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

// bytesOf parses a GOMEMLIMIT, in bytes; false for off and for what Go does not accept.
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

// procsOf parses a GOMAXPROCS; false for what Go does not accept.
func procsOf(text string) (int64, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	return n, err == nil && n > 0
}

// memlimitSet reports whether a memory limit of Go bounds the heap, or may.
func (s *subject) memlimitSet() bool {
	k := s.knobs["GOMEMLIMIT"]
	set := k != nil && !(k.known && (k.text == "off" || k.text == ""))
	return set || s.opaque() || s.c.Partial() || s.knobs["AUTOMEMLIMIT"] != nil
}

// gogcOff finds GOGC=off without a GOMEMLIMIT.
func gogcOff(s *subject) {
	if k := s.knobs["GOGC"]; k != nil && k.known && k.text == "off" && !s.memlimitSet() {
		s.report("gogc-off-alone", severityOf("gogc-off-alone"), s.at(k),
			"GOGC=off without a GOMEMLIMIT: garbage is never collected, and the heap grows until the "+s.noun()+" is killed",
			s.memlimitFix())
	}
}

// at returns where a variable of the container is written; the entry that names it if a
// ConfigMap has the value; the container if all variables are from there.
func (s *subject) at(k *knob) manifest.Pos {
	if k.entry != nil {
		return s.o.NameAt(k.entry)
	}
	if k.in != s.o {
		return s.c.At()
	}
	return k.in.EnvAt(k.env)
}
