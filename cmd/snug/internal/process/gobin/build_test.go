// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// program answers what it knows of itself: in which functions addresses lie, who
// called, and, until its input ends, through its memory.
const program = `package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"sort"
	"strings"
)

type visitor[T any] struct{ seen []T }

func (v *visitor[T]) visit(x T, then func()) { v.seen = append(v.seen, x); then() }

func outer(n int)  { middle(n) }
func middle(n int) { inner(n); inner(n - 1) }
func inner(n int) {
	if n > 100 {
		recurse(n - 1)
	}
	stack()
}

//go:noinline
func recurse(n int) { outer(n) }

func stack() {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	for i := 0; ; i++ {
		f, more := frames.Next()
		if f.PC == 0 {
			break
		}
		fmt.Printf("frame %d %d %d %q %q\n", i, f.PC, f.Line, f.Function, f.File)
		if !more {
			break
		}
	}
}

func main() {
	fmt.Println("gc", reflect.ValueOf(runtime.GC).Pointer())
	low, high := reflect.ValueOf(strings.Repeat).Pointer(), reflect.ValueOf(runtime.GC).Pointer()
	if low > high {
		low, high = high, low
	}
	for pc := low &^ 4095; pc < high; pc += (high-low)/4000&^3 + 4 {
		if runtime.FuncForPC(pc) == nil {
			continue
		}
		f, _ := runtime.CallersFrames([]uintptr{pc + 1}).Next()
		if f.Function != "" {
			fmt.Printf("pc %d %d %q %q\n", pc, f.Line, f.Function, f.File)
		}
	}
	outer(103)
	sort.Slice([]int{3, 1, 2}, func(i, j int) bool { outer(0); return i < j })
	new(visitor[string]).visit("x", func() { outer(1) })
	fmt.Println("end")
	io.Copy(io.Discard, os.Stdin)
}
`

// mode is a way to build.
type mode struct {
	arch, flags string
	cgo         bool
}

var (
	exe      = mode{arch: "amd64"}
	stripped = mode{arch: "amd64", flags: "-ldflags=-s -w"}
	pie      = mode{arch: "amd64", flags: "-buildmode=pie"}
	piestrip = mode{arch: "amd64", flags: "-buildmode=pie|-ldflags=-s -w"}
	armexe   = mode{arch: "arm64"}
	armpie   = mode{arch: "arm64", flags: "-buildmode=pie"}
	armstrip = mode{arch: "arm64", flags: "-ldflags=-s -w"}
	cgoexe   = mode{arch: "amd64", cgo: true}
	cgopie   = mode{arch: "amd64", flags: "-buildmode=pie", cgo: true}
	cgostrip = mode{arch: "amd64", flags: "-buildmode=pie|-ldflags=-s -w", cgo: true}
)

func (m mode) String() string {
	s := m.arch + strings.NewReplacer("-buildmode=", " ", "-ldflags=", " ", "|", "").Replace(m.flags)
	if m.cgo {
		s += " cgo"
	}
	return s
}

var built sync.Mutex

// dirVariable names the directory of what is built. The fuzzer's workers find it
// set: what they need is there already, and they are not asked to clean up.
const dirVariable = "SNUG_GOBIN_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(dirVariable) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "gobin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Setenv(dirVariable, dir)
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// toolchains are the releases to test with: the installed one, "local", and,
// where the environment asks for them, others.
func toolchains() []string {
	if slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "go") {
		return []string{"local", "go1.18.10", "go1.21.13", "go1.24.13", "go1.27.3"}
	}
	return []string{"local"}
}

// build returns the program's path, built once a run.
func build(t testing.TB, toolchain string, m mode) string {
	t.Helper()
	return buildOf(t, toolchain, m, "program", program)
}

// buildOf is build of another source.
func buildOf(t testing.TB, toolchain string, m mode, name, src string) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil && m.cgo {
		if len(toolchains()) > 1 {
			t.Fatal(err)
		}
		t.Skip("no gcc to link with")
	}
	built.Lock()
	defer built.Unlock()
	dir := filepath.Join(os.Getenv(dirVariable), strings.ReplaceAll(name+toolchain+m.String(), " ", "_"))
	path := filepath.Join(dir, "program")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	cgo := "CGO_ENABLED=0"
	if m.cgo {
		cgo = "CGO_ENABLED=1"
		src = strings.Replace(src, "import (", "// static int answer(void) { return 42; }\nimport \"C\"\n\nimport (", 1) + "\nvar _ = C.answer()\n"
	}
	for file, text := range map[string]string{"go.mod": "module program\n\ngo 1.18\n", "main.go": src} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"build", "-o", path, "-ldflags=-buildid=program"}
	if m == exe {
		args[3] += " -compressdwarf=false" // the others' is
	}
	if m.flags != "" {
		args = append(args, strings.Split(m.flags, "|")...)
	}
	cmd := exec.Command("go", append(args, ".")...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "GOOS=linux", "GOARCH="+m.arch, "GOTOOLCHAIN="+toolchain, cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %v: %v\n%s", toolchain, m, err, out)
	}
	return path
}

// open opens a file for the length of the test.
func open(t testing.TB, path string) *File {
	t.Helper()
	r, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	info, err := r.Stat()
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(r, info.Size())
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return f
}

func read(t testing.TB, path string) []byte {
	t.Helper()
	p, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func openBytes(p []byte) (*File, error) { return Open(bytes.NewReader(p), int64(len(p))) }
