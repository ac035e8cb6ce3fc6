// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug"
)

// TestLog: each decision logs one line to standard error, and nothing is logged unasked.
func TestLog(t *testing.T) {
	knobs(t)
	logged := func() string {
		t.Helper()
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		saved, err := syscall.Dup(2)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
			t.Fatal(err)
		}
		snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20})
		if err := syscall.Dup3(saved, 2, 0); err != nil {
			t.Fatal(err)
		}
		syscall.Close(saved)
		w.Close()
		buf := make([]byte, 4096)
		n, _ := r.Read(buf)
		return string(buf[:n])
	}
	if got := logged(); got != "" {
		t.Errorf("unasked it prints %q", got)
	}
	t.Setenv("SNUG_LOG", "1")
	if got, want := logged(), fmt.Sprintf("snug: GOMEMLIMIT=%d (would): memory-limit-hint\n", hintedMemory); !strings.Contains(got, want) {
		t.Errorf("prints %q, want the line %q", got, want)
	}
	// A variable's value can neither forge a line nor control a terminal.
	t.Setenv("SNUG_MAX_PROCS", "x\nsnug: GOMAXPROCS=1\x1b[2J\u009b2J")
	if got, want := logged(), "snug: SNUG_MAX_PROCS=x?snug: GOMAXPROCS=1?[2J??2J is invalid, and is ignored\n"; !strings.Contains(got, want) {
		t.Errorf("prints %q, want the line %q", got, want)
	}
}

// TestLogNeverWaitsNorEnds: standard error may be a full pipe, or one without a reader.
func TestLogNeverWaitsNorEnds(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_LOG", "1")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	saved, err := syscall.Dup(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Dup3(int(w.Fd()), 2, 0); err != nil {
		t.Fatal(err)
	}
	defer func() {
		syscall.Dup3(saved, 2, 0)
		syscall.Close(saved)
	}()
	for range 2000 { // 64 KiB and more
		snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20})
	}
	r.Close()
	snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20})
	w.Close()
}
