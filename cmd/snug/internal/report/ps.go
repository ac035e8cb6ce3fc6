// SPDX-License-Identifier: Apache-2.0

package report

import (
	"path"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// setters are who set GOMAXPROCS, short enough for a column.
var setters = map[string]string{"environment": "env", "code": "code", "runtime": "quota", "host": "host"}

func (p *page) ps(d *finding.PS) {
	wrong := 0
	for i := range d.Processes {
		if finding.Worst(d.Processes[i].Findings).Level() >= finding.SeverityWarning.Level() {
			wrong++
		}
	}
	n := len(d.Processes)
	switch {
	case n == 0:
		p.line("no Go process to list")
	case wrong == 0:
		p.line("%s, no warning at a glance; doctor measures", processes(n, "Go process"))
	default:
		p.line("%s, %d with a warning or worse", processes(n, "Go process"), wrong)
	}
	p.processes(d.Processes)
	if len(d.Others) > 0 {
		p.line("")
	}
	for _, o := range d.Others {
		who := processes(o.Count, "process")
		if o.Count == 1 && len(o.PIDs) == 1 {
			who = "process " + strconv.Itoa(o.PIDs[0])
		}
		p.line("not permitted to look at %s: %s", who, worded(o.Why))
	}
	p.next(d.Next)
}

// processes is their table.
func (p *page) processes(all []finding.Process) {
	if len(all) == 0 {
		return
	}
	p.line("")
	rows := [][]string{{"PID", "PROGRAM", "GO", "P", "BY", "QUOTA", "THROTTLED", "MEMORY", "LIMIT", "GOMEMLIMIT", "GOGC", "WORST FINDING"}}
	for i := range all {
		rows = append(rows, psRow(&all[i]))
	}
	p.table(rows)
}

func psRow(r *finding.Process) []string {
	row := []string{strconv.Itoa(r.PID), Clean(path.Base(r.Exe))}
	add := func(field, value string, known bool) {
		switch {
		case known:
		case missingIn(r.Unknown, field):
			value = "?"
		default:
			value = none
		}
		row = append(row, value)
	}
	text := func(s *string) string {
		if s == nil {
			return ""
		}
		return Clean(*s)
	}
	bytes := func(n *int64) string {
		if n == nil {
			return ""
		}
		return size(*n)
	}
	add("go_version", goShort(text(r.GoVersion)), r.GoVersion != nil)
	procs := ""
	if r.GOMAXPROCS != nil {
		procs = strconv.Itoa(*r.GOMAXPROCS)
	}
	add("gomaxprocs", procs, r.GOMAXPROCS != nil)
	by := text(r.GOMAXPROCSSource)
	if s, ok := setters[by]; ok {
		by = s
	}
	add("gomaxprocs_source", by, r.GOMAXPROCSSource != nil)
	quota, throttled, gogc := "", "", ""
	if r.Quota != nil {
		if quota = number(*r.Quota); *r.Quota >= 1e15 {
			quota = figures(*r.Quota, 3)
		}
	}
	if r.Throttled != nil {
		throttled = share(*r.Throttled)
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
	worst := none
	if len(r.Findings) > 0 {
		worst = Clean(string(r.Findings[0].Severity)) + ": " + Clean(r.Findings[0].ID)
		if more := len(r.Findings) - 1; more > 0 {
			worst += " +" + strconv.Itoa(more)
		}
	}
	return append(row, worst)
}

// goShort is a Go version without the word.
func goShort(v string) string {
	v, _, _ = strings.Cut(strings.TrimPrefix(v, "go"), " ")
	return v
}

// processes is plural of a word that ends in s.
func processes(n int, word string) string {
	if n != 1 {
		word += "es"
	}
	return strconv.Itoa(n) + " " + word
}
