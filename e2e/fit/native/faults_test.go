// SPDX-License-Identifier: Apache-2.0

package native

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
)

// starts is how often a program starts in each situation.
const starts = 300

// TestStarts: with few descriptors, and with one system call that fails, a program starts as it does
// with SNUG=off.
func TestStarts(t *testing.T) {
	gate.Root(t, "root")
	// It has no timer of its own, for which the runtime opens two descriptors or ends the program.
	exe := module(t, map[string]string{"main.go": `package main

import _ "github.com/snug-go/snug/auto"

func main() {
	n := 0
	for i := range 3_000_000 {
		n += i % 7
	}
	println("hello", n)
}
`})
	// outcome returns what the program prints, and how it ends.
	outcome := func(off string, before string) string {
		cmd := exec.Command("sh", "-c", before+` "$0"`, exe)
		cmd.Env = append(os.Environ(), off)
		out, err := cmd.CombinedOutput()
		return fmt.Sprintf("%q, %v", out, err)
	}
	compare := func(t *testing.T, before string) {
		t.Helper()
		if with, without := outcome("SNUG=on", before), outcome("SNUG=off", before); with != without {
			t.Errorf("%s: %s, with SNUG=off %s", before, with, without)
		}
	}
	for files := 3; files <= 6; files++ {
		t.Run(fmt.Sprintf("%d descriptors", files), func(t *testing.T) {
			limit := fmt.Sprintf("ulimit -n %d; exec", files)
			without := outcome("SNUG=off", limit)
			for range starts {
				if with := outcome("SNUG=on", limit); with != without {
					t.Errorf("%s: %s, with SNUG=off %s", limit, with, without)
				}
			}
		})
	}
	for class, calls := range map[string][]string{
		"open": {"openat"},
		"read": {"read", "pread64", "getdents64"},
		"stat": {"newfstatat", "fstat", "readlinkat", "prlimit64", "sysinfo", "getrusage", "sched_getaffinity"},
	} {
		t.Run(class, func(t *testing.T) {
			log := filepath.Join(t.TempDir(), "log")
			for n := 0; n < starts; n++ {
				call := calls[n%len(calls)]
				errno := []string{"EIO", "EACCES", "EMFILE", "ENOENT", "ENOSYS"}[n/len(calls)%5]
				nth := n/len(calls)/5%20 + 1
				compare(t, fmt.Sprintf("exec strace -f -qq -o '%s' -e inject=%s:error=%s:when=%d", log, call, errno, nth))
			}
		})
	}
}

// TestMappedFile: pages of a file that the program has mapped before are no live heap.
func TestMappedFile(t *testing.T) {
	gate.Root(t, "root")
	exe := module(t, map[string]string{
		// Its init runs before that of snug/auto.
		"load/load.go": `package load

import (
	"os"
	"syscall"
)

var Sum byte

func init() {
	f, err := os.Open("data")
	if err != nil {
		panic(err)
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, 238<<20, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic(err)
	}
	for i := 0; i < len(b); i += 4096 {
		Sum += b[i]
	}
}
`,
		"main.go": `package main

import (
	_ "a.io/x/load"
	"fmt"
	"runtime/debug"

	_ "github.com/snug-go/snug/auto"
)

func main() { fmt.Println("memory", debug.SetMemoryLimit(-1)) }
`,
	})
	data := filepath.Join(filepath.Dir(exe), "data")
	if err := os.WriteFile(data, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(data, 238<<20); err != nil {
		t.Fatal(err)
	}
	base := app(t, "-1", 256)
	cmd := base.Command(t, "/app", exe)
	cmd.Dir = filepath.Dir(exe)
	out, err := cmd.CombinedOutput()
	if want := fmt.Sprintln("memory", 256*mib-256*mib/10); err != nil || string(out) != want {
		t.Errorf("%q, %v, want %q", out, err, want)
	}
}

// module builds a program of a module of its own, whose path comes before that of snug.
func module(t *testing.T, files map[string]string) (exe string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	files["go.mod"] = "module a.io/x\n\ngo 1.26\n\nrequire github.com/snug-go/snug v0.0.0\n\nreplace github.com/snug-go/snug => " + root + "\n"
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "x", ".")
	build.Dir, build.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return filepath.Join(dir, "x")
}
