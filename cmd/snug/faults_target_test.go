// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package main

import (
	"encoding/json"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// benchDocument decodes the output of snug bench --json.
func benchDocument(t *testing.T, o outcome) *finding.Bench {
	t.Helper()
	d := new(finding.Bench)
	if err := json.Unmarshal([]byte(o.stdout), d); err != nil || d.Kind != finding.KindBench {
		t.Fatalf("no document of an experiment: %v, %.200q\nstderr:\n%s", err, o.stdout, o.stderr)
	}
	return d
}

// measured runs short experiments with a window that doubles until do accepts the outcome:
// in a short window, a busy machine may answer no request.
func (l *faultLab) measured(t *testing.T, do func(outcome) bool, args []string) outcome {
	t.Helper()
	for window := 150 * time.Millisecond; ; window *= 2 {
		o := l.start(t, "", join([]string{"bench"}, quick, []string{"--window", window.String()}, args)...).wait(t)
		if do(o) || window > 5*time.Second {
			return o
		}
	}
}

func testFaultyTargets(t *testing.T, l *faultLab) {
	for _, tt := range []struct {
		name, how  string
		flags      string
		what, hint string
	}{
		{"ends at once", "exits", "", `faulty ended before it listened, exit code 3; it said: cannot open the database, nowhere\.db$`, "run it by hand"},
		{"panics at once", "panics", "", `faulty ended before it listened, exit code 2; it said: panic: nothing to serve$`, "run it by hand"},
		{"crashes in the warm-up", "crashes", "--warmup 1m", `faulty ended in the warm-up, exit code 2; it said: panic: index out of bounds$`, "keep serving"},
		{"never listens", "never-listens", "--ready 300ms", `http://127\.[0-9.]+:[0-9]+/: .*faulty does not listen after 300ms$`, "--ready"},
		{"has answered only errors", "answers-errors", "", `faulty answered every request with an error: .*503`, "by hand"},
		{"has answered only errors, to a share of its capacity", "answers-errors", "--load 80%", `(no request|every request).*503`, "by hand|--load"},
		{"closes every connection", "closes", "", `faulty answered no request, http://.*: .*(EOF|reset|closed)`, "by hand"},
		{"does not answer", "hangs", "--timeout 100ms", `faulty answered no request, http://.*: .*(100 ?ms|no answer in the whole window)`, "--timeout"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := address(t)
			o := l.measured(t, func(o outcome) bool { return regexp.MustCompile("(?m)" + tt.what).MatchString(o.stderr) },
				join(strings.Fields(tt.flags), []string{"--json", "--url", "http://" + at + "/", "--", l.faulty, tt.how, at}))
			o.fails(t, 1, tt.what, tt.hint)
			if !strings.HasPrefix(o.stdout, errorDocument) {
				t.Errorf("answers %q", o.stdout)
			}
		})
	}
	// The duration of the warm-up and the steps after it depends on the machine.
	for name, load := range map[string]string{"crashes in the window": "saturated", "crashes in an open loop": "50/s"} {
		t.Run(name, func(t *testing.T) {
			for after := 300 * time.Millisecond; ; after *= 2 {
				at := address(t)
				v := l.start(t, "", join([]string{"bench", "--url", "http://" + at + "/", "--load", load}, endless, []string{"--", l.faulty, "crashes", at, "", after.String()})...)
				if o := v.wait(t); after > 10*time.Second || !strings.Contains(o.stderr, "ended in the warm-up") {
					o.fails(t, 1, `faulty ended in the window, exit code 2; it said: panic: index out of bounds$`, "keep serving")
					return
				}
			}
		})
	}
	// These targets can be measured.
	for _, tt := range []struct{ name, how, exit string }{
		{"ignores SIGTERM", "ignores-sigterm", "ignored SIGTERM"},
		{"floods stdout and stderr", "floods", ""},
		{"leaves a daemon", "forks", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := address(t)
			o := l.measured(t, func(o outcome) bool { return o.code == 0 },
				[]string{"--gomaxprocs", "default", "--json", "--url", "http://" + at + "/", "--", l.faulty, tt.how, at})
			if o.code != 0 {
				t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
			}
			d := benchDocument(t, o)
			r := d.Cells[0].Rounds[0]
			if !strings.HasPrefix(r.Exit, tt.exit) || tt.exit == "" && r.Exit != "" || r.Ops == 0 {
				t.Errorf("exit %q, %d requests; want exit %q and some", r.Exit, r.Ops, tt.exit)
			}
		})
	}
	t.Run("batch command fails", func(t *testing.T) {
		v := l.start(t, "", join([]string{"bench"}, quick, []string{"--", l.faulty, "exits"})...)
		v.wait(t).fails(t, 1, `faulty ended with a failure, exit code 3; it said: cannot open the database, nowhere\.db$`, "by hand")
	})
	t.Run("is not there", func(t *testing.T) {
		v := l.start(t, "", "bench", "--", "./nowhere")
		v.wait(t).fails(t, 1, `nowhere`, "PATH")
	})
	t.Run("cannot be executed", func(t *testing.T) {
		v := l.start(t, "", "bench", "--", "/etc/passwd")
		v.wait(t).fails(t, 1, `/etc/passwd`, ".")
	})
	t.Run("is no Go program and fails", func(t *testing.T) {
		v := l.start(t, "", join([]string{"bench"}, quick, []string{"--", "sh", "-c", "echo no >&2; exit 4"})...)
		v.wait(t).fails(t, 1, `sh ended with a failure, exit code 4; it said: no$`, "by hand")
	})
	t.Run("no server", func(t *testing.T) {
		v := l.start(t, "", "bench", "--url", "http://"+address(t)+"/")
		v.wait(t).fails(t, 1, ": nothing listens", "start the service")
	})
}

func testPorts(t *testing.T, l *faultLab) {
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	there := busy.Addr().String()
	t.Run("in use before", func(t *testing.T) {
		v := l.start(t, "", join([]string{"bench"}, quick, []string{"--url", "http://" + there + "/", "--", l.faulty, "serves", there})...)
		v.wait(t).fails(t, 1, there+`/: something listens already`, "another port")
	})
	t.Run("in use for the program", func(t *testing.T) {
		v := l.start(t, "", join([]string{"bench"}, quick, []string{"--url", "http://" + address(t) + "/", "--", l.faulty, "serves", there})...)
		v.wait(t).fails(t, 1, `faulty ended before it listened, exit code 3; it said: .*address already in use$`, "another port")
	})
}

// testReported: variables reach a batch command, and its numbers are kept.
func testReported(t *testing.T, l *faultLab) {
	args := []string{"bench", "--cpus", "1", "--memory", "48MiB", "--rounds", "2", "--objective", "none", "--gomaxprocs", "default", "--set", "MODE=fast,PARTS=a,b",
		"--metric", "letters", "--json", "--", l.faulty}
	for _, how := range []string{"tells", "eats"} {
		d := benchDocument(t, l.start(t, "", append(args, how)...).wait(t))
		for _, c := range d.Cells {
			want := 0.0
			if c.Vars != "" {
				want = 4
			}
			if got, ok := c.Reported["letters"]; how == "tells" && (got != want || !ok) || how == "eats" && ok {
				t.Errorf("%s, %q: letters %v", how, c.Vars, c.Reported)
			}
			for _, r := range c.Rounds {
				if r.Reported["letters"] != want {
					t.Errorf("%s, %q, round %d: %v", how, c.Vars, r.Round, r.Reported)
				}
			}
		}
	}
}

// testMemory: a program that runs out of memory is a result.
func testMemory(t *testing.T, l *faultLab) {
	at := address(t)
	t.Run("check", func(t *testing.T) {
		v := l.start(t, "", strings.Fields("bench --cpus 1 --memory 48MiB --gomaxprocs 1 --rounds 6 --check -- "+l.faulty+" eats")...)
		v.wait(t).fails(t, 1, "^--check: nothing to check: every setting runs out of memory$", "--memory")
	})
	t.Run("capacity", func(t *testing.T) {
		args := strings.Fields("bench --memory 48MiB --load 50% --warmup 50ms --window 5s --url http://" + at + "/ --")
		l.start(t, "", append(args, l.faulty, "leaks", at)...).wait(t).fails(t, 1, "^--load: the capacity could not be measured.*: OOM-killed", "more memory")
	})
	for _, tt := range []struct {
		name string
		args []string
	}{
		{"service", []string{"--window", "5s", "--url", "http://" + at + "/", "--", l.faulty, "leaks", at}},
		{"batch", []string{"--", l.faulty, "eats"}},
	} {
		for _, form := range []string{"json", "text"} {
			t.Run(tt.name+", "+form, func(t *testing.T) {
				args := join([]string{"bench", "--cpus", "1", "--memory", "48MiB"}, quick)
				if form == "json" {
					args = append(args, "--json")
				}
				o := l.start(t, "", join(args, tt.args)...).wait(t)
				if o.code != 0 {
					t.Fatalf("exit code %d, stderr:\n%s", o.code, o.stderr)
				}
				if form == "text" {
					if !strings.Contains(o.stdout, "memory") || !strings.Contains(o.stdout, "OOM") && !strings.Contains(o.stdout, "killed") {
						t.Errorf("does not say that the program was killed:\n%s", o.stdout)
					}
					return
				}
				d := benchDocument(t, o)
				for _, c := range d.Cells {
					r := c.Rounds[0]
					if r.OOMKills == nil || *r.OOMKills == 0 || !strings.HasPrefix(r.Exit, "OOM-killed") {
						t.Errorf("%s: exit %q, OOM kills %v", c.GOMAXPROCS, r.Exit, r.OOMKills)
					}
					if c.Killed == nil || c.Killed.Rounds != len(c.Rounds) || c.Killed.Ratio.High != 1 {
						t.Errorf("%s: killed %+v in %d rounds", c.GOMAXPROCS, c.Killed, len(c.Rounds))
					}
					if c.CPUPerOp != nil || c.Wall != nil || c.RPS != nil {
						t.Errorf("%s: figures of a program that was killed: %v %v %v", c.GOMAXPROCS, c.CPUPerOp, c.Wall, c.RPS)
					}
				}
				if d.Verdict.Best != nil {
					t.Errorf("the verdict is %q", d.Verdict.Text)
				}
			})
		}
	}
}
