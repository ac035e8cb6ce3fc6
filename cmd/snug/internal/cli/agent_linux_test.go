// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestAgentOnce: a scan as JSON and as text, with and without memory.
func TestAgentOnce(t *testing.T) {
	pid, path := goprogram.Started(t)
	for _, c := range []struct {
		args   []string
		cycles bool
	}{{nil, true}, {[]string{"--no-mem"}, false}, {[]string{"--root", "/"}, true}} {
		code, out, talk := snug(t, append([]string{"agent", "--once", "--json"}, c.args...)...)
		var d finding.Node
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || talk != "" {
			t.Fatalf("%v: %v, exit code %d\n%s%s", c.args, err, code, out, talk)
		}
		var found *finding.NodeProcess
		for i := range d.Containers {
			for j := range d.Containers[i].Processes {
				if p := &d.Containers[i].Processes[j]; strconv.Itoa(p.PID) == pid {
					found = p
				}
			}
		}
		if found == nil || found.Exe != path || found.GOMAXPROCS.N != 3 || found.GOMEMLIMIT.N != 123<<20 || (found.Cycles.Known()) != c.cycles || d.Memory != c.cycles {
			t.Errorf("%v: %+v", c.args, found)
		}
	}
	if code, out, _ := snug(t, "agent", "--once"); code != 0 || !strings.Contains(out, " "+pid+" ") || !strings.Contains(out, "next: snug doctor ") {
		t.Errorf("exit code %d\n%s", code, out)
	}
}

// TestAgentUsage checks wrong command lines.
func TestAgentUsage(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--interval", "100ms"}, message.ExitUsage, "--interval 100ms"},
		{[]string{"--interval", "2h"}, message.ExitUsage, "--interval 2h"},
		{[]string{"--interval", "soon"}, message.ExitUsage, "--interval soon"},
		{[]string{"--json"}, message.ExitUsage, "--json without --once"},
		{[]string{"--listen", "nowhere"}, message.ExitUsage, "--listen nowhere"},
		{[]string{"--listen", ""}, message.ExitUsage, "--listen ''"},
		{[]string{"--listen", ":"}, message.ExitUsage, "--listen :"},
		{[]string{"--listen", "127.0.0.1:"}, message.ExitUsage, "--listen 127.0.0.1:"},
		{[]string{"--listen", "127.0.0.1:99999"}, message.ExitUsage, "--listen 127.0.0.1:99999"},
		{[]string{"--listen", "192.0.2.1:1"}, message.ExitFailed, "cannot listen on 192.0.2.1:1: "},
		{[]string{"--names", "--once"}, message.ExitUsage, "NODE_NAME"},
		{[]string{"--root", "/nonexistent", "--once"}, message.ExitFailed, "/nonexistent: no such file or directory"},
		{[]string{"--root", t.TempDir(), "--once"}, message.ExitFailed, "no such file or directory"},
		{[]string{"--root", ""}, message.ExitUsage, "--root ''"},
		{[]string{"node-1"}, message.ExitUsage, "takes no argument"},
	} {
		t.Setenv("NODE_NAME", "")
		code, out, talk := snug(t, append([]string{"agent"}, c.args...)...)
		if code != c.code || out != "" && !strings.HasPrefix(out, `{"snug":"v1","kind":"error"`) || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, out, talk)
		}
	}
	t.Setenv("NODE_NAME", "node-1")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	if code, _, talk := snug(t, "agent", "--names", "--once"); code != message.ExitFailed || !strings.Contains(talk, "not in a pod") {
		t.Errorf("exit code %d\n%s", code, talk)
	}
}
