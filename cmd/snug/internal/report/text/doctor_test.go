// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestOnCall: package rules uses the same words for its figures.
func TestOnCall(t *testing.T) {
	f := &rules.Facts{}
	fields := reflect.ValueOf(f).Elem()
	for i := range fields.NumField() {
		if fields.Field(i).Type() == reflect.TypeFor[figure.Of[float64]]() {
			fields.Field(i).Set(reflect.ValueOf(figure.New(1.0, "")))
		}
	}
	if got := needed(f.Seen()); len(got) != len(onCall) {
		t.Errorf("%d of %d known: %v", len(got), len(onCall), got)
	}
}

// TestSetBy: snug ps uses the same words for what set GOMAXPROCS.
func TestSetBy(t *testing.T) {
	for by, want := range map[string]string{
		"environment": "environment", "code": "code: go.uber.org/automaxprocs v1.6.0", "runtime": "from the CPU quota and the CPUs", "host": "without the quota", "else": "else", "": "",
	} {
		e := &finding.Examined{GOMAXPROCSSource: new(by), GOMAXPROCSModule: new("go.uber.org/automaxprocs v1.6.0")}
		if by == "" {
			e.GOMAXPROCSSource = nil
		}
		if got := setBy(e); !strings.HasSuffix(got, want) || by != "" && !strings.HasPrefix(got, "set by ") {
			t.Errorf("%q: %q, want %q", by, got, want)
		}
	}
}

// TestVerdictOn: an unknown is not reported as "nothing wrong".
func TestVerdictOn(t *testing.T) {
	of := func(all ...finding.Severity) (found []finding.Finding) {
		for _, s := range all {
			found = append(found, finding.Finding{Severity: s})
		}
		return found
	}
	for _, c := range []struct {
		e    finding.Examined
		want string
	}{
		{finding.Examined{Kind: "process"}, "nothing wrong"},
		{finding.Examined{Kind: "process", Unknown: make([]finding.Gap, 1)}, "nothing found"},
		{finding.Examined{Kind: "process", Unknown: []finding.Gap{{Field: "program"}}}, "could not look"},
		{finding.Examined{Kind: "log"}, "nothing found"},
		{finding.Examined{Findings: of("info", "info")}, "nothing that hurts now, 2 for information"},
		{finding.Examined{Findings: of("error", "warning", "warning", "info")}, "1 error, 2 warnings, 1 for information"},
	} {
		if got := verdictOn(&c.e); got != c.want {
			t.Errorf("%+v: %q, want %q", c.e, got, c.want)
		}
	}
}

// TestUnsupported: a Go runtime that is not read has a line, whatever its path holds.
func TestUnsupported(t *testing.T) {
	var p Page
	p.ps(&finding.PS{Unsupported: []finding.Unsupported{{PID: 7, Exe: "/usr/bin/python3", Why: "Go in a library, /a\x1b[31m.so (go1.26.8); its runtime is not read"}}})
	if got := p.String(); !strings.Contains(got, "\nunsupported: process 7 (python3): Go in a library, /a") || strings.Contains(got, "\x1b") {
		t.Error(got)
	}
	// Of a cluster, they are counted by workload.
	unread := []finding.FleetUnsupported{{Processes: 1, Why: "Go built by gccgo"}}
	for i := range 12 {
		unread = append(unread, finding.FleetUnsupported{Workload: new(fmt.Sprintf("Deployment/w\x1b[3%dm", i)), Processes: i, Why: "Go in a library, /b\x1b.so"})
	}
	asked := finding.Asked{Agents: 2, Unsupported: unread}
	for _, print := range []func(*Page){
		func(p *Page) { p.fleet(&finding.Fleet{Asked: asked}) }, func(p *Page) { p.fleetDoctor(&finding.FleetDoctor{Asked: asked}) },
	} {
		var p Page
		print(&p)
		if got := p.String(); !strings.Contains(got, " on 2 nodes; 67 unsupported\n") || !strings.Contains(got, "\nunsupported: 1 process: Go built by gccgo\n") ||
			!strings.Contains(got, "\nunsupported: 2 processes in Deployment/w") || !strings.HasSuffix(got, "\nunsupported: processes of 3 more workloads\n") || strings.Contains(got, "\x1b") {
			t.Error(got)
		}
	}
}
