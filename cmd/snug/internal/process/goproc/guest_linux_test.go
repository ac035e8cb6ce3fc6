// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestGuest looks at a C program with Go code in a library, and at one with a library that has gccgo's
// section.
func TestGuest(t *testing.T) {
	if testing.Short() {
		t.Skip("builds libraries; run without -short")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(name string, args ...string) {
		t.Helper()
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=1", "GOTOOLCHAIN=local")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	write("go.mod", "module lib\n\ngo 1.26\n")
	write("main.go", "package main\n\nimport \"C\"\n\nfunc main() {}\n")
	write("lib.c", "int nothing;\n")
	write("gccgo.c", "__attribute__((section(\".go_export\"))) int nothing = 1;\n")
	run("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", "libshared.so", "main.go")
	run("gcc", "-shared", "-o", "libgccgo.so", "gccgo.c")
	run("gcc", "-shared", "-o", "libplain.so", "lib.c")
	files := NewCache("")
	for _, c := range []struct {
		lib  string
		want Guest
		text string
	}{
		{"libshared.so", Guest{Version: runtime.Version()}, "Go in a library, /lib/x.so (" + runtime.Version() + ")"},
		{"libgccgo.so", Guest{Gccgo: true}, "Go built by gccgo, /lib/x.so"},
		{"libplain.so", Guest{}, ""},
	} {
		lib := filepath.Join(dir, c.lib)
		cmd := exec.Command("sleep", "1h")
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LD_PRELOAD=" + lib}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		p := mapped(t, cmd.Process.Pid, lib)
		if f := Look(p, files); f.Err != nil || f.Exe.IsGo {
			t.Errorf("%s: %v, %+v", c.lib, f.Err, f.Exe)
		}
		want := c.want
		if c.text != "" {
			want.Path = lib
		}
		for range 2 { // the second time from the cache
			if got, err := files.Guest(p); got != want || err != nil {
				t.Errorf("%s: %+v, %v, want %+v", c.lib, got, err, want)
			}
		}
		var room, none syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &room); err != nil {
			t.Fatal(err)
		}
		none.Max = room.Max
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &none)
		got, err := NewCache("").Guest(p)
		syscall.Setrlimit(syscall.RLIMIT_NOFILE, &room)
		if got != (Guest{}) || !errors.Is(err, syscall.EMFILE) {
			t.Errorf("%s: without descriptors: %+v, %v", c.lib, got, err)
		}
		if n := len(files.alone); n > 0 != (c.text == "") {
			t.Errorf("%s: %d programs without Go", c.lib, n)
		}
		if want.Path = "/lib/x.so"; c.text != "" && want.String() != c.text {
			t.Errorf("%q, want %q", want, c.text)
		}
		// What is not root has no right to map_files, and a deleted file has no path.
		if err := os.Remove(lib); err != nil {
			t.Fatal(err)
		}
		if got, _ := NewCache("").Guest(p); got.Path != "" && got != (Guest{lib, c.want.Version, c.want.Gccgo}) {
			t.Errorf("%s, deleted: %+v", c.lib, got)
		}
	}
}

// mapped waits until a process has mapped a file.
func mapped(t *testing.T, pid int, file string) *proc.Process {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		p, err := proc.Open(pid)
		if err != nil {
			continue
		}
		objects, err := p.Objects()
		if err == nil && p.Same() == nil {
			for _, o := range objects {
				if o.Path == file {
					t.Cleanup(p.Close)
					return p
				}
			}
		}
		p.Close()
	}
	t.Fatalf("%s is not mapped", file)
	return nil
}
