// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// WorkloadName returns the name of a workload's containers: "shop/Deployment/web/app".
func WorkloadName(parts ...*string) string {
	var words []string
	for _, s := range parts {
		if s != nil {
			words = append(words, *s)
		}
	}
	if len(words) == 0 {
		return "?"
	}
	return strings.Join(words, "/")
}

// Span prints the figures of several containers: "2", "2 to 64", "-" if all are none.
func Span[T any](s finding.Span[T], print func(T) string) string {
	text := Figure(s.Least, print)
	if s.Most.Known() {
		if last := print(s.Most.N); last != text {
			text += " to " + last
		}
		if s.None > 0 {
			text += " or " + units.None
		}
	}
	return text
}
