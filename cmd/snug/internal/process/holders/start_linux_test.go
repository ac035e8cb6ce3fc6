// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/oldgo"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// ways are ways to link a program.
var ways = map[string][]string{
	"plain":        nil,
	"stripped":     {"-ldflags=-s -w"},
	"pie stripped": {"-buildmode=pie", "-ldflags=-s -w"},
	"cgo stripped": {"-ldflags=-s -w -linkmode=external"},
}

// releases are the Go releases to test with: "" is the installed one.
func releases() []string {
	if list := os.Getenv("SNUG_GO_RELEASES"); list != "" {
		return strings.Fields(list)
	}
	if wants() {
		return []string{"", "1.18.10", "1.20.14", "1.21.13", "1.24.13", "1.27.3"}
	}
	return []string{""}
}

func wants() bool { return slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "go") }

// each calls f with the program as each release links it, and once for arm64 if the machine can
// emulate it.
func each(t *testing.T, f func(t *testing.T, exe string)) {
	for _, release := range releases() {
		t.Run("go"+release, func(t *testing.T) {
			tool, env := "go", []string(nil)
			if release != "" && "go"+release != runtime.Version() {
				tool, env = oldgo.Tool(t, release)
			}
			for name, flags := range ways {
				t.Run(name, func(t *testing.T) { f(t, build(t, tool, env, flags)) })
			}
			t.Run(arm64, func(t *testing.T) {
				if _, err := exec.LookPath(emulator); err != nil {
					if wants() {
						t.Fatal(err)
					}
					t.Skip(emulator + " is not installed")
				}
				f(t, build(t, tool, append(env, "GOARCH=arm64"), ways["stripped"]))
			})
		})
	}
}

const (
	arm64    = "arm64 stripped"
	emulator = "qemu-aarch64"
)

// emulated reports whether a test runs its program in the emulator.
func emulated(t *testing.T) bool {
	return strings.HasSuffix(t.Name(), strings.ReplaceAll(arm64, " ", "_"))
}

func build(t *testing.T, tool string, env, flags []string) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{"go.mod": "module target\n\ngo 1.18\n", "main.go": targetSource, "native.go": noNativeSource}
	cgo := "CGO_ENABLED=0"
	if strings.HasSuffix(t.Name(), "/cgo_stripped") {
		if _, err := exec.LookPath("gcc"); err != nil && !wants() {
			t.Skip("no gcc to link with")
		}
		files["native.go"], files["native.c"], cgo = nativeSource, cSource, "CGO_ENABLED=1"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "target")
	cmd := exec.Command(tool, append(append([]string{"build", "-buildvcs=false", "-o", exe}, flags...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=", cgo), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// target is a running target.
type target struct {
	t   *testing.T
	pid int
	in  io.Writer
	out *json.Decoder
	*Reader
}

// start starts a target and opens its records.
func start(t *testing.T, exe string, env ...string) *target {
	t.Helper()
	cmd := exec.Command(exe)
	if emulated(t) {
		cmd = exec.Command(emulator, "-B", "0", exe)
	}
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
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
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	c := &target{t: t, pid: cmd.Process.Pid, in: in, out: json.NewDecoder(bufio.NewReader(out))}
	var up string
	if err := c.out.Decode(&up); err != nil {
		t.Fatal(err)
	}
	c.open(exe)
	return c
}

func (c *target) open(exe string) {
	c.t.Helper()
	p, err := proc.Open(c.pid)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { p.Close() })
	if emulated(c.t) {
		c.openEmulated(p, exe)
		return
	}
	c.Reader, err = OpenProcess(p, proc.NewBudget(c.t.Context(), proc.Amount{Bytes: 1 << 40, Calls: 1 << 40, Time: time.Hour}, nil))
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { c.Reader.Close() })
}

// openEmulated opens the records of a program in the emulator's memory, where it is at its own
// addresses.
func (c *target) openEmulated(p *proc.Process, exe string) {
	c.t.Helper()
	f, err := os.Open(exe)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		c.t.Fatal(err)
	}
	mem, err := p.Memory()
	if err != nil {
		c.t.Fatal(err)
	}
	file, err := gobin.OpenLive(f, info.Size(), mem, 0)
	if err == nil {
		c.Reader, err = open(file, mem, 0)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// ask returns the target's answer to a word.
func (c *target) ask(word string) []byte {
	c.t.Helper()
	fmt.Fprintln(c.in, word)
	var answer []byte
	if err := c.out.Decode(&answer); err != nil {
		c.t.Fatal(err)
	}
	return answer
}
