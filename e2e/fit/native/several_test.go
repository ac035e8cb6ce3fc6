// SPDX-License-Identifier: Apache-2.0

package native

import (
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// TestSeveral: a process that starts second under a memory limit warns, unless the number of
// workers or the memory limit was set.
func TestSeveral(t *testing.T) {
	gate.Root(t, "root")
	base := cgv1.New(t, "memory")
	base.Make(t, map[string]map[string]map[string]string{
		"memory": {"/app": {"memory.limit_in_bytes": strconv.Itoa(256 * mib)}},
	})
	snug := programs.BuildToolFor(t, "")
	program := pool(t) // it ends, because its standard input is empty
	said := func(env []string, args ...string) string {
		t.Helper()
		cmd := base.Command(t, "/app", args...)
		cmd.Env = env
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
	const code, two = "memory-several", "2 Go processes share the memory limit"
	path := "PATH=/usr/bin:/bin"

	if out := said(nil, snug, "run", "--", program); strings.Contains(out, "share the memory") {
		t.Errorf("alone: %s", out)
	}
	first := followProgram(t, base, "/app", program)
	defer first.end()
	first.waitFirst()
	if out := said(nil, snug, "plan"); strings.Contains(out, code) {
		t.Errorf("plan with one program running, which may be the one it is for: %s", out)
	}
	logged := []string{"SNUG_LOG=1"}
	if out := said(logged, program); !strings.Contains(out, "warning: "+code) || !strings.Contains(out, ": 2\n") {
		t.Errorf("the library in a second program: %s", out)
	}
	if out := said(append(logged, "SNUG_WORKERS=2"), program); strings.Contains(out, code) {
		t.Errorf("the library with SNUG_WORKERS: %s", out)
	}
	for _, c := range []struct {
		name string
		env  []string
		args []string
		want bool
	}{
		{"snug run", nil, []string{snug, "run", "--", program}, true},
		{"snug run, workers named", nil, []string{snug, "run", "--workers", "2", "--", program}, false},
		{"snug run, half asked for", nil, []string{snug, "run", "--gomemlimit", "50%", "--", program}, false},
		{"snug run, the operator's value", []string{"GOMEMLIMIT=100MiB"}, []string{snug, "run", "--", program}, false},
		{"snug run of what is not Go", []string{path}, []string{snug, "run", "--", "true"}, false},
		{"a limit of its own", nil, []string{snug, "run", "--memory", "128MiB", "--", program}, false},
	} {
		if out := said(c.env, c.args...); strings.Contains(out, two) != c.want {
			t.Errorf("%s: warns %v, want %v: %s", c.name, !c.want, c.want, out)
		}
	}
	second := followProgram(t, base, "/app", program)
	defer second.end()
	second.waitFirst()
	for _, args := range [][]string{{snug, "plan"}, {snug, "plan", "--pid", first.pid}} {
		if out := said(nil, args...); !strings.Contains(out, two) {
			t.Errorf("%v with two programs does not warn: %s", args, out)
		}
	}
}
