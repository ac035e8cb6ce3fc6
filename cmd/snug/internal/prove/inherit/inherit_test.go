// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package inherit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	role := ""
	if len(os.Args) > 2 {
		role = os.Args[1]
	}
	switch role {
	case "as-snug":
		AtStart().Restore()
		panic(syscall.Exec(os.Args[2], os.Args[2:], os.Environ()))
	case "as-parent":
		given.Restore()
		panic(syscall.Exec(os.Args[2], os.Args[2:], os.Environ()))
	default:
		os.Exit(m.Run())
	}
}

var given = Signals{
	Ignored: bit(unix.SIGHUP) | bit(unix.SIGQUIT) | bit(unix.SIGPIPE) | bit(unix.SIGTSTP) | bit(40),
	Blocked: bit(unix.SIGINT) | bit(unix.SIGTERM) | bit(unix.SIGCHLD) | bit(unix.SIGUSR1) | bit(50),
}

func bit(s syscall.Signal) uint64 { return 1 << (s - 1) }

// signalsOf returns the signals of a program that prints its /proc/self/status.
func signalsOf(t *testing.T, args ...string) (s Signals) {
	t.Helper()
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(args[0], append(args[1:], cat, "/proc/self/status")...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":\t")
		switch key {
		case "SigIgn":
			s.Ignored, err = strconv.ParseUint(value, 16, 64)
		case "SigBlk":
			s.Blocked, err = strconv.ParseUint(value, 16, 64)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestSignals: a program built like a release restores the signals that it started with.
// What is ignored or blocked around the test itself is added.
func TestSignals(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	parent := signalsOf(t, self, "as-parent")
	if parent.Ignored&given.Ignored != given.Ignored || parent.Blocked&given.Blocked != given.Blocked {
		t.Fatalf("the parent has %x, at least %x wanted", parent, given)
	}
	released := filepath.Join(t.TempDir(), "released")
	cmd := exec.Command("go", "test", "-c", "-o", released, "-tags=startsignals", "-ldflags=-s -w -checklinkname=0", ".")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := signalsOf(t, self, "as-parent", released, "as-snug"); got != parent {
		t.Errorf("built as releases are: the command has %x, want %x", got, parent)
	}

	// Without the tag only what Go keeps arrives: the run help says so.
	got := signalsOf(t, self, "as-parent", self, "as-snug")
	if kept := bit(unix.SIGHUP) | bit(unix.SIGTSTP); got.Ignored&given.Ignored != kept {
		t.Errorf("built as usual: ignored %x, want %x of %x", got.Ignored, kept, given.Ignored)
	}
	if kept := bit(unix.SIGUSR1) | bit(50); got.Blocked&given.Blocked != kept {
		t.Errorf("built as usual: blocked %x, want %x of %x", got.Blocked, kept, given.Blocked)
	}
}
