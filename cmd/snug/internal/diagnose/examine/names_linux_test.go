// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
)

func TestAddress(t *testing.T) {
	for _, name := range []string{"http.prom", "http:/x", "ftp://x", "httpx://x"} {
		if Address(name) {
			t.Errorf("%s is no address", name)
		}
	}
	if !Address("HTTP://x/metrics") || !Address("https://x") {
		t.Error("an address is none")
	}
}

// TestZombie checks a process that has ended and whose number still exists.
func TestZombie(t *testing.T) {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	pid := strconv.Itoa(cmd.Process.Pid)
	for i := 0; i < 1000 && strings.HasPrefix(absent(pid), "it became"); i++ { // it lives
		time.Sleep(10 * time.Millisecond)
	}
	if got := absent(pid); !strings.Contains(got, "has ended") {
		t.Error(got)
	}
	if got := absent("2147483647"); got != "no such process" {
		t.Error(got)
	}
}

// TestNotGoWords: a process with Go in a library is not said to be no Go program.
func TestNotGoWords(t *testing.T) {
	for _, c := range []struct {
		e          NotGo
		what, hint string
	}{
		{NotGo{PID: 7, What: "an empty file"}, "pid 7: not a Go program: an empty file", "snug ps"},
		{NotGo{PID: 7, Guest: goproc.Guest{Path: "/a.so", Version: "go1.26.8"}}, "pid 7: unsupported: Go in a library, /a.so (go1.26.8); its runtime is not read", "gctrace=1"},
		{NotGo{PID: 7, Guest: goproc.Guest{Path: "/libgo.so.21", Gccgo: true}}, "pid 7: unsupported: Go built by gccgo, /libgo.so.21; its runtime is not read", "gccgo"},
	} {
		var f *message.Failure
		if err := LookFailure("7", &c.e); !errors.As(err, &f) || f.What != c.what || !strings.Contains(f.Hint, c.hint) {
			t.Errorf("%v, want %s", err, c.what)
		}
	}
}

// TestStandardInputEnds checks that Ctrl-C ends a read of a terminal or a pipe.
func TestStandardInputEnds(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	before := os.Stdin
	os.Stdin = r
	ctx, cancel := context.WithCancel(t.Context())
	in := standardInput(ctx)
	go w.Write([]byte("gc 1"))
	head := make([]byte, 4)
	if _, err := io.ReadFull(in, head); err != nil || string(head) != "gc 1" {
		t.Errorf("%q, %v", head, err)
	}
	cancel()
	if _, err := in.Read(head); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	w.Close() // ends the goroutine that reads
	os.Stdin = before
}
