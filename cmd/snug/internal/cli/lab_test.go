// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
)

func TestWritable(t *testing.T) {
	dir := t.TempDir()
	there := filepath.Join(dir, "there")
	if err := os.WriteFile(there, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		code       int // -1: fine
	}{
		{"none", "", -1},
		{"new", filepath.Join(dir, "new"), -1},
		{"there", there, -1},
		{"a device", os.DevNull, -1},
		{"stdout", "-", exitUsage},
		{"a directory", dir, exitFailed},
		{"in no directory", filepath.Join(dir, "nowhere", "new"), exitFailed},
		{"below a file", filepath.Join(there, "new"), exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := writable("--html", c.file)
			var f *failure
			if errors.As(err, &f) != (c.code >= 0) || f != nil && (f.code != c.code || f.hint == "") {
				t.Errorf("%+v, want exit code %d", err, c.code)
			}
		})
	}
	var names []string
	filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		names = append(names, filepath.Base(name))
		return err
	})
	if text, _ := os.ReadFile(there); len(names) != 2 || string(text) != "text" {
		t.Errorf("there is %q, with %q", names, text)
	}
}

func TestExplain(t *testing.T) {
	fine := context.Background()
	ended, cancel := context.WithCancel(fine)
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		err  error
		code int
		what string
		hint string
	}{
		{"interrupted", ended, context.Canceled, exitInterrupted, "interrupted", "--record"},
		{"interrupted while it failed", ended, &runner.TargetError{What: "it ended", Cure: "cure"}, exitInterrupted, "interrupted", "--record"},
		{"a failure stays what it is", ended, usage("wrong", "right"), exitUsage, "wrong", "right"},
		{"program", fine, fmt.Errorf("run 3: %w", &runner.TargetError{What: "it ended", Cure: "cure"}), exitFailed, "it ended", "cure"},
		{"limit", fine, &cgrun.SpecError{What: "too small", Cure: "more"}, exitUsage, "too small", "more"},
		{"no cgroup", fine, &cgrun.NoWayError{}, exitFailed, "no cgroup", "--no-limit"},
		{"record", fine, &experiment.RecordError{What: "cannot write", Cure: "make room"}, exitFailed, "cannot write", "make room"},
		{"generator", fine, &load.Error{What: "bad plan", Cure: "better"}, exitFailed, "bad plan", "better"},
		{"anything", fine, errors.New("broken"), exitFailed, "broken", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := lab{records: true}
			var f *failure
			if !errors.As(l.explain(c.ctx, c.err), &f) || f.code != c.code || !strings.Contains(f.what, c.what) || !strings.Contains(f.hint, c.hint) {
				t.Errorf("%+v, want %d, %q, %q", f, c.code, c.what, c.hint)
			}
		})
	}
	if err := new(lab).explain(ended, nil); err != nil {
		t.Errorf("nothing is %v", err)
	}
}

func TestHeeded(t *testing.T) {
	for _, c := range []struct {
		name string
		l    lab
		flag string // refused; "" is none
	}{
		{"nothing", lab{}, ""},
		{"body for a service", lab{body: "x", urls: []string{"http://h/"}}, ""},
		{"body for a batch command", lab{body: "x", cmd: []string{"true"}}, "--body"},
		{"body for a built-in service", lab{body: "x"}, "--body"},
		{"header", lab{header: []string{"a: b"}}, "--header"},
		{"method", lab{method: "PUT"}, "--method"},
		{"timeout of a built-in service", lab{timeout: time.Second}, ""},
		{"timeout of a batch command", lab{timeout: time.Second, cmd: []string{"true"}}, "--timeout"},
		{"patience with a built-in service", lab{ready: time.Second}, ""},
		{"patience with a batch command", lab{ready: time.Second, cmd: []string{"true"}}, "--ready"},
	} {
		err := c.l.heeded()
		if (err != nil) != (c.flag != "") || err != nil && !strings.HasSuffix(err.Error(), c.flag) {
			t.Errorf("%s: %v, want %q refused", c.name, err, c.flag)
		}
	}
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 1400 * time.Millisecond: "1 s", 61 * time.Second: "61 s", 119 * time.Second: "119 s",
		2 * time.Minute: "2 min", 150 * time.Second: "3 min", 15 * time.Minute: "15 min", 3 * time.Hour: "180 min",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// TestAgain: a next command asks about the same program in the same container,
// and shows no password.
func TestAgain(t *testing.T) {
	var b bench
	cmd := newBench(&ui{})
	fs := cmd.Flags()
	l := &b.lab
	l.flags = fs
	if err := fs.Parse([]string{"--rounds", "3", "--cpus", "0.5", "--memory", "64MiB", "--rt", "--url", "http://u:secret@127.0.0.1:1/?a=b&c"}); err != nil {
		t.Fatal(err)
	}
	l.urls = []string{"http://u:secret@127.0.0.1:1/?a=b&c"}
	l.cmd = []string{"./my server", "--flag", "it's"}
	want := " --cpus 0.5 --memory 64MiB --rt --url 'http://u:xxxxx@127.0.0.1:1/?a=b&c' -- './my server' --flag "
	if got := l.again(target...); !strings.HasPrefix(got, want) || !strings.HasSuffix(got, "'it'\\''s'") && !strings.HasSuffix(got, `"it's"`) {
		t.Errorf("got  %q\nwant %q...", got, want)
	}
	if got := (&lab{flags: fs}).again(); got != "" {
		t.Errorf("%q of no flags", got)
	}
}
