// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// pinned returns a service pinned by the environment, and a profile.
func pinned() *finding.Doctor {
	mem := "/proc/4711/mem, 11/11 votes"
	figure := func(what string, v float64, unit finding.Unit, source, raw string) finding.Evidence {
		return finding.Evidence{What: what, Value: v, Unit: unit, Source: source, Raw: raw}
	}
	procs := figure("GOMAXPROCS", 16, finding.UnitCount, mem, "")
	quota := figure("CPU quota", .5, finding.UnitLimitCores, "/sys/fs/cgroup/pod/cpu.max", "50000 100000")
	busy := figure("Ps not idle", 1.9, finding.UnitMean, "/proc/4711/mem, 8/8 votes, 9971 looks", "")
	return &finding.Doctor{
		Head: finding.NewHead(finding.KindDoctor),
		Targets: []finding.Examined{{
			Target: "pid 4711 (server)", Kind: "process", Go: ptr("go1.22.3"), Seconds: ptr(10.0), GOMAXPROCSSource: ptr("environment"),
			Facts: []finding.Evidence{
				procs, figure("GOGC", -1, finding.UnitGOGC, mem, ""), figure("heap goal", 4<<20, finding.UnitBytes, mem, ""), quota,
				figure("memory limit", 0, finding.UnitLimitBytes, "", ""), figure("CPU used", .4987, finding.UnitCores, "/proc/4711/task/*/schedstat", ""), busy,
			},
			Findings: []finding.Finding{
				{ID: "stale-procs", Severity: finding.SeverityWarning, Title: "GOMAXPROCS is pinned", Evidence: []finding.Evidence{procs, quota, busy}, Fix: "GOMAXPROCS=2", Verify: "snug bench -- server"},
				{ID: "sub-core-quota", Severity: finding.SeverityInfo, Title: "The CPU quota is less than one core", Fix: "none is certain"},
			},
			Unknown: []finding.Gap{{Field: "profile", File: "/proc/4711", Why: "3 samples of CPU time, too few to tell"}},
		}, {
			Target: "cpu.pprof", Kind: "profile", Findings: []finding.Finding{},
			Facts: []finding.Evidence{figure("CPU used", 1.5, finding.UnitCores, "perf", "")},
		}},
		Next: "snug explain stale-procs",
	}
}

// TestDoctor: the verdict first, then the findings, then a few figures; with -v all
// figures and their sources.
func TestDoctor(t *testing.T) {
	for name, render := range map[string]func(*bytes.Buffer) error{
		"doctor.txt":   func(b *bytes.Buffer) error { return text.Write(b, pinned()) },
		"doctor-v.txt": func(b *bytes.Buffer) error { return text.DoctorVerbose(b, pinned()) },
	} {
		var b bytes.Buffer
		if err := render(&b); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.Bytes())
	}
}

// TestNothingKept: -v is offered only if it shows more.
func TestNothingKept(t *testing.T) {
	for kind, kept := range map[string]bool{"process": true, "profile": false, "log": false, "metrics": false} {
		d := &finding.Doctor{Head: finding.NewHead(finding.KindDoctor), Targets: []finding.Examined{{
			Target: "x", Kind: kind, Facts: []finding.Evidence{{What: "CPU used", Value: 1, Unit: finding.UnitCores, Source: "perf"}},
		}}}
		var b strings.Builder
		if err := text.Write(&b, d); err != nil || strings.Contains(b.String(), "snug doctor -v TARGET") != kept {
			t.Errorf("%s: %v\n%s", kind, err, b.String())
		}
	}
}
