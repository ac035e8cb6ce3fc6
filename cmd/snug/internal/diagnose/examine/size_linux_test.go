// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// sizing allocates steadily over a live heap of 40 MiB. The collections of its start are over when it says so.
const sizing = `package main

import (
	"fmt"
	"os"
	"time"
)

var live, short [][]byte

func main() {
	for range 40 {
		live = append(live, make([]byte, 1<<20))
	}
	fmt.Println("ready")
	go func() {
		for range time.Tick(time.Millisecond) {
			short = append(short[:0:0], make([]byte, 1<<18))
		}
	}()
	os.Stdin.Read(make([]byte, 1))
}
`

func TestSize(t *testing.T) {
	name, _ := goprogram.Launched(t, "sizing", sizing)
	pid, err := strconv.Atoi(name)
	if err != nil {
		t.Fatal(err)
	}
	files := goproc.NewCache("")
	for watch := sizeStart; ; watch *= 2 {
		d, err := Size(t.Context(), pid, watch, size.Fargate, files)
		if err != nil {
			t.Fatal(err)
		}
		if d.Collections < 10 || !d.Seen.GCCores.Known() || !d.Seen.CPUMost.Known() {
			continue // the machine is busy
		}
		s := &d.Seen
		if live := s.LiveMost.N / (1 << 20); !(live >= 40) {
			t.Errorf("live heap %v MiB", live)
		}
		if d.Memory.Value == nil || *d.Memory.Value < s.LiveMost.N || len(d.Curve) == 0 || !d.Model.Known() || !s.Over.Known() || !s.Earlier.Known() {
			t.Errorf("%+v", d)
		}
		p, err := proc.Open(pid)
		if err != nil {
			t.Fatal(err)
		}
		files, code, err := p.Files()
		if p.Close(); err != nil || code == 0 || files < code || s.Other.N < float64(code)/2 {
			t.Errorf("%v bytes are not Go's, of them files %d, code %d", s.Other.N, files, code)
		}
		if !slices.ContainsFunc(d.Unseen, func(w finding.Why) bool { return w.Code == finding.SizeYoung }) {
			t.Errorf("%v", d.Unseen)
		}
		if d.CPULimit.Value == nil || d.CPURequest.Value == nil || *d.CPULimit.Value < *d.CPURequest.Value || d.GOMAXPROCS.Value == nil {
			t.Errorf("%+v, %+v, %+v", d.CPURequest, d.CPULimit, d.GOMAXPROCS)
		}
		break
	}
}

// TestSizeRefuses: what is not there, has just started, stops, ends or is not Go has no size.
func TestSizeRefuses(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	size := func(pid int, watch time.Duration) string {
		d, err := Size(ctx, pid, watch, size.Fargate, goproc.NewCache(""))
		if err == nil {
			t.Errorf("%+v", d)
			return ""
		}
		return LookFailure(strconv.Itoa(pid), err).Error()
	}
	sleep := exec.Command("sleep", "1000")
	if err := sleep.Start(); err != nil {
		t.Fatal(err)
	}
	defer sleep.Wait()
	defer sleep.Process.Kill()
	name, _ := goprogram.Launched(t, "sizing", sizing)
	pid, err := strconv.Atoi(name)
	if err != nil {
		t.Fatal(err)
	}
	for want, got := range map[string]string{
		"no such process": size(99999999, time.Second),
		"pid " + name + " (sizing): it has just started": size(pid, time.Nanosecond),
		"not a Go program": size(sleep.Process.Pid, time.Second),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	usual := ctx
	over, end := context.WithCancel(usual)
	end()
	ctx = over
	if got := size(pid, time.Minute); !strings.Contains(got, "the watch ended after 0.") {
		t.Errorf("interrupted at once: %q", got)
	}
	ctx = usual
	done := make(chan string, 1)
	go func() { done <- size(pid, time.Minute) }()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for s := (proc.Stat{}); s.State != 'T'; s, err = proc.StatOf(pid) {
		if err != nil {
			t.Fatal(err)
		}
	}
	cancel() // the end of the watch
	if got := <-done; !strings.Contains(got, "it is stopped") {
		t.Errorf("%q", got)
	}
	ctx = t.Context()
	go func() { done <- size(pid, time.Minute) }()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // before it is watched, or while it is
		t.Fatal(err)
	}
	if got := <-done; !strings.Contains(got, "ended") && !strings.Contains(got, "no such process") {
		t.Errorf("%q", got)
	}
}

// TestUnsized: what may not be read, or is stopped, has no size.
func TestUnsized(t *testing.T) {
	g := &goproc.Facts{Pid: 7, Hint: "run as user 0"}
	g.Exe.IsGo = true
	if err := unsized(g, nil, nil); err == nil || !strings.Contains(err.Error(), "pid 7 (.): its memory may not be read") {
		t.Error(err)
	}
	g.Stat.State = 'T'
	if err := unsized(g, nil, nil); err == nil || !strings.Contains(err.Error(), "it is stopped") {
		t.Error(err)
	}
	g.Stat.State, g.Hint = 'S', ""
	if err := unsized(g, nil, nil); err != nil {
		t.Error(err)
	}
}

func TestEarlier(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct{ peak, want float64 }{
		"unknown":           {0, -1},
		"seen in the watch": {104 * mib, 0},
		"more":              {160 * mib, 60 * mib},
	} {
		w := sizeWatch{resident: 100 * mib}
		know(&w.seen.Used, 95*mib)
		w.earlier(c.peak)
		if got := w.seen.Earlier; got.Known() != (c.want >= 0) || got.Known() && got.N != c.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestMates: the processes of a cgroup, without the one that is watched and this one.
func TestMates(t *testing.T) {
	dir := t.TempDir()
	l := &limits.Limits{}
	l.Memory.HardSource.File = dir[1:] + "/memory.max"
	self := strconv.Itoa(os.Getpid())
	for text, want := range map[string]struct {
		n      int
		shared string
	}{
		"42\n":                   {0, ""},
		"42\n0\n":                {0, ""},
		"7000007\n42\n8000008\n": {2, ""},
		"42\n" + self + "\n":     {0, "snug"},
		self + "\n42\n7000007\n": {1, "snug"},
		"":                       {0, ""},
	} {
		if err := os.WriteFile(dir+"/cgroup.procs", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if n, shared := mates(l, 42); n != want.n || !strings.HasPrefix(shared, want.shared) || (shared == "") != (want.shared == "") {
			t.Errorf("%q: %d others, %q", text, n, shared)
		}
	}
}
