// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

// TestCutSituations cuts every saved situation off at each line, and at each
// byte of its end: none is read.
func TestCutSituations(t *testing.T) {
	names, err := filepath.Glob("../../../../../testdata/situations/*" + fixture.Ext)
	if err != nil || len(names) == 0 {
		t.Fatal("no situations", err)
	}
	for _, name := range names {
		if _, err := openSituation(name); err != nil {
			t.Error(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for at := range data {
			if at < len(data)-100 && data[at] != '\n' {
				continue
			}
			s, err := fixture.Parse(data[:at])
			if err == nil && complete(data[:at], s.Want) {
				t.Errorf("%s: taken for whole when cut off at byte %d of %d", name, at, len(data))
			}
		}
	}
}

// mortal is a tree whose process ends once its files have been opened.
type mortal struct {
	*fixture.FS
	ended bool
}

func (m *mortal) Open(name string) (fs.File, error) {
	if strings.HasSuffix(name, "/status") {
		defer func() { m.ended = true }()
	}
	return m.FS.Open(name)
}

func (m *mortal) Stat(name string) (fs.FileInfo, error) {
	if m.ended && strings.HasPrefix(name, "proc/") {
		return nil, fs.ErrNotExist
	}
	return m.FS.Stat(name)
}

func TestProcessEndsMeanwhile(t *testing.T) {
	tree := fixture.NewFS()
	for name, text := range map[string]string{
		"proc/42/cgroup":           "0::/\n",
		"proc/42/status":           "Cpus_allowed:\t3\n",
		"proc/42/mountinfo":        "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		"sys/fs/cgroup/cpu.max":    "100000 100000\n",
		"sys/fs/cgroup/memory.max": "max\n",
	} {
		if err := tree.Set(name, text); err != nil {
			t.Fatal(err)
		}
	}
	at := Place{root: "tree", pid: 42, fsys: tree}
	if _, err := at.read(); err != nil {
		t.Fatal(err)
	}
	at.fsys = &mortal{FS: tree}
	var f *message.Failure
	if _, err := at.read(); !errors.As(err, &f) || f.What != "pid 42 of tree: no such process" {
		t.Errorf("%v, want no such process", err)
	}
	if err := at.Alive(); !errors.Is(err, limits.ErrNoProcess) {
		t.Errorf("%v, want %v", err, limits.ErrNoProcess)
	}
}

// TestTreeIsBounded opens files that are no larger than one may be, and too
// many of them.
func TestTreeIsBounded(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	at := &tree{root: root}
	for i := range maxTree/maxFile + 1 {
		name := "file" + strconv.Itoa(i)
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(filepath.Join(dir, name), maxFile); err != nil {
			t.Fatal(err)
		}
		f, err := at.Open(name)
		if want := i < maxTree/maxFile; (err == nil) != want {
			t.Errorf("%s: %v, want it opened %v", name, err, want)
		}
		if err == nil {
			f.Close()
		}
	}
}

// TestOnlyKnownVariablesLeave holds that no other variable of a process than
// those of Go and snug can be asked for.
func TestOnlyKnownVariablesLeave(t *testing.T) {
	tree := fixture.NewFS()
	environ := "SECRET=a\x00GOMAXPROCS=3\x00GOMAXPROCS=4\x00SNUG_ROUND=floor\x00SNUG=observe\x00GODEBUG=x\x00GOFLAGS=b\x00SNUGGLE=c\x00broken\x00"
	if err := tree.Set("proc/7/environ", environ); err != nil {
		t.Fatal(err)
	}
	at := Place{root: "tree", fsys: tree, pid: 7}
	own := func(name string) string {
		return map[string]string{"SNUG_ROUND": "ceil", "GOMEMLIMIT": "1GiB"}[name]
	}
	getenv, _, gaps := at.environ(own)
	for name, want := range map[string]string{
		"GOMAXPROCS": "3", // the first wins, as in Go
		"SNUG":       "observe",
		"GODEBUG":    "x",
		"SNUG_ROUND": "ceil", // whoever asks wins
		"GOMEMLIMIT": "",     // and is not who is asked about
		"SECRET":     "",
		"GOFLAGS":    "",
		"SNUGGLE":    "",
		"broken":     "",
	} {
		if got := getenv(name); got != want {
			t.Errorf("%s=%q, want %q", name, got, want)
		}
	}
	if len(gaps) != 0 {
		t.Errorf("unknown %v", gaps)
	}
	if err := tree.Deny("proc/7/environ"); err != nil {
		t.Fatal(err)
	}
	if _, _, gaps = at.environ(own); len(gaps) != 1 || gaps[0].Field != "environment" || gaps[0].Why != "permission denied" {
		t.Errorf("unknown %v", gaps)
	}
}

// TestTreesThatCannotBeRead covers what a script run by root cannot: missing
// permissions, and a process that ends while it is read.
func TestTreesThatCannotBeRead(t *testing.T) {
	tree := func(change func(*fixture.FS) error) *fixture.FS {
		f := fixture.NewFS()
		for name, text := range map[string]string{
			"proc/self/cgroup": "0::/\n",
			"proc/7/cgroup":    "0::/\n",
			"proc/7/status":    "Cpus_allowed:\t3\n",
			"proc/1/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
		} {
			if err := f.Set(name, text); err != nil {
				t.Fatal(err)
			}
		}
		if err := change(f); err != nil {
			t.Fatal(err)
		}
		return f
	}
	for _, c := range []struct {
		name       string
		fsys       *fixture.FS
		pid        flagvalue.PID
		what, hint string
	}{
		{"proc is closed", tree(func(f *fixture.FS) error { return f.Deny("proc") }), 0,
			"proc/self of TREE: permission denied", message.OwnerHint},
		{"the process ends meanwhile", tree(func(f *fixture.FS) error { return f.Fail("proc/7/status", syscall.ESRCH) }), 7,
			"pid 7 of TREE: no such process", "it may have ended, or belong to another PID namespace"},
	} {
		t.Run(c.name, func(t *testing.T) {
			at := Place{root: "TREE", fsys: c.fsys, pid: c.pid}
			err := at.check()
			if err == nil {
				_, err = at.read()
			}
			var f *message.Failure
			if !errors.As(err, &f) || f.Code != message.ExitFailed || f.What != c.what || f.Hint != c.hint {
				t.Errorf("error %+v, want %s, %s", f, c.what, c.hint)
			}
		})
	}
}

func TestUnopenedRoot(t *testing.T) {
	for err, want := range map[error]message.Failure{
		syscall.EACCES:  {Code: message.ExitFailed, What: "DIR: permission denied", Hint: message.OwnerHint},
		syscall.ENOENT:  {Code: message.ExitFailed, What: "DIR: no such file or directory", Hint: rootHint},
		syscall.ENOTDIR: {Code: message.ExitFailed, What: "DIR: " + syscall.ENOTDIR.Error(), Hint: rootHint},
	} {
		var f *message.Failure
		if !errors.As(unopened("DIR", &os.PathError{Op: "open", Path: "DIR", Err: err}), &f) || *f != want {
			t.Errorf("%v: %+v, want %+v", err, f, want)
		}
	}
}
