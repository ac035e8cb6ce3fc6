// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// beside returns the arguments of an experiment on a server of lines, with commands beside it.
func (l *faultLab) beside(at string, flags []string, commands ...string) []string {
	args := join([]string{"bench"}, flags, []string{"--json", "--url", "tcp://" + at})
	for i := 0; i < len(commands); i += 2 {
		args = append(args, commands[i], strings.ReplaceAll(commands[i+1], "FAULTY", l.faulty))
	}
	return append(args, "--", l.faulty, "echoes", at)
}

// testLoadCommands: a load command and a prepare command that do what they should, and those
// that do not.
func testLoadCommands(t *testing.T, l *faultLab) {
	t.Run("measures", func(t *testing.T) { loadedByCommand(t, l) })
	t.Run("open loop", func(t *testing.T) {
		at := address(t)
		o := l.start(t, "", l.beside(at, join(quick, []string{"--load", "700/s"}), "--load-cmd", "OPEN=1 FAULTY loads "+at)...).wait(t)
		r := benchDocument(t, o).Cells[0].Rounds[0]
		if r.Loop != finding.LoopOpen || r.Offered == nil || *r.Offered != 700 {
			t.Errorf("%s loop, offered %v", r.Loop, r.Offered)
		}
	})
	t.Run("memory beside the server is not its own", func(t *testing.T) {
		at := address(t)
		flags := join(quick, []string{"--cpus", "1", "--memory", "16MiB"})
		o := l.start(t, "", l.beside(at, flags, "--prepare", "FAULTY eats-beside", "--load-cmd", "FAULTY loads "+at)...).wait(t)
		for _, c := range benchDocument(t, o).Cells {
			if r := c.Rounds[0]; r.OOMKills == nil || *r.OOMKills != 0 || r.Peak == nil || *r.Peak > 16<<20 || r.Ops == 0 {
				t.Errorf("%d operations, kills %v, peak %v", r.Ops, r.OOMKills, r.Peak)
			}
		}
	})
	for _, tt := range []struct{ name, when, prepare, load string }{
		{"killed while it is prepared", "OOM-killed while it was prepared", "FAULTY fills ADDRESS '' 100000000", "FAULTY loads ADDRESS"},
		{"killed in the warm-up", "OOM-killed in the warm-up", "true", "FAULTY bursts ADDRESS"},
		{"killed under load", "OOM-killed in the window", "true", `case $SNUG_PHASE in warmup) ;; *) FAULTY bursts ADDRESS;; esac`},
		{"killed under a load that does not mind", "OOM-killed in the window", "true", `case $SNUG_PHASE in warmup) ;; *) FAULTY bursts ADDRESS; echo '{"operations":1}';; esac`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := address(t)
			flags := join(quick, []string{"--cpus", "1", "--memory", "48MiB", "--window", "1m", "--warmup", "1m"})
			here := strings.NewReplacer("ADDRESS", at)
			o := l.start(t, "", l.beside(at, flags, "--prepare", here.Replace(tt.prepare), "--load-cmd", here.Replace(tt.load))...).wait(t)
			if o.code != 0 {
				t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
			}
			for _, c := range benchDocument(t, o).Cells {
				if r := c.Rounds[0]; r.Exit != tt.when || r.OOMKills == nil || *r.OOMKills == 0 || c.Killed == nil || c.Killed.Rounds != 1 {
					t.Errorf("exit %q, want %q; kills %v, %+v", r.Exit, tt.when, r.OOMKills, c.Killed)
				}
			}
		})
	}
	const byHand = "by hand"
	for _, tt := range []struct{ name, flags, prepare, load, what, hint string }{
		{"prepare fails", "", "echo no database >&2; exit 4", "true", `^the prepare command failed: exit code 4; it said: no database$`, byHand},
		{"load fails in the warm-up", "", "", "echo no; exit 5", `^the load command, in the warm-up, failed: exit code 5; it said: no$`, byHand},
		{"load fails in the window", "", "", "test $SNUG_PHASE = warmup || exit 5", `^the load command failed: exit code 5$`, byHand},
		{"load prints nothing", "", "", "true", `^the load command printed nothing$`, `^its last line must be as \{"operations"`},
		{"load prints garbage", "", "", "echo 12 requests", `^the load command printed no JSON object; its last line: 12 requests$`, "operations"},
		{"load prints no operations", "", "", `echo '{"requests":12}'`, `^the load command printed no operations, but \{"requests":12\}$`, "operations"},
		{"load prints milliseconds", "", "", `echo '{"operations":12,"p99_seconds":120}'`, `^the load command printed p99_seconds 120, and took 0\.\d\d s$`, "seconds"},
		{"load counts nothing", "", "", `echo '{"operations":0,"errors":4,"error":"refused"}'`, `^the load command counted no operation of .*faulty: refused$`, byHand},
		{"load never ends in the warm-up", "--timeout 200ms", "", "sleep 1000", `^the load command, in the warm-up, did not end in 250ms \(SNUG_SECONDS=0\.05 and 200ms more\)$`, "--timeout"},
		{"load never ends", "--timeout 500ms", "", "test $SNUG_PHASE = warmup || sleep 1000", `^the load command did not end in 650ms \(SNUG_SECONDS=0\.15 and 500ms more\)$`, "--timeout"},
		{"nothing listens there", "--ready 300ms --url tcp://127.0.0.1:1", "", "true", `^tcp://127\.0\.0\.1:1: .*faulty does not listen after 300ms$`, "--ready"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := address(t)
			commands := []string{"--load-cmd", tt.load}
			if tt.prepare != "" {
				commands = append(commands, "--prepare", tt.prepare)
			}
			l.start(t, "", l.beside(at, join(quick, strings.Fields(tt.flags)), commands...)...).wait(t).fails(t, 1, tt.what, tt.hint)
		})
	}
	t.Run("crashes under load", func(t *testing.T) {
		at := address(t)
		v := l.start(t, "", join([]string{"bench", "--url", "http://" + at + "/", "--load-cmd", "until ! curl -s http://" + at + "/; do :; done; sleep 1000"}, quick, []string{"--", l.faulty, "crashes", at})...)
		v.wait(t).fails(t, 1, `faulty ended in the (warm-up|window), exit code 2; it said: panic: index out of bounds$`, "keep serving")
	})
	t.Run("prepare alone", func(t *testing.T) {
		at, log := address(t), filepath.Join(t.TempDir(), "log")
		o := l.measured(t, func(o outcome) bool { return o.code == 0 },
			[]string{"--json", "--prepare", "echo $SNUG_PHASE $SNUG_URL >> " + log, "--url", "http://" + at + "/", "--", l.faulty, "serves", at})
		if d := benchDocument(t, o); d.Prepare == "" || lines(log) < 2 || !strings.HasPrefix(read(t, log), "prepare http://"+at+"/\n") {
			t.Errorf("prepare command %q wrote %q", d.Prepare, read(t, log))
		}
	})
	t.Run("record of another command", func(t *testing.T) {
		at, dir := address(t), t.TempDir()
		flags := join(quick, []string{"--record", "record"})
		v := l.start(t, dir, l.beside(at, flags, "--load-cmd", "FAULTY loads "+at)...)
		v.keeps = []string{"record"}
		if o := v.wait(t); o.code != 0 {
			t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
		}
		for name, commands := range map[string][]string{
			"load":    {"--load-cmd", "FAULTY loads " + at + " "},
			"prepare": {"--load-cmd", "FAULTY loads " + at, "--prepare", "true"},
		} {
			v := l.start(t, dir, l.beside(at, flags, commands...)...)
			v.keeps = []string{"record"}
			v.wait(t).fails(t, 1, `another experiment's record \(the `+name+` command is `, "another file name")
		}
	})
	for _, stage := range []string{"prepare", "load-cmd"} {
		for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGKILL} {
			t.Run(stage+" is interrupted, "+sig.String(), func(t *testing.T) {
				at, log := address(t), filepath.Join(t.TempDir(), "log")
				v := l.start(t, "", l.beside(at, endless, "--load-cmd", "true", "--"+stage, "FAULTY stays '' "+log)...)
				v.until(t, func() bool { return v.runs("sleeps") })
				syscall.Kill(-v.cmd.Process.Pid, sig)
				if o := v.wait(t); sig == syscall.SIGKILL && o.code != 128+int(sig) {
					t.Errorf("exit code %d", o.code)
				} else if sig != syscall.SIGKILL {
					o.fails(t, 130, "^snug bench: interrupted$", "--record")
				}
			})
		}
	}
}

// loadedByCommand runs an experiment with both commands, and looks at what they got and what
// came of it.
func loadedByCommand(t *testing.T, l *faultLab) {
	at, log := address(t), filepath.Join(t.TempDir(), "log")
	flags := join(quick, []string{"--users", "3", "--metric", "answers"})
	o := l.start(t, "", l.beside(at, flags, "--prepare", "FAULTY fills "+at+" "+log+" 1000000", "--load-cmd", "FAULTY loads "+at+" "+log)...).wait(t)
	if o.code != 0 {
		t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
	}
	d := benchDocument(t, o)
	for _, c := range d.Cells {
		r := c.Rounds[0]
		if r.Ops == 0 || r.Errors != 0 || r.Reported["answers"] != float64(r.Ops) || len(r.Reported) != 1 || r.Max == nil || r.Loop != finding.LoopClosed {
			t.Errorf("%d operations, %d errors, reported %v, %s loop", r.Ops, r.Errors, r.Reported, r.Loop)
		}
		if r.Window < 0.15 || r.Elapsed < r.Window || r.CPUPerOp == nil || r.Generator == nil || r.Generator.CPU == nil || *r.Generator.CPU <= 0 {
			t.Errorf("%v s of %v s, CPU per operation %v, generator %+v", r.Window, r.Elapsed, r.CPUPerOp, r.Generator)
		}
	}
	for _, c := range d.Comparisons {
		if c.Metric == "p99_seconds" {
			t.Errorf("compares the latencies of a closed loop: %+v", c)
		}
	}
	if d.LoadCommand == "" || d.Prepare == "" || d.URL != "tcp://"+at || d.Request.Method != "" {
		t.Errorf("%+v", d.Setup)
	}
	one := "fills\nwarmup 0.05 users=3 rate= tcp://" + at + "\nmeasure 0.15 users=3 rate= tcp://" + at + "\n"
	if got, _ := os.ReadFile(log); !regexp.MustCompile("^(" + regexp.QuoteMeta(one) + "){2}$").Match(got) {
		t.Errorf("the commands got\n%swant twice\n%s", got, one)
	}
}
