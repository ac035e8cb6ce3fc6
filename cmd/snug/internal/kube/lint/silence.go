// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// IgnoreAnnotation silences findings in a pod, or in all of an object: "ID
// reason", more of them parted by semicolons or line feeds. Without a reason it
// silences nothing.
const IgnoreAnnotation = podpatch.Prefix + "ignore"

// silenced tells whether a person has said that a finding is none, in an
// annotation, or in a comment on its line or the line above:
//
//	# snug:ignore ID reason
func (in *input) silenced(f *Found) bool {
	if f.ID == "ignore-without-reason" {
		return false
	}
	fields := f.Object.Annotations(IgnoreAnnotation)
	if f.pod != nil {
		fields = f.pod.Annotations(IgnoreAnnotation)
	}
	for _, field := range fields {
		for _, o := range orders(field.Text) {
			if o.reason && o.id == f.ID {
				return true
			}
		}
	}
	file := f.Object.File()
	for _, line := range []string{file.Line(f.At.Line), file.Line(f.At.Line - 1)} {
		_, comment, ok := strings.Cut(line, "#")
		if !ok {
			continue
		}
		if id, reason, ok := vet.Ignore(strings.TrimSpace(comment)); ok && reason && id == f.ID {
			return true
		}
	}
	return false
}

type order struct {
	id     string
	reason bool
}

func orders(text string) []order {
	var all []order
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		if words := strings.Fields(part); len(words) > 0 {
			all = append(all, order{words[0], len(words) > 1})
		}
	}
	return all
}

// badIgnore finds annotations that silence nothing.
func badIgnore(s *subject) {
	for _, field := range s.p.Annotations(IgnoreAnnotation) {
		for _, o := range orders(field.Text) {
			what := ""
			switch {
			case !slices.Contains(ids(), o.id):
				what = "names " + o.id + ", which is no finding of snug lint"
			case !o.reason:
				what = "gives no reason for " + o.id + ", so it silences nothing"
			default:
				continue
			}
			s.report("ignore-without-reason", finding.SeverityWarning, s.o.FieldAt(field), "the annotation "+IgnoreAnnotation+" "+what, IgnoreAnnotation+`: "ID reason"`)
		}
	}
}
