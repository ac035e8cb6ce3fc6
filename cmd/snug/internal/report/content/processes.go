// SPDX-License-Identifier: Apache-2.0

package content

import (
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Setters maps sources of GOMAXPROCS to words short enough for a column.
var Setters = map[string]string{"environment": "env", "code": "code", "runtime": "quota", "host": "host"}

func PsRow(r *finding.Process) []string {
	row := []string{strconv.Itoa(r.PID), message.Clean(path.Base(r.Exe))}
	add := func(field, value string, known bool) {
		switch {
		case known:
		case MissingIn(r.Unknown, field):
			value = "?"
		default:
			value = units.None
		}
		row = append(row, value)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return message.Clean(*s)
	}
	bytes := func(n *int64) string {
		if n == nil {
			return ""
		}
		return units.Bytes(*n)
	}
	add("go_version", GoShort(text(r.GoVersion)), r.GoVersion != nil)
	procs := ""
	if r.GOMAXPROCS != nil {
		procs = strconv.Itoa(*r.GOMAXPROCS)
	}
	add("gomaxprocs", procs, r.GOMAXPROCS != nil)
	by := text(r.GOMAXPROCSSource)
	if s, ok := Setters[by]; ok {
		by = s
	}
	add("gomaxprocs_source", by, r.GOMAXPROCSSource != nil)
	quota, throttled, gogc := "", "", ""
	if r.Quota != nil {
		if quota = units.Number(*r.Quota); *r.Quota >= 1e15 {
			quota = units.Figures(*r.Quota, 3)
		}
	}
	if r.Throttled != nil {
		throttled = units.Share(*r.Throttled)
	}
	if r.GOGC != nil {
		if gogc = strconv.FormatInt(r.GOGC.N, 10); r.GOGC.Off {
			gogc = "off"
		}
	}
	add("quota_cores", quota, r.Quota != nil)
	add("throttled_ratio", throttled, r.Throttled != nil)
	add("memory_bytes", bytes(r.Memory), r.Memory != nil)
	add("memory_limit_bytes", bytes(r.MemoryLimit), r.MemoryLimit != nil)
	add("gomemlimit_bytes", bytes(r.GOMEMLIMIT), r.GOMEMLIMIT != nil)
	add("gogc_percent", gogc, r.GOGC != nil)
	worst := units.None
	if len(r.Findings) > 0 {
		worst = message.Clean(string(r.Findings[0].Severity)) + ": " + message.Clean(r.Findings[0].ID)
		if more := len(r.Findings) - 1; more > 0 {
			worst += " +" + strconv.Itoa(more)
		}
	}
	return append(row, worst)
}

// GoShort returns a Go version without "go".
func GoShort(v string) string {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "go"), " ")
	return v
}

// Processes formats a count of a word whose plural ends in "es".
func Processes(n int, word string) string {
	if n != 1 {
		word += "es"
	}
	return strconv.Itoa(n) + " " + word
}

func MissingIn(unknown []finding.Gap, field string) bool {
	for _, g := range unknown {
		if g.Field == field {
			return true
		}
	}
	return false
}

// Quantity formats a value with its unit.
func Quantity(v float64, unit finding.Unit) string {
	if units.Odd(v) {
		return units.None
	}
	if math.Abs(v) >= 1e15 && unit != finding.UnitBytes && unit != finding.UnitLimitBytes {
		return units.Figures(v, 3) // more digits than are meaningful, or a hostile file
	}
	switch unit {
	case finding.UnitLimitBytes, finding.UnitLimitCores:
		if v == 0 {
			return "none"
		}
	case finding.UnitGOGC:
		if v < 0 {
			return "off"
		}
	}
	switch unit {
	case finding.UnitBytes, finding.UnitLimitBytes:
		if v < 1<<62 {
			return units.Bytes(int64(v))
		}
		return units.None
	case finding.UnitCores, finding.UnitLimitCores:
		return units.Plural(rounded(v), "core")
	case finding.UnitRatio:
		return units.Share(v)
	case finding.UnitSeconds:
		return units.Duration(v)
	case finding.UnitPerSecond:
		return units.Figures(v, 3) + "/s"
	case finding.UnitMean:
		return units.Trim(units.Figures(v, 2))
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}

// rounded rounds to two digits after the decimal point.
func rounded(v float64) float64 { return units.RoundTo(v, max(3, len(strconv.Itoa(int(v)))+2)) }
