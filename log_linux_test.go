// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug"
)

// stderr returns what f prints to standard error.
func stderr(t *testing.T, f func()) string {
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
	f()
	if err := syscall.Dup3(saved, 2, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(saved)
	w.Close()
	buf := make([]byte, 4096)
	n, _ := r.Read(buf)
	return string(buf[:n])
}

// TestLog: each decision logs one line to standard error, and nothing is logged unasked.
func TestLog(t *testing.T) {
	knobs(t)
	logged := func() string {
		t.Helper()
		return stderr(t, func() { snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20}) })
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

// TestLogJSON: SNUG_LOG=json prints lines of JSON, and the program's logger gets the same.
func TestLogJSON(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_LOG", "json")
	t.Setenv("SNUG_MAX_PROCS", "x\n\xff\"")
	var own bytes.Buffer
	lines := stderr(t, func() {
		snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20, Log: slog.New(slog.NewJSONHandler(&own, nil))})
	})
	printed, logged := strings.Split(strings.TrimSpace(lines), "\n"), strings.Split(strings.TrimSpace(own.String()), "\n")
	if len(printed) != len(logged) || len(printed) < 3 {
		t.Fatalf("printed\n%slogged\n%s", lines, own.String())
	}
	for i := range printed {
		var p, l map[string]any
		if err := json.Unmarshal([]byte(printed[i]), &p); err != nil {
			t.Fatalf("%v: %s", err, printed[i])
		}
		if err := json.Unmarshal([]byte(logged[i]), &l); err != nil {
			t.Fatal(err)
		}
		level := "WARN"
		if p["snug"] == "decision" {
			level = "INFO"
		}
		if l["msg"] != "snug: "+fmt.Sprint(p["snug"]) || l["level"] != level {
			t.Errorf("%s and %s", printed[i], logged[i])
		}
		delete(p, "snug")
		for _, own := range []string{"msg", "level", "time"} {
			delete(l, own)
		}
		if l["raw"] == "x\n\ufffd\"" { // standard error has ASCII only
			l["raw"] = "x??\""
		}
		if !maps.Equal(p, l) {
			t.Errorf("printed %s, logged %s", printed[i], logged[i])
		}
	}
	if want := `{"snug":"warning","code":"env-invalid","file":"SNUG_MAX_PROCS","raw":"x??\""}`; !strings.Contains(lines, want+"\n") {
		t.Errorf("printed %s, want %s", lines, want)
	}
}

// TestLoggerThatPanics: the program starts, also with a typed nil.
func TestLoggerThatPanics(t *testing.T) {
	knobs(t)
	got := stderr(t, func() {
		p, err := snug.Fit(snug.Options{DryRun: true, MemoryLimit: 512 << 20, Log: (*slog.Logger)(nil)})
		if err != nil || p.GOMEMLIMIT.Value != hintedMemory {
			t.Errorf("%+v, %v", p, err)
		}
	})
	if strings.Count(got, "\n") != 1 || !strings.HasPrefix(got, "snug: Options.Log is called no more: ") {
		t.Errorf("printed %q", got)
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
