// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// tuneDocument decodes the output of snug tune --json.
func tuneDocument(t *testing.T, o outcome) *finding.Tune {
	t.Helper()
	d := new(finding.Tune)
	if err := json.Unmarshal([]byte(o.stdout), d); err != nil || d.Kind != finding.KindTune {
		t.Fatalf("no document of a search: %v, %.200q\nstderr:\n%s", err, o.stdout, o.stderr)
	}
	return d
}

// testSearches: settings under which a program fails are ruled out, snug's plan is the
// setting to beat where the default is killed, and a killed search goes on from its record.
func testSearches(t *testing.T, l *faultLab) {
	search := func(t *testing.T, how, flags string) *invocation {
		at := address(t)
		args := strings.Fields("tune --json --timeout 300ms --window 200ms --warmup 100ms --cpus 1 " + flags)
		v := l.start(t, "", join(args, []string{"--url", "http://" + at + "/", "--", l.faulty, how, at})...)
		v.keeps = []string{"record"}
		return v
	}
	t.Run("picky", func(t *testing.T) {
		// On a busy machine a minute is too short to try all six settings.
		var d *finding.Tune
		ended, silent := false, false
		for budget := 1; !(ended && silent) && budget <= 4; budget *= 2 {
			o := search(t, "picky", fmt.Sprintf("--budget %dm --gomaxprocs default,1 --gogc 50,100,200", budget)).wait(t)
			d = tuneDocument(t, o)
			if o.code != 0 || !d.Complete {
				t.Fatalf("exit code %d, %q; stderr:\n%s", o.code, d.Verdict.Text, o.stderr)
			}
			for _, c := range d.Cells {
				for _, r := range c.Rounds {
					ended = ended || c.GOMAXPROCS == "1" && strings.Contains(r.Error, "at least two Ps, please")
					silent = silent || c.GOMAXPROCS == "" && c.GOGC == "50" && r.Ops == 0 && r.Errors > 0
				}
			}
		}
		if !ended || !silent {
			t.Errorf("a run that ended %v, one that answered nothing %v; stages %+v", ended, silent, d.Stages)
		}
		if d.Verdict.Best != nil {
			if k := d.Cells[*d.Verdict.Best].Knobs; k.GOMAXPROCS == "1" || k.GOGC == "50" {
				t.Errorf("recommends %+v", k)
			}
		}
	})
	t.Run("killed default", func(t *testing.T) {
		o := search(t, "caches", "--budget 1m --memory 128MiB --gomaxprocs default,1 --gogc 50,100 --users 2").wait(t)
		d := tuneDocument(t, o)
		if o.code != 0 || d.Verdict.Best == nil || !strings.Contains(d.Verdict.Text, "the default is OOM-killed in ") {
			t.Fatalf("exit code %d, %q; stderr:\n%s", o.code, d.Verdict.Text, o.stderr)
		}
		if i := slices.IndexFunc(d.Stages, func(s finding.Stage) bool { return s.Name == "plan" }); i != 2 {
			t.Errorf("snug's plan is stage %d of %+v", i, d.Stages)
		}
		best := d.Cells[*d.Verdict.Best]
		if best.GOMEMLIMIT == "" {
			t.Errorf("recommends %+v: %s", best.Knobs, d.Verdict.Text)
		}
		if best.GOMAXPROCS+best.GOGC != "" { // more than snug's plan has to be shown
			if j := d.Verdict.Judged[0]; j.Gain == nil || j.Gain.Word != finding.Better || j.Against == nil {
				t.Errorf("recommends %+v: %s", best.Knobs, d.Verdict.Text)
			}
		}
	})
	t.Run("killed search", func(t *testing.T) {
		const flags = "--budget 1m --gomaxprocs default,1 --gogc 100,200 --record record"
		v := search(t, "serves", flags)
		v.until(t, func() bool { return lines(v.dir+"/record") > 5 })
		syscall.Kill(v.cmd.Process.Pid, syscall.SIGKILL)
		v.cmd.Wait()
		before := lines(v.dir + "/record")
		args := v.cmd.Args[1:]
		again := l.start(t, v.dir, args...)
		again.keeps = []string{"record"}
		o := again.wait(t)
		d := tuneDocument(t, o)
		if o.code != 0 || !d.Complete || d.Resumed < 4 || d.Resumed > before || lines(v.dir+"/record") <= before {
			t.Errorf("exit code %d, %d of %d runs taken; stderr:\n%s", o.code, d.Resumed, before, o.stderr)
		}
	})
}
