// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// metricWords replaces the keys of metrics in a text by their words. Keys without "_" stay.
var metricWords = func() *strings.Replacer {
	var pairs []string
	for _, m := range Metrics {
		if strings.Contains(m.Key, "_") {
			pairs = append(pairs, m.Key, m.Words)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Readable makes a sentence from a document safe and readable, with metrics in words
// and sizes in suitable units.
func Readable(s string) string { return humanBytes(metricWords.Replace(message.Clean(s))) }

// sizeInBytes matches sizes in Go's syntax, such as 104857600B, which are too long to compare at a glance.
var sizeInBytes = regexp.MustCompile(`\b[0-9]{4,18}B\b`)

func humanBytes(s string) string {
	return sizeInBytes.ReplaceAllStringFunc(s, func(size string) string {
		n, err := strconv.ParseInt(strings.TrimSuffix(size, "B"), 10, 64)
		if err != nil {
			return size
		}
		return units.Bytes(n)
	})
}

// LimitText formats a GOMEMLIMIT for people; the exact text is in the forms to
// paste. Without a unit it counts bytes.
func LimitText(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		v += "B"
	}
	return humanBytes(message.Clean(v))
}

// ValueText formats the value of a knob for people.
func ValueText(knob, v string) string {
	switch {
	case v == "":
		return "unset"
	case knob == "GOMEMLIMIT":
		return LimitText(v)
	case knob == "burst":
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
			return units.Duration(float64(n) / 1e6)
		} else if err == nil && n == 0 {
			return "unset"
		}
	}
	return message.Clean(v)
}

// GoDefault is the name of a setting without variables.
const GoDefault = "Go's default"

// SettingText formats the setting of an arm: GOMAXPROCS=1 GOGC=400, or Go's default.
func SettingText(a finding.Arm) string {
	var parts []string
	for _, v := range []struct{ name, value string }{
		{"GOMAXPROCS", a.GOMAXPROCS}, {"GOGC", a.GOGC}, {"GOMEMLIMIT", a.GOMEMLIMIT},
	} {
		if v.value != "" {
			parts = append(parts, v.name+"="+v.value)
		}
	}
	parts = append(parts, a.Vars.List()...)
	if a.Burst > 0 {
		parts = append(parts, "burst "+units.Two(float64(a.Burst)/1000)+" ms")
	}
	if a.Replicas > 1 {
		parts = append(parts, "in "+units.Plural(a.Replicas, "container"))
	}
	if len(parts) == 0 {
		return GoDefault
	}
	return strings.Join(parts, " ")
}
