// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestMain(m *testing.M) { goprogram.Main(m) }

// TestTopFollows: one that ends vanishes, one that begins appears, one that runs
// another program is another.
func TestTopFollows(t *testing.T) {
	pid, path := goprogram.Started(t)
	w, err := NewWatcher([]string{path}, false) // other tests have programs of this name
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if d, err := w.First(); err != nil || len(d.Processes) != 1 || strconv.Itoa(d.Processes[0].PID) != pid {
		t.Fatalf("%+v, %v", d, err)
	}
	second := exec.Command("sh", "-c", "read line; exec "+path)
	in, err := second.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := second.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer second.Process.Kill()
	seen := func() (all []int) {
		d, err := w.Look()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Processes {
			all = append(all, p.PID)
		}
		return all
	}
	if got := seen(); len(got) != 1 {
		t.Fatalf("a shell is a Go program: %v", got)
	}
	fmt.Fprintln(in)
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if got := seen(); !slices.Contains(got, second.Process.Pid) || len(got) != 2 {
		t.Fatalf("%v, want %s and %d", got, pid, second.Process.Pid)
	}
	in.Close()
	second.Wait()
	if got := seen(); len(got) != 1 {
		t.Errorf("after its end: %v", got)
	}
	if n := len(w.known); n != 1 {
		t.Errorf("%d processes are kept", n)
	}
	w.room = 0 // as where files are short
	w.known[w.pidOfOnly()].close()
	if got := seen(); len(got) != 1 || !w.known[w.pidOfOnly()].closed {
		t.Errorf("short of files: %v", got)
	}
}

func (w *watcher) pidOfOnly() int {
	for pid := range w.known {
		return pid
	}
	return 0
}

// TestTopNames: a name is waited for, its process may be started anew.
func TestTopNames(t *testing.T) {
	pid, path := goprogram.Started(t)
	w, err := NewWatcher([]string{pid, path}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.First(); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(examine.PID(pid), syscall.SIGKILL)
	goprogram.Ended(t, examine.PID(pid))
	if d, err := w.Look(); err != nil || d.Over() || len(d.Ended) > 0 || len(d.Processes) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestTopNumberOfAnother: a number that is given again is another process's.
func TestTopNumberOfAnother(t *testing.T) {
	pid, _ := goprogram.Started(t)
	n := &namedPid{}
	if n.over(examine.PID(pid)) || n.started.IsZero() {
		t.Errorf("%+v", n)
	}
	n.started = n.started.Add(-time.Minute)
	for range 2 {
		if !n.over(examine.PID(pid)) {
			t.Errorf("%+v", n)
		}
	}
	if n := (&namedPid{}); !n.over(2147483647) {
		t.Errorf("%+v", n)
	}
}

// TestTopBeside: a program that has loaded Go has a row that says so, as in ps.
func TestTopBeside(t *testing.T) {
	pid, lib, load := goprogram.Beside(t)
	load()
	w, err := NewWatcher([]string{"loader"}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for d, err := w.First(); ; d, err = w.Look() {
		i := -1
		if err == nil {
			i = slices.IndexFunc(d.Unsupported, func(u finding.Unsupported) bool { return u.PID == pid })
		}
		if i < 0 || d.Unsupported[i].Why != "Go built by gccgo, "+lib+"; its runtime is not read" {
			t.Fatalf("look %d: %+v, %v", w.tick, d, err)
		}
		if w.tick > 2*idleLooks {
			return
		}
	}
}
