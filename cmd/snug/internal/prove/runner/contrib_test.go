// SPDX-License-Identifier: Apache-2.0

//go:build unix

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestContribLoad: the scripts of contrib/load understand what their tools print. Outputs are
// of real runs; those with errors are altered.
func TestContribLoad(t *testing.T) {
	for _, tt := range []struct{ script, said, args, want string }{
		{"wrk", "wrk", "--latency -t 1 -c 8 -d 2s -s x.lua http://127.0.0.1:1/",
			"19446 ops, 0 errors, 2.04 s, 9532.35/s, closed, p50 0.000436, p99 0.05162, max 0.07942"},
		{"wrk", "wrk-errors", "", "19000 ops, 455 errors, 2.04 s, 9313.73/s, closed, p50 0.000436, p99 0.05162, max 0.07942"},
		{"wrk", "", "", "error: the load command printed nothing"},
		{"hey", "hey", "-z 2s -c 8 -q 12.5 -s x.lua http://127.0.0.1:1/",
			"3444 ops, 0 errors, 2.0445 s, 1684.52/s, closed, p50 0.0028, p95 0.0105, p99 0.0457, max 0.1276"},
		{"hey", "hey-errors", "", "3444 ops, 17 errors, 2.0445 s, 1684.52/s, closed, p50 0.0028, p95 0.0105, p99 0.0457, max 0.1276"},
		{"h2load", "h2load", "-D 2 -t 1 -c 8 -s x.lua http://127.0.0.1:1/", "23903 ops, 0 errors, 2 s, 11951.5/s, closed, max 0.09455"},
		{"h2load", "wrk", "", "error: the load command printed nothing"},
	} {
		t.Run(tt.script+" "+tt.said, func(t *testing.T) {
			out, args := contrib(t, tt.script, tt.said, "2")
			if tt.args != "" && args != tt.args+"\n" {
				t.Errorf("%s got %q, want %q", tt.script, args, tt.args)
			}
			got := ""
			res, err := readLoad(printed(out), 2.1, 2.1)
			if err != nil {
				got = "error: " + err.Error()
			} else {
				var run finding.Run
				res.fill(&run, 2.1, 0)
				*run.RPS = float64(int(*run.RPS*100+0.5)) / 100
				got = text(&run)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	t.Run("nats-bench", func(t *testing.T) {
		out, args := contrib(t, "nats-bench", "nats-bench", "0.1")
		res, err := readLoad(printed(out), 600, 0.1)
		if err != nil {
			t.Fatal(err)
		}
		times := strings.Count(args, "-s http://127.0.0.1:1/ -np 8 -ns 1 -n 100000 -s x.lua snug\n")
		if times == 0 || *res.Operations != float64(100_000*times) || *res.Seconds < 0.1 {
			t.Errorf("%v operations in %v s, of\n%s", *res.Operations, *res.Seconds, args)
		}
	})
}

// contrib runs a script of contrib/load with a tool that prints a file of testdata/load; "" is
// a tool that fails. It returns the script's output, and the arguments that the tool got.
func contrib(t *testing.T, script, said, span string) (out, args string) {
	t.Helper()
	bin := t.TempDir()
	file, err := filepath.Abs("testdata/load/" + said + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	tool := "#!/bin/sh\necho \"$@\" >>'" + bin + "/args'\ncat '" + file + "'\n"
	if said == "" {
		tool = "#!/bin/sh\nexit 1\n"
	}
	if err := os.WriteFile(filepath.Join(bin, script), []byte(tool), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "../../../../../contrib/load/"+script+".sh", "-s", "x.lua")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "SNUG_URL=http://127.0.0.1:1/", "SNUG_SECONDS="+span, "SNUG_USERS=8", "SNUG_RATE=100")
	text, err := cmd.Output()
	if (err != nil) != (said == "" || !strings.HasPrefix(said, script)) {
		t.Errorf("%v", err)
	}
	given, _ := os.ReadFile(filepath.Join(bin, "args"))
	return string(text), string(given)
}
