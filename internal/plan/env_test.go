// SPDX-License-Identifier: Apache-2.0

package plan

import "testing"

func TestReadEnv(t *testing.T) {
	vars := map[string]string{
		"SNUG": "observe", "SNUG_ROUND": "floor", "SNUG_MIN_PROCS": "1", "SNUG_MAX_PROCS": "8", "SNUG_RESERVE_CPUS": "500m",
		"SNUG_REQUEST_FACTOR": "1.5", "SNUG_GOMEMLIMIT": "80%", "SNUG_CPU_LIMIT": "2", "SNUG_CPU_REQUEST": "250m", "SNUG_MEMORY_LIMIT": "512Mi",
	}
	var p Policy
	var h Hints
	mode, bad := ReadEnv(func(name string) string { return vars[name] }, &p, &h)
	wantPolicy := Policy{Round: Floor, MinProcs: 1, MaxProcs: 8, ReserveCPUs: 0.5, RequestFactor: 1.5, Memory: Memory{Percent: 80}}
	wantHints := Hints{CPULimit: 2, CPURequest: 0.25, MemoryLimit: 512 << 20}
	if mode != Observe || p != wantPolicy || h != wantHints || len(bad) != 0 {
		t.Errorf("mode %v, policy %+v, hints %+v, bad %v", mode, p, h, bad)
	}
	if _, bad := ReadEnv(func(string) string { return "0" }, &p, &h); len(bad) != 1 || bad[0].File != "SNUG" || p != wantPolicy || h != wantHints {
		t.Errorf("0 is not given, and is taken as %+v, %+v, bad %v; want it wrong for SNUG alone", p, h, bad)
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
		if len(bad) != 1 || bad[0].Code != EnvInvalid || bad[0].File != name || p != wantPolicy || h != wantHints || mode != On {
			t.Errorf("%s: bad %v, mode %v: a wrong value must be reported and change nothing", name, bad, mode)
		}
	}
}
