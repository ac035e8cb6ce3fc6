// SPDX-License-Identifier: Apache-2.0

package goproc

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
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// targetSource is a program that says of itself what Look has to find out. It
// compiles with Go 1.18, and knows what it is asked for by lines on its input.
const targetSource = `package main

import (
	"bufio"
	"encoding/json"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"math"
	"strings"
	"sync"
	"syscall"
)

var keep [][]byte

func main() {
	lines := bufio.NewScanner(os.Stdin)
	out := json.NewEncoder(os.Stdout)
	out.Encode(nil) // it is up
	for lines.Scan() {
		word := strings.Fields(lines.Text())
		switch word[0] {
		case "procs":
			runtime.GOMAXPROCS(7)
		case "percent":
			debug.SetGCPercent(77)
		case "limit":
			setLimit(123 << 20)
		case "off":
			debug.SetGCPercent(-1)
		case "fill":
			for i := 0; i < 20; i++ {
				keep = append(keep, make([]byte, 1<<20))
			}
		case "gc":
			for i := 0; i < 3; i++ {
				runtime.GC()
			}
		case "wait":
			for i := 0; i < 50; i++ {
				go func() { select {} }()
			}
		case "end": // leaves goroutines for reuse
			var ended sync.WaitGroup
			for i := 0; i < 100; i++ {
				ended.Add(1)
				go ended.Done()
			}
			ended.Wait()
		case "yield":
			var ended sync.WaitGroup
			for i := 0; i < 20; i++ {
				ended.Add(1)
				go func() {
					defer ended.Done()
					for i := 0; i < 2000; i++ {
						runtime.Gosched()
					}
				}()
			}
			ended.Wait()
		case "burn":
			for i := 0; i < 2; i++ {
				go burn()
			}
		case "exec":
			syscall.Exec(word[1], word[1:2], append(word[2:], os.Environ()...)) // the first of a name counts
		case "truth":
			out.Encode(truth())
			continue
		}
		out.Encode(nil)
	}
}

// burn is named: tests look for it in profiles.
func burn() {
	for {
	}
}

func truth() map[string]interface{} {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t := map[string]interface{}{
		"procs": runtime.GOMAXPROCS(0), "version": runtime.Version(), "cpus": runtime.NumCPU(),
		"goal": m.NextGC, "collections": m.NumGC, "pause": m.PauseTotalNs, "fraction": m.GCCPUFraction,
		"mapped": m.Sys - m.HeapReleased, "allocated": m.TotalAlloc,
	}
	for key, name := range map[string]string{
		"percent": "/gc/gogc:percent", "limit": "/gc/gomemlimit:bytes", "marked": "/gc/heap/live:bytes",
		"assist": "/cpu/classes/gc/mark/assist:cpu-seconds", "dedicated": "/cpu/classes/gc/mark/dedicated:cpu-seconds",
		"markidle": "/cpu/classes/gc/mark/idle:cpu-seconds", "gcpause": "/cpu/classes/gc/pause:cpu-seconds",
		"gctotal": "/cpu/classes/gc/total:cpu-seconds", "scavenge": "/cpu/classes/scavenge/total:cpu-seconds",
		"idle": "/cpu/classes/idle:cpu-seconds", "user": "/cpu/classes/user:cpu-seconds", "total": "/cpu/classes/total:cpu-seconds",
	} {
		s := []metrics.Sample{{Name: name}}
		metrics.Read(s)
		switch s[0].Value.Kind() {
		case metrics.KindUint64:
			t[key] = s[0].Value.Uint64()
		case metrics.KindFloat64:
			t[key] = s[0].Value.Float64()
		}
	}
	t["goroutines"] = runtime.NumGoroutine()
	t["latency"] = counts("/sched/latencies:seconds")
	if t["stops"] = counts("/sched/pauses/total/gc:seconds"); len(t["stops"].(map[int64]uint64)) == 0 {
		t["stops"] = counts("/gc/pauses:seconds")
	}
	return t
}

// counts holds the durations by the lower bound of their bucket in nanoseconds; -1: below 0.
func counts(name string) map[int64]uint64 {
	s := []metrics.Sample{{Name: name}}
	metrics.Read(s)
	m := map[int64]uint64{}
	if s[0].Value.Kind() != metrics.KindFloat64Histogram {
		return m
	}
	h := s[0].Value.Float64Histogram()
	for i, n := range h.Counts {
		ns := int64(-1)
		if h.Buckets[i] >= 0 {
			ns = int64(math.Round(h.Buckets[i] * 1e9))
		}
		if n > 0 {
			m[ns] = n
		}
	}
	return m
}
`

// truth is what a target says of itself; nil is what its Go does not tell.
type truth struct {
	Procs       int
	Version     string
	CPUs        int
	Goal        uint64
	Collections uint32
	Pause       int64
	Fraction    float64
	Mapped      uint64
	Allocated   uint64
	Percent     *uint64
	Limit       *int64
	Marked      *uint64

	Goroutines     int
	Latency, Stops map[int64]uint64 // by the lower bound in nanoseconds

	Assist, Dedicated, MarkIdle, GCPause, GCTotal, Scavenge, Idle, User, Total *float64
}

// how a target is built.
type how struct {
	tool   *toolchain // nil: the Go that is installed
	arch   string     // GOARCH; "": this one
	goLine string
	main   string // path of the main package, example.com/target unless set
	cgo    bool   // link C code too, by a C linker
	bare   bool   // a program that does nothing, which is linked sooner
	flags  []string
}

// toolchain is another Go.
type toolchain struct {
	file  string
	minor int
	env   []string
}

// built are programs of the Go that is installed, by how: built once, for all tests.
var built = map[string][]byte{}

// buildTarget returns the program's file, in a folder everybody may read: one of its own
// for each call.
func buildTarget(t testing.TB, h how) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds programs; run without -short")
	}
	if h.tool != nil {
		return buildAnew(t, h)
	}
	key := fmt.Sprintf("%+v", h)
	if built[key] == nil {
		text, err := os.ReadFile(buildAnew(t, h))
		if err != nil {
			t.Fatal(err)
		}
		built[key] = text
	}
	file := filepath.Join(openFolder(t), "target")
	if err := os.WriteFile(file, built[key], 0o755); err != nil {
		t.Fatal(err)
	}
	return file
}

func buildAnew(t testing.TB, h how) string {
	t.Helper()
	if h.main == "" {
		h.main = "example.com/target"
	}
	dir := openFolder(t)
	limit := "func setLimit(n int64) { debug.SetMemoryLimit(n) }\n"
	if h.tool != nil && h.tool.minor < 19 {
		limit = "func setLimit(n int64) {}\n"
	}
	source := targetSource + limit
	if h.bare {
		source = "package main\n\nfunc main() {}\n"
	}
	for name, text := range map[string]string{"go.mod": "module " + h.main + "\n\ngo " + h.goLine + "\n", "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cgo := "CGO_ENABLED=0"
	if h.cgo {
		cgo = "CGO_ENABLED=1"
		const text = "package main\n\n// int answer(void) { return 42; }\nimport \"C\"\n\nfunc init() { _ = C.answer() }\n"
		if err := os.WriteFile(filepath.Join(dir, "c.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "target")
	tool, env := "go", []string{"GOTOOLCHAIN=local"}
	if h.tool != nil {
		tool, env = h.tool.file, h.tool.env
	}
	if h.arch != "" && h.arch != runtime.GOARCH {
		env = append(slices.Clone(env), "GOARCH="+h.arch, "CC="+os.Getenv("SNUG_GO_CC"))
	}
	cmd := exec.Command(tool, append(append([]string{"build"}, h.flags...), "-o", file, ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOWORK=off", "GOFLAGS=", cgo), env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// openFolder is a temporary folder that other users may look into.
func openFolder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "snug-goproc-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// child is a target that runs.
type child struct {
	t   testing.TB
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// knobs that the environment of a test may have and a target must not.
var knobs = []string{"GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GODEBUG"}

func startTarget(t testing.TB, cmd *exec.Cmd, env ...string) *child {
	t.Helper()
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !contains(knobs, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(append(cmd.Env, "SNUG_TEST=seen", "TOKEN=secret"), env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(c.end)
	c.answer()
	return c
}

func contains(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

func (c *child) end() {
	c.in.Close()
	c.cmd.Process.Signal(syscall.SIGKILL)
	c.cmd.Wait()
}

// ask sends a command and waits until it is done.
func (c *child) ask(command string) (answer truth) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, command+"\n"); err != nil {
		c.t.Fatal(err)
	}
	return c.answer()
}

// answer waits for the end of a command, or for a program to have started.
func (c *child) answer() (answer truth) {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(line, &answer); err != nil {
		c.t.Fatalf("%v in %q", err, line)
	}
	return answer
}

func look(t *testing.T, pid int, c *Cache) *Facts {
	t.Helper()
	p, err := proc.Open(pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	return Look(p, c)
}
