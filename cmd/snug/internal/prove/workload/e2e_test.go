// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package workload

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

// TestDefaultProcs: in a real cgroup, with Defaults in its environment, a workload sizes
// itself like an ordinary Go program, max(2, ceil(quota)) up to the number of CPUs, in
// spite of the //go:debug lines of the binary. Without Defaults it does not. With two
// CPUs that is 2 either way, so the test also checks whether the runtime keeps the file
// of the quota open to follow it.
func TestDefaultProcs(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to run in a real cgroup")
	}
	cpus := runtime.NumCPU()
	for _, tt := range []struct {
		name    string
		quota   float64
		env     string
		procs   int
		follows bool
	}{
		{"half", 0.5, "GODEBUG=" + Defaults, min(2, cpus), true},
		{"one", 1, "GODEBUG=" + Defaults, min(2, cpus), true},
		{"without-defaults", 1, "GODEBUG=", cpus, false},
		{"explicit", 1, "GOMAXPROCS=7", 7, false},
	} {
		procs, follows := confined(t, tt.quota, tt.env)
		if procs != tt.procs || follows != tt.follows {
			t.Errorf("%s: GOMAXPROCS %d, follows the quota: %v; want %d, %v", tt.name, procs, follows, tt.procs, tt.follows)
		}
	}
}

// confined runs a workload under a quota. It returns its GOMAXPROCS and whether the file
// of its quota is open.
func confined(t *testing.T, quota float64, env string) (procs int, follows bool) {
	t.Helper()
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		return r, w
	}
	stdin, in := pipe()
	out, stdout := pipe()
	defer in.Close()
	defer out.Close()
	child, err := cgrun.Start(context.Background(), cgrun.Spec{
		Args:  append([]string{os.Args[0]}, Args("pool/gomaxprocs", Options{Warm: 1, Ops: 10})...),
		Env:   []string{env},
		CPUs:  quota,
		Stdin: stdin, Stdout: stdout, Stderr: os.Stderr,
	})
	stdin.Close()
	stdout.Close()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		child.Signal(syscall.SIGKILL)
		if _, err := child.Wait(); err != nil {
			t.Error(err)
		}
		if _, err := child.Remove(); err != nil {
			t.Error(err)
		}
	}()
	events := ReadEvents(out)
	if e, err := events.Next("warm"); err != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", child.PID()))
	if err != nil || len(files) < 3 {
		t.Fatalf("open files %v, %v", files, err)
	}
	for _, f := range files {
		to, err := os.Readlink(f)
		if err != nil {
			t.Fatal(err)
		}
		if base := filepath.Base(to); base == "cpu.max" || base == "cpu.cfs_quota_us" {
			follows = true
		}
	}
	io.WriteString(in, "go\n")
	e, err := events.Next("done")
	if err != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	return e.Procs, follows
}
