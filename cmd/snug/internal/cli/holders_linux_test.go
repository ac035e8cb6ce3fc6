// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// holding holds 24 MiB in one place, and eleven goroutines that another started.
const holding = `package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
)

var kept [][]byte

func hold() {
	for range 24 {
		kept = append(kept, make([]byte, 1<<20))
	}
}

func wait(c chan int) { <-c }

func start(n int) {
	for range n {
		go wait(make(chan int))
	}
}

func main() {
	hold()
	start(11)
	runtime.GC()
	runtime.Gosched()
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
	pprof.Lookup("heap").WriteTo(os.Stderr, 1)
}
`

// TestProfileHeap: what holds the memory of a stripped program, in all forms.
func TestProfileHeap(t *testing.T) {
	pid, _ := goprogram.Launched(t, "holding", holding)
	file, page := filepath.Join(t.TempDir(), "heap.pprof"), filepath.Join(t.TempDir(), "heap.html")
	code, out, talk := snug(t, "profile", "--heap", pid, "-o", file, "--html", page)
	if code != 0 || talk != "" || !strings.Contains(out, "main.hold (main.go:14) < main.main") || !strings.Contains(out, "as of the last completed collection") || !strings.Contains(out, "one in 512 KiB") {
		t.Errorf("exit %d, %s\n%s", code, talk, out)
	}
	p := profileIn(t, file)
	if p.DefaultSampleType != "inuse_space" || p.Period != 512<<10 {
		t.Errorf("%s, period %d", p.DefaultSampleType, p.Period)
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "main.hold") {
		t.Errorf("%v\n%.2000s", err, html)
	}
	code, out, _ = snug(t, "profile", "--heap", pid, "--json")
	var d finding.Heap
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Kind != finding.KindHeap || len(d.Top) == 0 {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if top := d.Top[0]; top.Stack[0].Function != "main.hold" || top.Live < 18<<20 || top.Live > 30<<20 || top.Ratio < .5 || d.SinceStart {
		t.Errorf("%+v", d)
	}
}

// TestProfileGoroutines: what the goroutines of a stripped program do, in all forms.
func TestProfileGoroutines(t *testing.T) {
	pid, _ := goprogram.Launched(t, "holding", holding)
	file, page := filepath.Join(t.TempDir(), "goroutines.pprof"), filepath.Join(t.TempDir(), "goroutines.html")
	code, out, talk := snug(t, "profile", pid, "--goroutines", "-o", file, "--html", page)
	if code != 0 || talk != "" || !strings.Contains(out, "12 goroutines: 11 chan receive, 1 ") || !strings.Contains(out, "main.wait (main.go:18)") || !strings.Contains(out, "by main.start (main.go:22)") {
		t.Errorf("exit %d, %s\n%s", code, talk, out)
	}
	for _, s := range profileIn(t, file).Sample {
		if s.Value[0] == 11 && (s.Label["state"][0] != "chan receive" || s.Label["created by"][0] != "main.start") {
			t.Errorf("%v", s.Label)
		}
	}
	if html, err := os.ReadFile(page); err != nil || !strings.Contains(string(html), "main.wait") {
		t.Errorf("%v\n%.2000s", err, html)
	}
	code, out, _ = snug(t, "profile", pid, "--goroutines", "--json")
	var d finding.Goroutines
	if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || d.Kind != finding.KindGoroutines || d.Total != 12 || d.Unread != 0 {
		t.Fatalf("exit %d, %v\n%s", code, err, out)
	}
	if g := d.Groups[0]; g.Count != 11 || g.State != "chan receive" || !strings.HasPrefix(g.Start, "main.start.") || g.Creator == nil || g.Creator.Function != "main.start" || g.Cut || len(g.IDs) != 5 {
		t.Errorf("%+v", g)
	}
}

func profileIn(t *testing.T, file string) *profile.Profile {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := profile.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestHoldersFail: what cannot be answered says why, and what would help.
func TestHoldersFail(t *testing.T) {
	off, _ := goprogram.Launched(t, "holding", holding, "GODEBUG=memprofilerate=0")
	without, _ := goprogram.Started(t)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--heap", off}, message.ExitFailed, "set MemProfileRate to 0"},
		{[]string{"--heap", without}, message.ExitFailed, "the linker left it out"},
		{[]string{"--heap", strconv.Itoa(os.Getppid())}, message.ExitFailed, ", pid "},
		{[]string{"--heap", "--goroutines", without}, message.ExitUsage, "write one of them"},
		{[]string{"--heap", "--duration", "1s", without}, message.ExitUsage, "--duration is for CPU time"},
		{[]string{"--goroutines", "../profile/golog/testdata/go1.26.8.log"}, message.ExitFailed, "no printed goroutine in it"},
	} {
		code, out, talk := snug(t, append([]string{"profile"}, c.args...)...)
		if code != c.code || out != "" || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit %d, %s%s", c.args, code, out, talk)
		}
	}
	if code, _, talk := snug(t, "profile", "--goroutines", without); code != 0 {
		t.Errorf("without a heap profile: exit %d, %s", code, talk)
	}
}
