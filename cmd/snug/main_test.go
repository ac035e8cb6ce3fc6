// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/snug-go/snug/cmd/snug/internal/cli/small"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/limits"
)

var update = flag.Bool("u", false, "write what the commands print now into testdata/script; review the diff")

// commands are programs that scripts can execute.
var commands = map[string]func(){"snug": main, "snug-run": func() {
	cgrun.ChildMain()
	os.Exit(small.Main(&ui.UI{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv}, os.Args[1:]))
}}

func TestMain(m *testing.M) { testscript.Main(m, commands) }

// TestScripts runs testdata/script: one behaviour per file. It adds the commands
//
//	json KIND         stdout is one document of this kind, its first fields first
//	exits CODE CMD    as exec, for a command that ends with this exit code
//
// and the conditions [e2e:root], true when SNUG_E2E has the word root, and [confined], true when this test itself
// has a CPU quota or a memory limit.
func TestScripts(t *testing.T) {
	situations, err := filepath.Abs("../../testdata/situations")
	if err != nil {
		t.Fatal(err)
	}
	profiles, err := filepath.Abs("testdata/profiles")
	if err != nil {
		t.Fatal(err)
	}
	// Scripts have no HOME; the programs they build share this test's cache.
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			for _, name := range []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC", "GODEBUG"} {
				e.Setenv(name, "")
			}
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			e.Setenv("SNUG_E2E", os.Getenv("SNUG_E2E"))
			free, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			e.Setenv("FREE", free.Addr().String())
			free.Close()
			return errors.Join(os.Symlink(situations, filepath.Join(e.WorkDir, "situations")), os.Symlink(profiles, filepath.Join(e.WorkDir, "profiles")))
		},
		Condition: func(cond string) (bool, error) {
			if cond == "confined" {
				l, err := limits.Self()
				_, quota := l.CPU.Quota.Get()
				_, memory := l.Memory.Hard.Get()
				return quota || memory, err
			}
			word, ok := strings.CutPrefix(cond, "e2e:")
			if !ok {
				return false, os.ErrInvalid
			}
			return slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), word), nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"json": oneDocument, "exits": exits},
	})
}

func oneDocument(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json KIND")
	}
	line := ts.ReadFile("stdout")
	if !strings.HasPrefix(line, `{"snug":"v1","kind":"`+args[0]+`",`) {
		ts.Fatalf("does not begin as a document of kind %s: %.60s", args[0], line)
	}
	if strings.Count(line, "\n") != 1 || !strings.HasSuffix(line, "\n") {
		ts.Fatalf("not one line: %q", line)
	}
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	var v map[string]any
	if err := d.Decode(&v); err != nil {
		ts.Fatalf("not JSON: %v", err)
	}
	if bad := undescribed([]byte(line)); bad != "" {
		ts.Fatalf("not as snug explain json:%s describes it: %s", args[0], bad)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE CMD [ARG...]")
	}
	code := "0"
	var exit *exec.ExitError
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		code = strconv.Itoa(exit.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}
