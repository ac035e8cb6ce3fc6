// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestLookGone: the process ends, or runs another program, between the time it
// was found and the look.
func TestLookGone(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.26"})
	for name, change := range map[string]func(*child){
		"it ended": (*child).end,
		"it ended and nobody waited for it": func(c *child) {
			c.cmd.Process.Kill()
			// A zombie has closed its files.
			if _, err := c.out.ReadByte(); err == nil {
				t.Error("the target still writes")
			}
		},
		"it runs another program": func(c *child) {
			c.in.Write([]byte("exec /bin/cat\n"))
			link := "/proc/" + strconv.Itoa(c.cmd.Process.Pid) + "/exe"
			for exe := file; exe == file; exe, _ = os.Readlink(link) {
				time.Sleep(time.Millisecond)
			}
		},
		"it runs itself once more": func(c *child) { c.in.Write([]byte("exec " + file + "\n")); c.answer() },
	} {
		t.Run(name, func(t *testing.T) {
			target := startTarget(t, exec.Command(file))
			p, err := proc.Open(target.cmd.Process.Pid)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			change(target)
			f := Look(p, NewCache(""))
			if !errors.Is(f.Err, proc.ErrGone) || f.Exe.IsGo || f.GOMAXPROCS.Known() || f.Path != "" || f.Env != nil {
				t.Errorf("%+v", f)
			}
			target.end()
			if p, err := proc.Open(target.cmd.Process.Pid); !errors.Is(err, proc.ErrGone) {
				t.Errorf("opened again: %v, %v", p, err)
			}
		})
	}
}

// askedOften is a context that does something when it is asked for its end for the nth time,
// as it is once for each sample.
type askedOften struct {
	context.Context
	n  int
	do func()
}

func (c *askedOften) Done() <-chan struct{} {
	if c.n--; c.n == 0 {
		c.do()
	}
	return c.Context.Done()
}

// TestLookExec looks at a process that goes from one program to another and
// back, all the time. Every answer is of one of them.
func TestLookExec(t *testing.T) {
	type program struct{ procs, gogc int }
	want := map[string]program{"example.com/one": {3, 33}, "example.com/two": {5, 55}}
	one := buildTarget(t, how{goLine: "1.26", main: "example.com/one"})
	two := buildTarget(t, how{goLine: "1.26", main: "example.com/two", flags: []string{"-buildmode=pie"}})
	target := startTarget(t, exec.Command(one), "GOMAXPROCS=3", "GOGC=33")
	c := NewCache("")
	become := func(file string, env string) error {
		if _, err := target.in.Write([]byte("exec " + file + " " + env + "\n")); err != nil {
			return err
		}
		_, err := target.out.ReadString('\n')
		return err
	}
	// What takes longest is done before the race.
	for _, program := range []struct{ file, env string }{{two, "GOMAXPROCS=5 GOGC=55"}, {one, "GOMAXPROCS=3 GOGC=33"}} {
		if err := become(program.file, program.env); err != nil {
			t.Fatal(err)
		}
		if f := look(t, target.cmd.Process.Pid, c); !f.GOMAXPROCS.Known() {
			t.Fatalf("%+v", f)
		}
	}
	const times, least = 25, 10
	var seen atomic.Int64
	end := time.Now().Add(time.Minute)
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer target.in.Close()
		for n := 0; n < times || seen.Load() < least && time.Now().Before(end); n++ {
			if become(two, "GOMAXPROCS=5 GOGC=55") != nil || become(one, "GOMAXPROCS=3 GOGC=33") != nil {
				return
			}
		}
	}()
	looks, gone, unknown := 0, 0, 0
	for running := true; running; {
		select {
		case <-over:
			running = false
		default:
		}
		looks++
		p, err := proc.Open(target.cmd.Process.Pid)
		if err != nil {
			// It need not have ended: where a thread other than the first calls execve(2), the
			// first is a zombie until that one has taken its place (fs/exec.c, de_thread).
			gone++
			continue
		}
		f := Look(p, c)
		p.Close()
		switch {
		case errors.Is(f.Err, proc.ErrGone):
			gone++
		case f.Err != nil:
			t.Errorf("%v", f.Err)
		case !f.GOMAXPROCS.Known():
			unknown++
		default:
			if got := (program{f.GOMAXPROCS.N, f.GOGC.N}); got != want[f.Exe.Main] || !f.GOGC.Known() || f.GOMAXPROCSBy.By != ByEnvironment {
				t.Fatalf("%s: %+v, want %+v; set by %+v with %q", f.Exe.Main, got, want[f.Exe.Main], f.GOMAXPROCSBy, f.Env)
			}
			seen.Add(1)
		}
	}
	t.Logf("%d looks, %d times gone, %d unknown", looks, gone, unknown)
	if seen.Load() < least {
		t.Errorf("%d looks, %d times gone, %d unknown: hardly anything was seen", looks, gone, unknown)
	}
}

func TestSpin(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.26", flags: []string{"-buildmode=pie", "-ldflags=-s -w"}})
	target := startTarget(t, exec.Command(file), "GOMAXPROCS=6")
	p, err := proc.Open(target.cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	f := Look(p, NewCache(""))
	ctx := context.Background()
	sample := func() SpinSummary {
		t.Helper()
		s, err := Spin(ctx, p, f, 1000, 200*time.Millisecond)
		if err != nil || s.Samples == 0 || s.GOMAXPROCS != 6 || s.Took <= 0 || s.Source == "" {
			t.Fatalf("%+v, %v", s, err)
		}
		return s
	}
	// A P whose thread has to wait for a CPU is busy for as long as that takes: on
	// busy CPUs now and then a sample has more of them.
	settles := func(what string, busy, within float64) {
		t.Helper()
		var s SpinSummary
		for range 25 {
			if s = sample(); math.Abs(s.Busy-busy) <= within {
				return
			}
		}
		t.Errorf("%s: %+v", what, s)
	}
	settles("a program that waits", 0, 1)
	target.ask("burn")
	settles("a program with two busy goroutines", 2, 0.5)
	t.Run("bad rate", func(t *testing.T) {
		for _, rate := range []int{0, -1, 1 << 30} {
			if _, err := Spin(ctx, p, f, rate, time.Second); err == nil {
				t.Errorf("rate %d is fine", rate)
			}
		}
	})
	t.Run("without counters", func(t *testing.T) {
		if _, err := Spin(ctx, p, &Facts{}, 1000, time.Second); !errors.Is(err, ErrNoCounters) {
			t.Error(err)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		if s, err := Spin(ctx, p, f, 1000, time.Hour); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", s, err)
		}
	})
	t.Run("it ends", func(t *testing.T) {
		ctx := &askedOften{ctx, 50, func() { target.cmd.Process.Kill() }}
		if s, err := Spin(ctx, p, f, 1000, time.Hour); !errors.Is(err, proc.ErrGone) || s.Samples == 0 {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
