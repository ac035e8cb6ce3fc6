// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// TestBlind: only Ps chosen by the runtime reveal what it reads.
func TestBlind(t *testing.T) {
	quota := func(cores float64) limits.CPU {
		l := limits.Limits{CPU: limits.CPU{Affinity: limits.Of(8)}}
		plan.Confine(&l, cores, 0)
		return l.CPU
	}
	for name, test := range map[string]struct {
		in   plan.Input
		want bool
	}{
		"all CPUs under a quota":    {plan.Input{Now: plan.Now{Procs: 8, NumCPU: 8}, Limits: limits.Limits{CPU: quota(3)}}, true},
		"the quota's":               {plan.Input{Now: plan.Now{Procs: 3, NumCPU: 8}, Limits: limits.Limits{CPU: quota(3)}}, false},
		"all, and no quota":         {plan.Input{Now: plan.Now{Procs: 8, NumCPU: 8}, Limits: limits.Limits{CPU: quota(9)}}, false},
		"snug's own":                {plan.Input{Now: plan.Now{Procs: 8, NumCPU: 8, OwnProcs: 8}, Limits: limits.Limits{CPU: quota(3)}}, false},
		"the operator's":            {plan.Input{Now: plan.Now{Procs: 8, NumCPU: 8}, Env: plan.Env{GOMAXPROCS: "8"}, Limits: limits.Limits{CPU: quota(3)}}, false},
		"as old releases, anyway":   {plan.Input{Now: plan.Now{Procs: 8, NumCPU: 8}, Go: plan.Go{Minor: 24}, Limits: limits.Limits{CPU: quota(3)}}, false},
		"less than all, no quota's": {plan.Input{Now: plan.Now{Procs: 5, NumCPU: 8}, Limits: limits.Limits{CPU: quota(3)}}, false},
	} {
		if got := blind(&test.in); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestDecide: SNUG=off gives no plan, and invalid variables give warnings.
func TestDecide(t *testing.T) {
	t.Setenv("SNUG", "off")
	asked := false
	if p, _, mode := Decide(&plan.Input{}, func(int64) plan.Now { asked = true; return plan.Now{} }); p != nil || mode != plan.Disable || asked {
		t.Errorf("off: %v, %v, asked %v", p, mode, asked)
	}
	t.Setenv("SNUG", "observe")
	t.Setenv("SNUG_BOGUS", "1")
	t.Setenv("GOMAXPROCS", "3")
	t.Setenv("GOMEMLIMIT", "100MiB")
	t.Setenv("GOGC", "70")
	var in plan.Input
	p, _, mode := Decide(&in, func(int64) plan.Now { return plan.Now{Procs: 3, NumCPU: 4, MemLimit: 100 << 20} })
	if p == nil || mode != plan.Observe || p.GOMAXPROCS.Code != plan.EnvSet || p.GOMEMLIMIT.Code != plan.EnvSet || in.Env.GOGC != "70" {
		t.Errorf("observe: %+v, %v, %+v", p, mode, in.Env)
	}
	if len(in.Warnings) != 1 || in.Warnings[0].File != "SNUG_BOGUS" {
		t.Errorf("warnings %+v", in.Warnings)
	}
}

// said returns the lines that f prints to standard error.
func said(t *testing.T, f func()) string {
	t.Helper()
	file := errors(t)
	f()
	return file()
}

func TestComplain(t *testing.T) {
	bad := func(n int, w limits.Warning) (all []limits.Warning) {
		for range n {
			all = append(all, w)
		}
		return all
	}
	invalid := limits.Warning{Code: plan.EnvInvalid, Source: limits.Source{File: "SNUG_MAX_PROCS", Raw: "x"}}
	line := "snug: SNUG_MAX_PROCS=x is invalid, and is ignored\n"
	exactly, more := strings.Repeat("y", 80-len("SNUG_ROUND=")), strings.Repeat("y", 81-len("SNUG_ROUND="))
	for name, test := range map[string]struct {
		warnings []limits.Warning
		want     string
	}{
		"nothing":     {nil, ""},
		"not of them": {[]limits.Warning{{Code: plan.MemoryShared, Source: limits.Source{File: "f", Raw: "x"}}}, ""},
		"one":         {bad(1, invalid), line},
		"a near name": {[]limits.Warning{{Code: plan.EnvUnknown, Source: limits.Source{File: "SNUG_MAXPROCS"}}},
			"snug: SNUG_MAXPROCS is not a variable of snug, and is ignored: SNUG_MAX_PROCS is\n"},
		"no near name": {[]limits.Warning{{Code: plan.EnvUnknown, Source: limits.Source{File: "SNUG_BOGUS_AND_MORE"}}},
			"snug: SNUG_BOGUS_AND_MORE is not a variable of snug, and is ignored\n"},
		"five":  {bad(5, invalid), strings.Repeat(line, 5)},
		"six":   {bad(6, invalid), strings.Repeat(line, 5) + "snug: and 1 more variables\n"},
		"eight": {bad(8, invalid), strings.Repeat(line, 5) + "snug: and 3 more variables\n"},
		"80 bytes": {[]limits.Warning{{Code: plan.EnvInvalid, Source: limits.Source{File: "SNUG_ROUND", Raw: exactly}}},
			"snug: SNUG_ROUND=" + exactly + " is invalid, and is ignored\n"},
		"81 bytes": {[]limits.Warning{{Code: plan.EnvInvalid, Source: limits.Source{File: "SNUG_ROUND", Raw: more}}},
			"snug: SNUG_ROUND=" + exactly + "... is invalid, and is ignored\n"},
		"the edges of what is printed": {[]limits.Warning{{Code: plan.EnvInvalid, Source: limits.Source{File: "SNUG_ROUND", Raw: "\x1f ~\x7f"}}},
			"snug: SNUG_ROUND=? ~? is invalid, and is ignored\n"},
	} {
		if got := said(t, func() { Complain(test.warnings) }); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
	t.Setenv("SNUG_LOG", "1")
	log := func() { Log(&plan.Input{}, &plan.Plan{Warnings: bad(1, invalid)}, apply.Result{}) }
	if got := said(t, log); strings.Count(got, line) != 1 {
		t.Errorf("SNUG_LOG says %q, want %q in it", got, line)
	}
}

func TestLog(t *testing.T) {
	set := &plan.Setting{Value: 3, Reason: plan.Reason{Code: "code", Source: limits.Source{File: "/f", Raw: "raw"}}}
	var in plan.Input
	in.Limits.Gaps = []limits.Gap{{Field: "field", File: "/g", Why: "why"}}
	all := func() {
		Log(&in, &plan.Plan{GOMAXPROCS: *set, GOMEMLIMIT: plan.Setting{Leave: true, Reason: plan.Reason{Code: plan.NoLimit}},
			Warnings: []limits.Warning{{Code: "of", Source: limits.Source{File: "/w", Raw: "text"}}}}, apply.Result{GOMAXPROCS: apply.Set})
		LogSetting("GOGC", set, apply.Would)
		LogSetting("GOMEMLIMIT", &plan.Setting{Leave: true, Reason: plan.Reason{Code: plan.NoLimit}}, apply.Set)
		LogPressure("tight", 12.34)
	}
	if got := said(t, all); got != "" {
		t.Errorf("unasked: %q", got)
	}
	t.Setenv("SNUG_LOG", "1")
	want := `snug: GOMAXPROCS=3 (set): code, /f: raw
snug: GOMEMLIMIT left alone: no-limit
snug: warning: of, /w: text
snug: unknown: field, /g: why
snug: GOGC=3 (would): code, /f: raw
snug: GOMEMLIMIT given back: no-limit
snug: memory pressure: tight, effective GOGC 12.3
`
	if got := said(t, all); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}
