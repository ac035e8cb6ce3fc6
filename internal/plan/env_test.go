// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"reflect"
	"strings"
	"testing"
)

func TestReadEnv(t *testing.T) {
	vars := map[string]string{
		"SNUG": "observe", "SNUG_ROUND": "floor", "SNUG_MIN_PROCS": "1", "SNUG_MAX_PROCS": "8", "SNUG_RESERVE_CPUS": "500m",
		"SNUG_REQUEST_FACTOR": "1.5", "SNUG_GOMEMLIMIT": "80%", "SNUG_CPU_LIMIT": "2", "SNUG_CPU_REQUEST": "250m", "SNUG_MEMORY_LIMIT": "512Mi",
		"SNUG_WORKERS": "3", "SNUG_LOG": "1",
	}
	var p Policy
	var h Hints
	mode, bad := ReadEnv(func(name string) string { return vars[name] }, &p, &h)
	wantPolicy := Policy{Round: Floor, MinProcs: 1, MaxProcs: 8, ReserveCPUs: 0.5, RequestFactor: 1.5, Memory: Memory{Percent: 80}, Workers: 3}
	wantHints := Hints{CPULimit: 2, CPURequest: 0.25, MemoryLimit: 512 << 20}
	if mode != Observe || !reflect.DeepEqual(p, wantPolicy) || !reflect.DeepEqual(h, wantHints) || len(bad) != 0 {
		t.Errorf("mode %v, policy %+v, hints %+v, bad %v", mode, p, h, bad)
	}
	if mode, bad := ReadEnv(func(string) string { return "0" }, &p, &h); mode != Disable || len(bad) != 0 || !reflect.DeepEqual(p, wantPolicy) || !reflect.DeepEqual(h, wantHints) {
		t.Errorf("0 is not given, and is taken as %+v, %+v, bad %v; want SNUG alone to be off, mode %v", p, h, bad, mode)
	}
	for name := range vars {
		if Want(name) == "" {
			t.Errorf("nothing says what %s should look like", name)
		}
		p, h := wantPolicy, wantHints
		mode, bad := ReadEnv(func(n string) string {
			if n == name {
				return "no such value"
			}
			return ""
		}, &p, &h)
		if len(bad) != 1 || bad[0].Code != EnvInvalid || bad[0].File != name || !reflect.DeepEqual(p, wantPolicy) || !reflect.DeepEqual(h, wantHints) || mode != On {
			t.Errorf("%s: bad %v, mode %v: a wrong value must be reported and change nothing", name, bad, mode)
		}
	}
}

// TestMinAboveMax: a variable overrides the program's field, and two variables that contradict
// each other give a warning.
func TestMinAboveMax(t *testing.T) {
	for _, c := range []struct {
		field     Policy
		least     string
		most      string
		want      Policy
		complains bool
	}{
		{Policy{MaxProcs: 1}, "2", "", Policy{MinProcs: 2, MaxProcs: 2}, false},
		{Policy{MinProcs: 4}, "", "2", Policy{MinProcs: 2, MaxProcs: 2}, false},
		{Policy{}, "2", "1", Policy{MaxProcs: 1}, true},
		{Policy{MinProcs: 3, MaxProcs: 5}, "4", "2", Policy{MinProcs: 2, MaxProcs: 2}, true},
		{Policy{MinProcs: 3}, "2", "2", Policy{MinProcs: 2, MaxProcs: 2}, false},
	} {
		p := c.field
		_, bad := ReadEnv(func(name string) string {
			return map[string]string{"SNUG_MIN_PROCS": c.least, "SNUG_MAX_PROCS": c.most}[name]
		}, &p, new(Hints))
		if !reflect.DeepEqual(p, c.want) || c.complains != (len(bad) == 1 && bad[0].File == "SNUG_MIN_PROCS" && bad[0].Raw == c.least) {
			t.Errorf("%+v, %q to %q: %+v, %v; want %+v", c.field, c.least, c.most, p, bad, c.want)
		}
	}
}

func TestSwitch(t *testing.T) {
	for text, want := range map[string]Mode{
		"on": On, "1": On, "TRUE": On, "yes": On, "Enabled": On, "observe": Observe, "Observe": Observe,
		"off": Disable, "OFF": Disable, "0": Disable, "false": Disable, "False": Disable, "no": Disable, "disable": Disable, "DISABLED": Disable,
	} {
		if mode, bad := ReadEnv(func(name string) string {
			if name == "SNUG" {
				return text
			}
			return ""
		}, new(Policy), new(Hints)); mode != want || len(bad) != 0 {
			t.Errorf("SNUG=%s: mode %v, %v, want %v", text, mode, bad, want)
		}
	}
	for _, text := range []string{"", "o", "offf", "2", "nope"} {
		if _, ok := ParseSwitch(text); ok {
			t.Errorf("%q switches something", text)
		}
	}
}

func TestUnknownNames(t *testing.T) {
	var all []string
	for _, name := range Variables {
		all = append(all, name+"=1")
	}
	if bad := UnknownNames(append(all, "SNUG_E2E=root", "SNUG_TEST_X=1", "SNUGLY=1", "HOME=/", "SNUG")); len(bad) != 0 {
		t.Errorf("known ones are unknown: %v", bad)
	}
	for name, near := range map[string]string{
		"SNUG_MAXPROCS": "SNUG_MAX_PROCS", "SNUG_GOMEMLIMT": "SNUG_GOMEMLIMIT", "SNUG_WACH": "SNUG_WATCH", "SNUG_ROUNDING": "SNUG_ROUND", "SNUG_BOGUS_THING": "",
	} {
		bad := UnknownNames([]string{name + "=x"})
		if len(bad) != 1 || bad[0].Code != EnvUnknown || bad[0].File != name || bad[0].Raw != "" || NearestName(name) != near || !strings.Contains(WarningText(bad[0]), near) {
			t.Errorf("%s: %v, nearest %q, want %q", name, bad, NearestName(name), near)
		}
	}
}
