// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/limits"
)

// TestMain lets the test's own binary be a Go process to look at.
func TestMain(m *testing.M) {
	if os.Getenv("LOOK_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	fmt.Println("up")
	io.Copy(io.Discard, os.Stdin)
}

// TestEachStarting: a process that becomes its program while it is looked at is there all
// the same.
func TestEachStarting(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `echo shell; read line; exec "$0"`, exe)
	cmd.Env = []string{"LOOK_TEST_CHILD=1"}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	lines := bufio.NewReader(out)
	says := func(want string) {
		if line, err := lines.ReadString('\n'); line != want+"\n" {
			t.Fatalf("%q, %v, want %s", line, err, want)
		}
	}
	says("shell")
	k := &Looker{Files: goproc.NewCache(""), Limits: map[string]*limits.Limits{}}
	opened, seen := 0, 0
	err = k.Each(Skips{}, func(p *proc.Process) bool {
		if p.Pid() != cmd.Process.Pid {
			return false
		}
		if opened++; opened == 1 { // it is open, and not looked at yet
			fmt.Fprintln(in)
			says("up")
		}
		return true
	}, func(g *goproc.Facts) { seen++ })
	if err != nil || seen != 1 || opened != 2 {
		t.Errorf("%v, opened %d times, seen %d times", err, opened, seen)
	}
}

// TestEachBounded: beyond what a listing may read of all processes together, it is unknown what a process is.
func TestEachBounded(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	there := map[int]bool{}
	for range 3 {
		cmd := exec.Command(exe)
		cmd.Env = []string{"LOOK_TEST_CHILD=1"}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
			t.Fatalf("%q, %v", line, err)
		}
		there[cmd.Process.Pid] = true
	}
	k := &Looker{Files: goproc.NewCache(""), Limits: map[string]*limits.Limits{}}
	defer func(was proc.Amount) { listing = was }(listing)
	for _, c := range []struct {
		bytes int64
		seen  int
	}{{1 << 10, 0}, {2 << 30, 3}, {1 << 10, 0}} { // at last it knows the program
		listing.Bytes = c.bytes
		denied, seen := Skips{}, 0
		err := k.Each(denied, func(p *proc.Process) bool { return there[p.Pid()] }, func(g *goproc.Facts) { seen++ })
		if err != nil || seen != c.seen || len(denied[Skip{Why: proc.ErrTooMuch.Error()}]) != len(there)-seen {
			t.Errorf("%d bytes: %v, %d are seen, %v", c.bytes, err, seen, denied)
		}
	}
}
