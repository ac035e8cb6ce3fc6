// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cli/look"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
)

// TestCompletePids checks that completion offers the Go processes and prints nothing else.
func TestCompletePids(t *testing.T) {
	pid, _ := goprogram.Started(t)
	defer func(d time.Duration) { look.CompletionTime = d }(look.CompletionTime)
	look.CompletionTime = patience
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, c := range []struct {
		name     string
		line     []string
		offered  bool
		and      string // the end of what is said: a shell's directive
		unlooked bool   // nothing is looked for
	}{
		{"doctor", []string{"doctor", ""}, true, ":0", false},
		{"the number begun", []string{"doctor", pid[:1]}, true, ":0", false},
		{"another one too", []string{"doctor", "1", ""}, true, ":0", false},
		{"named already", []string{"doctor", pid, pid}, false, ":0", false},
		{"a file", []string{"doctor", "cpu.p"}, false, ":0", true},
		{"profile", []string{"profile", pid}, true, ":0", false},
		{"profile, another to compare with", []string{"profile", "1", ""}, true, ":0", false},
		{"ps", []string{"ps", pid}, true, ":0", false},
		{"top", []string{"top", pid}, true, ":0", false},
	} {
		code, out, talk := spoken(append([]string{"__complete"}, c.line...))
		offered := strings.Contains("\n"+out, "\n"+pid+"\tbusy go1.")
		if code != 0 || offered != c.offered || !strings.HasSuffix(out, c.and+"\n") || c.unlooked && strings.Contains(out, "\t") || strings.Contains(talk, "error") {
			t.Errorf("%s: exit code %d\n%s%s", c.name, code, out, talk)
		}
	}
}

// TestCompletePidsInTime checks that slow processes are left out without an error.
func TestCompletePidsInTime(t *testing.T) {
	defer func(d time.Duration) { look.CompletionTime = d }(look.CompletionTime)
	look.CompletionTime = 0
	if code, out, talk := spoken([]string{"__complete", "doctor", ""}); code != 0 || !strings.HasSuffix(out, ":0\n") || strings.Contains(talk, "error") {
		t.Errorf("exit code %d\n%s%s", code, out, talk)
	}
}

// TestUnmounted: without /proc, no command says that there is no process.
func TestUnmounted(t *testing.T) {
	if line := os.Getenv("SNUG_TEST_UNMOUNTED"); line != "" {
		code, out, talk := spoken(strings.Fields(line))
		if code != 1 || out != "" || talk != "snug: error: cannot list processes: /proc lists no process\nsnug: hint: mount /proc first: mount -t proc proc /proc\n" {
			t.Errorf("exit code %d\n%s%s", code, out, talk)
		}
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const empty = "mount -t tmpfs none /proc && "
	if err := exec.Command("unshare", "-Urm", "sh", "-c", empty+"true").Run(); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}
	for _, line := range []string{"ps", "doctor 1", "profile 1", "top -n 1"} {
		cmd := exec.Command("unshare", "-Urm", "sh", "-c", empty+`exec "$0" -test.run='^TestUnmounted$'`, self)
		cmd.Env = append(os.Environ(), "SNUG_TEST_UNMOUNTED="+line)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}
