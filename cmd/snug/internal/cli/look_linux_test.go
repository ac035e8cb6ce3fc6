// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestMain(m *testing.M) { goprogram.Main(m) }

// snug runs a command line and returns its answer.
func snug(t *testing.T, args ...string) (code int, out, err string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	return spoken(args)
}

// TestPS: all knobs of a stripped program, and who set them.
func TestPS(t *testing.T) {
	pid, path := goprogram.Started(t)
	code, out, talk := snug(t, "ps", "--json", pid)
	var d finding.PS
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Processes) != 1 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	r := &d.Processes[0]
	switch {
	case strconv.Itoa(r.PID) != pid, r.Exe != path, !r.GoVersion.Known(), !strings.HasPrefix(r.GoVersion.N, "go1."):
		t.Errorf("%s: %+v", pid, r)
	case !r.GOMAXPROCS.Known(), r.GOMAXPROCS.N != 3, !r.GOMAXPROCSSource.Known(), r.GOMAXPROCSSource.N != "environment":
		t.Errorf("GOMAXPROCS: %s", out)
	case !r.GOGC.Known(), r.GOGC.N.N != 77, !r.GOMEMLIMIT.Known(), r.GOMEMLIMIT.N != 123<<20, !r.Memory.Known(), r.Memory.N < 1<<20:
		t.Errorf("memory: %s", out)
	}
	if code, out, _ := snug(t, "ps", "busy"); code != 0 || !strings.Contains(out, pid+" ") || !strings.Contains(out, "123 MiB") {
		t.Errorf("by name: exit code %d\n%s", code, out)
	}
	if code, out, talk := snug(t); !strings.Contains(out, "WORST FINDING") {
		t.Errorf("bare snug: exit code %d\n%s%s", code, out, talk)
	}
}

// TestDoctorProcess watches a process for a moment.
func TestDoctorProcess(t *testing.T) {
	pid, path := goprogram.Started(t)
	code, out, talk := snug(t, "doctor", "--json", "--duration", "1500ms", "--fail-on", "never", pid)
	var d finding.Doctor
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Targets) != 1 {
		t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
	}
	seen := map[string]float64{}
	for _, e := range d.Targets[0].Facts {
		seen[e.What] = e.Value
	}
	if seen["GOMAXPROCS"] != 3 || seen["watched for"] < 1 || !(seen["CPU used"] > 0) || !(seen["collections"] > 0) || !(seen["Ps not idle"] > 0) {
		t.Errorf("%v\n%s", seen, out)
	}
	byName, text, _ := snug(t, "doctor", "--duration", "0", "--fail-on", "never", path)
	if byName == 0 || strings.Contains(text, "GOMAXPROCS") {
		t.Errorf("the file of a program is no process: exit code %d\n%s", byName, text)
	}
	if code, text, _ := snug(t, "doctor", "--duration", "0", "--fail-on", "never", "busy"); code != 0 || !strings.Contains(text, "pid "+pid+" (busy)") {
		t.Errorf("by name: exit code %d\n%s", code, text)
	}
}

// TestDoctorFails checks the exit code 3 for findings, by --fail-on.
func TestDoctorFails(t *testing.T) {
	pid, _ := goprogram.Started(t, "GOGC=off", "GOMEMLIMIT=off")
	code, out, _ := snug(t, "doctor", "--duration", "0", pid)
	if code != message.ExitFinding || !strings.Contains(out, "[gogc-off]") || !strings.Contains(out, "fix: GOGC=100") {
		t.Errorf("exit code %d\n%s", code, out)
	}
	if code, _, _ := snug(t, "doctor", "--duration", "0", "--fail-on", "never", pid); code != 0 {
		t.Errorf("--fail-on never: exit code %d", code)
	}
}

// TestDoctorInput checks files and addresses as targets.
func TestDoctorInput(t *testing.T) {
	for _, c := range []struct {
		args []string
		code int
		want string // in what it says
	}{
		{[]string{"../profile/golog/testdata/go1.26.8.log"}, message.ExitFinding, "[gc-cpu]"},
		{[]string{"../profile/promtext/testdata/client_golang.prom"}, 0, "reported by the program"},
		{[]string{"../profile/promtext/testdata/client_golang.prom"}, 0, "unknown: the container's limits"},
		{[]string{"look_linux_test.go"}, message.ExitFailed, "no gctrace or schedtrace line"},
		{[]string{"/dev/zero"}, message.ExitFailed, "hint: "},
		{[]string{"no-such-thing"}, message.ExitFailed, "no such process, file or container"},
		{[]string{"/"}, message.ExitFailed, "not a cgroup"},
		{[]string{"2147483647"}, message.ExitFailed, "no such process"},
		{[]string{"http://127.0.0.1:1/metrics"}, message.ExitFailed, "hint: "},
		{nil, message.ExitUsage, "target missing"},
		{[]string{"--duration", "-1s", "1"}, message.ExitUsage, "--duration"},
		{[]string{"--fail-on", "bad", "1"}, message.ExitUsage, "--fail-on"},
	} {
		code, out, talk := snug(t, append([]string{"doctor", "--duration", "0"}, c.args...)...)
		if code != c.code || !strings.Contains(out+talk, c.want) || code != 0 && code != message.ExitFinding && !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit code %d, want %d with %q\n%s%s", c.args, code, c.code, c.want, out, talk)
		}
	}
}

// TestProfile: a profile of a stripped program, for go tool pprof too.
func TestProfile(t *testing.T) {
	if !strings.Contains(os.Getenv("SNUG_E2E"), "root") {
		t.Skip("set SNUG_E2E=root to sample by perf events")
	}
	pid, _ := goprogram.Started(t)
	file := filepath.Join(t.TempDir(), "cpu.pprof")
	page := filepath.Join(t.TempDir(), "flame.html")
	for d := 2 * time.Second; ; d *= 2 { // where others have the CPU there are few samples in 2 s
		code, out, talk := snug(t, "profile", pid, "--duration", d.String(), "-o", file, "--html", page)
		if code == 0 && strings.Contains(out, "main.main.func1") {
			break
		}
		if code != 0 || d > 10*time.Second {
			t.Fatalf("exit code %d\n%s%s", code, out, talk)
		}
	}
	if text, err := os.ReadFile(page); err != nil || !bytes.Contains(text, []byte("main.main.func1")) {
		t.Errorf("the page: %v", err)
	}
	top, err := exec.Command("go", "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil || !bytes.Contains(top, []byte("main.main.func1")) {
		t.Errorf("%v\n%s", err, top)
	}
	if code, out, _ := snug(t, "doctor", "--fail-on", "never", file); code != 0 || !strings.Contains(out, "perf") {
		t.Errorf("doctor on it: exit code %d\n%s", code, out)
	}
}

// service answers one request after the other, in stages. With one P it is always busy.
const service = `package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type order struct {
	ID    int
	Names []string
	Next  *order
}

var kept []*order

// parse, check and keep are the stages of a request.
func parse(texts <-chan []byte, parsed chan<- *order) {
	for text := range texts {
		o := new(order)
		if err := json.Unmarshal(text, o); err != nil {
			panic(err)
		}
		parsed <- o
	}
}

func check(parsed <-chan *order, checked chan<- *order) {
	for o := range parsed {
		if len(o.Names) > 0 {
			checked <- o
		}
	}
}

func keep(checked <-chan *order, done chan<- int) {
	for o := range checked {
		kept[o.ID%len(kept)].Next = o
		done <- o.ID
	}
}

func main() {
	for i := range 100000 {
		kept = append(kept, &order{ID: i, Names: []string{fmt.Sprint(i), "x"}})
	}
	texts, parsed, checked, done := make(chan []byte), make(chan *order), make(chan *order), make(chan int)
	go parse(texts, parsed)
	go check(parsed, checked)
	go keep(checked, done)
	fmt.Println("ready")
	names := strings.Repeat("\"a name\",", 5) + "\"the last\""
	go func() {
		for i := 0; ; i++ {
			texts <- fmt.Appendf(nil, "{\"ID\":%d,\"Names\":[%s]}", i, names)
			<-done
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
`

// TestProfileCompare: one service under few and under many Ps. The answer names scheduling and
// marking by idle Ps.
func TestProfileCompare(t *testing.T) {
	if !strings.Contains(os.Getenv("SNUG_E2E"), "root") {
		t.Skip("set SNUG_E2E=root to sample by perf events")
	}
	few, _ := goprogram.Launched(t, "service", service, "GOMAXPROCS=1", "GOGC=50")
	many, _ := goprogram.Launched(t, "service", service, "GOMAXPROCS=8", "GOGC=50")
	for span := 4 * time.Second; ; span *= 2 {
		code, out, talk := snug(t, "profile", few, many, "--json", "--duration", span.String())
		var d finding.ProfileDiff
		if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Unit != finding.UnitCores {
			t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
		}
		more := map[string]bool{}
		for _, c := range d.Classes {
			more[c.ID] = c.Shown && c.Difference > 0
		}
		if more["sched"] && more["gc.idle-mark"] && d.OverSize.Shown && d.Next == "snug explain over-size" {
			return
		}
		if span > time.Minute {
			t.Fatal(out)
		}
	}
}
