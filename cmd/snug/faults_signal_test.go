// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// stage is a moment of an experiment.
type stage struct {
	name     string
	how      string // of the target
	flags    string
	reached  func(v *invocation, log, record string) bool
	measured bool // there are results by then
}

// Unless noted, the window is so long that only a signal ends it.
var stages = []stage{
	{"before it listens", "never-listens", "--ready 1m", func(v *invocation, _, _ string) bool { return v.runs("never-listens") }, false},
	{"capacity", "ends-well", "--load 50% --window 1m --warmup 1ms", requested, false},
	{"warm-up", "ends-well", "--warmup 1m", requested, false},
	{"window", "ends-well", "--warmup 1ms --window 1m", inWindow, false},
	{"window of an open loop", "ends-well", "--warmup 1ms --window 1m --load 100/s", inWindow, false},
	{"window of a program that ignores it", "ignores-sigterm", "--warmup 1ms --window 1m", inWindow, false},
	{"between runs", "ends-well", "--rounds 1000 --warmup 1ms --window 100ms", recorded, true},
}

// requested reports whether the first request has arrived.
func requested(_ *invocation, log, _ string) bool {
	b, _ := os.ReadFile(log)
	return len(b) > 0
}

// inWindow reports whether the first request has arrived, and waits until the window has
// begun, 150 ms after the warm-up.
func inWindow(v *invocation, log, record string) bool {
	if !requested(v, log, record) {
		return false
	}
	time.Sleep(400 * time.Millisecond)
	return true
}

// recorded reports whether the record contains a run.
func recorded(_ *invocation, _, record string) bool { return lines(record) >= 2 }

func lines(file string) int {
	b, _ := os.ReadFile(file)
	return strings.Count(string(b), "\n")
}

func testInterrupts(t *testing.T, l *faultLab) {
	for _, s := range stages {
		for _, way := range []struct {
			name  string
			sig   syscall.Signal
			group bool // as a terminal does
		}{
			{"Ctrl-C", syscall.SIGINT, true},
			{"SIGINT", syscall.SIGINT, false},
			{"SIGTERM", syscall.SIGTERM, false},
		} {
			t.Run(s.name+", "+way.name, func(t *testing.T) {
				dir, at := t.TempDir(), address(t)
				log, record := filepath.Join(dir, "log"), filepath.Join(dir, "record")
				v := l.start(t, dir, join([]string{"bench", "--gomaxprocs", "1"}, strings.Fields(s.flags),
					[]string{"--json", "--record", "record", "--url", "http://" + at + "/", "--", l.faulty, s.how, at, "log"})...)
				v.keeps = []string{"log", "record"}
				v.until(t, func() bool { return s.reached(v, log, record) })
				pid := v.cmd.Process.Pid
				if way.group {
					pid = -pid
				}
				if err := syscall.Kill(pid, way.sig); err != nil {
					t.Fatal(err)
				}
				o := v.wait(t)
				o.fails(t, 130, "^snug bench: interrupted$", "^the same command resumes from record$")
				if !s.measured {
					if !strings.HasPrefix(o.stdout, errorDocument) {
						t.Errorf("answers %q", o.stdout)
					}
					return
				}
				d, runs := benchDocument(t, o), 0
				for _, c := range d.Cells {
					runs += len(c.Rounds)
				}
				if want := lines(record) - 1; d.Complete || runs != want || runs == 0 {
					t.Errorf("complete %v, %d runs; want false, the %d of the record", d.Complete, runs, want)
				}
			})
		}
	}
	const with = "^with --record FILE the same command resumes"
	for _, tt := range []struct{ name, args, runs, hint string }{
		{"built-in service", "bench --warmup 1m", "workload", with},
		{"built-in program", "bench --workload syscall --warmup 1m", "workload", with},
		{"batch command", "bench -- " + l.faulty + " sleeps", "sleeps", with},
		{"without a limit", "bench --no-limit -- " + l.faulty + " sleeps", "sleeps", with},
		{"search", "tune --cpus 1 -- " + l.faulty + " sleeps", "sleeps", with},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := l.start(t, "", strings.Fields(tt.args)...)
			v.until(t, func() bool { return v.runs(tt.runs) })
			syscall.Kill(-v.cmd.Process.Pid, syscall.SIGINT)
			command, _, _ := strings.Cut(tt.args, " ")
			v.wait(t).fails(t, 130, "^snug "+command+": interrupted$", tt.hint)
		})
	}
	t.Run("search that has found something", func(t *testing.T) {
		log := filepath.Join(t.TempDir(), "log")
		v := l.start(t, "", "tune", "--cpus", "1", "--gomaxprocs", "1,2", "--gogc", "100", "--budget", "3m", "--json", "--", l.faulty, "works", "", log)
		v.until(t, func() bool { return lines(log) >= 8 })
		syscall.Kill(-v.cmd.Process.Pid, syscall.SIGINT)
		o := v.wait(t)
		o.fails(t, 130, "^snug tune: interrupted$", with)
		d := new(finding.Tune)
		if err := json.Unmarshal([]byte(o.stdout), d); err != nil || d.Complete || d.Confirm != nil || d.Environment != nil || len(d.Stages) == 0 {
			t.Errorf("%v, answers %.200q", err, o.stdout)
		}
	})
	// From the first instruction on: before snug handles signals, it simply dies.
	t.Run("at any moment", func(t *testing.T) {
		for after := time.Duration(0); after < 240*time.Millisecond; after += 20 * time.Millisecond {
			at := address(t)
			v := l.start(t, "", join([]string{"bench", "--url", "http://" + at + "/"}, endless, []string{"--", l.faulty, "serves", at})...)
			time.Sleep(after)
			syscall.Kill(-v.cmd.Process.Pid, syscall.SIGINT)
			if o := v.wait(t); o.code != 130 {
				t.Errorf("after %s: exit code %d, want 130; stderr:\n%s", after, o.code, o.stderr)
			}
		}
	})
}

// testKilledSnug: after a kill of snug, its groups are removed and its results are not
// lost.
func testKilledSnug(t *testing.T, l *faultLab) {
	for _, s := range stages {
		t.Run(s.name, func(t *testing.T) {
			dir, at := t.TempDir(), address(t)
			log, record := filepath.Join(dir, "log"), filepath.Join(dir, "record")
			v := l.start(t, dir, join([]string{"bench", "--gomaxprocs", "1"}, strings.Fields(s.flags),
				[]string{"--record", "record", "--url", "http://" + at + "/", "--", l.faulty, s.how, at, "log"})...)
			v.keeps = []string{"log", "record"}
			v.until(t, func() bool { return s.reached(v, log, record) })
			v.cmd.Process.Kill()
			if o := v.wait(t); o.code != 128+9 {
				t.Errorf("exit code %d", o.code)
			}
		})
	}
	for _, tt := range []struct {
		name, args string
		sig        syscall.Signal
	}{
		{"with children of the program", "bench --warmup 1m --url URL -- " + l.faulty + " forks ADDRESS log", syscall.SIGKILL},
		{"without a limit", "bench --no-limit --warmup 1m --url URL -- " + l.faulty + " ignores-sigterm ADDRESS log", syscall.SIGKILL},
		{"its terminal is closed", "bench --warmup 1m --url URL -- " + l.faulty + " ignores-sigterm ADDRESS log", syscall.SIGHUP},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir, at := t.TempDir(), address(t)
			v := l.start(t, dir, strings.Fields(strings.NewReplacer("URL", "http://"+at+"/", "ADDRESS", at).Replace(tt.args))...)
			v.keeps = []string{"log"}
			v.until(t, func() bool { return requested(v, filepath.Join(dir, "log"), "") })
			v.cmd.Process.Signal(tt.sig)
			v.wait(t)
		})
	}
	for args, runs := range map[string]string{"bench --warmup 1m": "workload", "bench --workload xml/pool --warmup 1m": "workload", "tune --cpus 1 -- " + l.faulty + " sleeps": "sleeps"} {
		t.Run(args, func(t *testing.T) {
			v := l.start(t, "", strings.Fields(args)...)
			v.until(t, func() bool { return v.runs(runs) })
			v.cmd.Process.Kill()
			v.wait(t)
		})
	}
	t.Run("at any moment", func(t *testing.T) {
		for after := time.Duration(0); after < 240*time.Millisecond; after += 20 * time.Millisecond {
			at := address(t)
			v := l.start(t, "", join([]string{"bench", "--url", "http://" + at + "/"}, endless, []string{"--", l.faulty, "serves", at})...)
			time.Sleep(after)
			v.cmd.Process.Kill()
			v.wait(t)
		}
	})
	t.Run("goes on", func(t *testing.T) {
		// In a short window, a busy machine may answer no request.
		for window := 100 * time.Millisecond; !goesOn(t, l, window) && !t.Failed(); window *= 2 {
			if window > 5*time.Second {
				t.Fatal("no run is recorded")
			}
		}
	})
}

// goesOn kills an experiment and continues it from its record. It returns false if a run
// had no result.
func goesOn(t *testing.T, l *faultLab, window time.Duration) bool {
	dir, at := t.TempDir(), address(t)
	record := filepath.Join(dir, "record")
	args := strings.Fields("bench --gomaxprocs 1 --rounds 3 --objective none --warmup 1ms --json --record record --url http://" + at + "/ --window " + window.String() + " --")
	args = append(args, l.faulty, "serves", at)
	begin := func() (v *invocation, nothing func() bool) {
		v = l.start(t, dir, args...)
		v.keeps = []string{"record"}
		return v, func() bool { return strings.Contains(read(t, v.err), "answered no request") }
	}
	v, nothing := begin()
	v.until(t, func() bool { return recorded(v, "", record) || nothing() })
	if nothing() {
		v.wait(t)
		return false
	}
	v.cmd.Process.Kill()
	v.wait(t)
	kept := read(t, record)
	v, nothing = begin()
	o := v.wait(t)
	if nothing() {
		return false
	}
	if o.code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
	if !strings.HasPrefix(read(t, record), kept) {
		t.Error("the old part of the record has changed")
	}
	d, runs := benchDocument(t, o), 0
	for _, c := range d.Cells {
		runs += len(c.Rounds)
		for round := range 3 {
			if c.Rounds[round].Round != round {
				t.Errorf("round %d is %d", round, c.Rounds[round].Round)
			}
		}
	}
	if !d.Complete || runs != lines(record)-1 || runs < 6 {
		t.Errorf("complete %v, %d runs, %d in the record", d.Complete, runs, lines(record)-1)
	}
	return true
}
