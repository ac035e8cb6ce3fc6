// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

// TestCutSituations cuts every saved situation off at each line, and at each
// byte of its end: none is read.
func TestCutSituations(t *testing.T) {
	names, err := filepath.Glob("../../../../testdata/situations/*" + fixture.Ext)
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
	at := place{root: "tree", pid: 42, fsys: tree}
	if _, err := at.read(); err != nil {
		t.Fatal(err)
	}
	at.fsys = &mortal{FS: tree}
	var f *failure
	if _, err := at.read(); !errors.As(err, &f) || f.what != "no such process, pid 42 of tree" {
		t.Errorf("%v, want no such process", err)
	}
	if err := at.alive(); !errors.Is(err, limits.ErrNoProcess) {
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
