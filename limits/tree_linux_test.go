// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/snug-go/snug/internal/cgroup"
)

// TestGroup: a directory is a group if it is on the mount's device and has a cgroup.procs. A
// mount of a removed group is on that device, but empty.
func TestGroup(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(dir, &st); err != nil {
		t.Fatal(err)
	}
	here := &cgroup.Mount{Major: uint32(st.Dev>>8) & 0xfff, Minor: uint32(st.Dev&0xff | st.Dev>>12&^0xff)} // makedev(3)
	elsewhere := &cgroup.Mount{Major: here.Major, Minor: here.Minor + 1}
	expect := func(dir string, at *cgroup.Mount, want error) {
		t.Helper()
		if err := m.group(dir, at); err != want {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	expect(dir+"/missing", here, errNoDirectory)
	expect(dir, here, errNoProcs)
	expect(dir, elsewhere, errCovered)
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	expect(dir, here, nil)
	expect(dir, elsewhere, errCovered)
	expect(dir+"/cgroup.procs", here, errNoDirectory)
}

// TestPipeDoesNotBlock reads a pipe without a writer, which may be mounted over a cgroup's
// file.
func TestPipeDoesNotBlock(t *testing.T) {
	name := filepath.Join(t.TempDir(), "cpu.max")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := m.read(name, make([]byte, 0, 64), false); len(text) > 0 {
		t.Errorf("read %q", text)
	}
	f, err := m.open(name)
	if err != nil {
		return
	}
	defer f.close()
	if n, _ := f.readAt(make([]byte, 64), 0); n > 0 {
		t.Errorf("read %d bytes", n)
	}
}

// TestList: directories only, with their inodes, all of them or until f returns false.
func TestList(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	want := map[string]uint64{}
	for i := range 700 { // more than one system call returns
		name := fmt.Sprintf("group%d", i)
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		var st syscall.Stat_t
		if err := syscall.Stat(filepath.Join(dir, name), &st); err != nil {
			t.Fatal(err)
		}
		want[name] = st.Ino
		if got, ok := m.inode(filepath.Join(dir, name)); got != st.Ino || !ok {
			t.Errorf("%s: inode %d, want %d", name, got, st.Ino)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	if err := m.list(dir, func(name string, inode uint64) bool { got[name] = inode; return true }); err != nil || !maps.Equal(got, want) {
		t.Errorf("%d directories, %v; want %d", len(got), err, len(want))
	}
	n := 0
	if err := m.list(dir, func(string, uint64) bool { n++; return n < 3 }); err != nil || n != 3 {
		t.Errorf("%d directories, %v; want to stop at the third", n, err)
	}
	missing := filepath.Join(dir, "missing")
	if err := m.list(missing, func(string, uint64) bool { return true }); err != syscall.ENOENT {
		t.Errorf("a missing directory: %v", err)
	}
	if n, ok := m.inode(missing); n != 0 || ok || !m.missing(missing) || m.missing(dir) || !m.missing(filepath.Join(dir, "file")) {
		t.Error("a missing directory, one that is there, and a file")
	}
}

// TestLongNames reads files with paths just below and at the length from which they are opened
// relative to a directory, level by level.
func TestLongNames(t *testing.T) {
	m, err := thisMachine()
	if err != nil {
		t.Fatal(err)
	}
	defer m.release()
	dir := t.TempDir()
	var files []string
	for len(dir) < 2*longPath {
		dir += "/" + strings.Repeat("d", 40)
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"/cpu.max", "/memory.max"} {
			if err := os.WriteFile(dir+name, []byte(dir+name), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, dir+name)
		}
	}
	slices.Reverse(files) // from the inside outwards, as levels are read
	for _, name := range files {
		// A buffer filled to the last byte, and one that is not.
		for _, size := range []int{len(name), len(name) + 1, 16} {
			if text, err := m.read(name, make([]byte, 0, size), true); err != nil || string(text) != name {
				t.Errorf("%q, %v, want %q", text, err, name)
			}
		}
	}
	if kept := m.dir; kept == "" || len(kept) < longPath-40 {
		t.Errorf("the directory of %q is open", kept)
	}
	if _, err := m.read(files[0]+"x", make([]byte, 0, 16), false); err != syscall.ENOENT {
		t.Errorf("a missing file: %v", err)
	}
}

// A counting tree counts reads, and lets some fail.
type counting struct {
	fsTree
	reads map[string]int
	fail  map[string]error
}

func (c counting) read(name string, buf []byte, long bool) ([]byte, error) {
	if c.reads[name]++; c.fail[name] != nil {
		return nil, c.fail[name]
	}
	return c.fsTree.read(name, buf, long)
}

// TestRefusalsEnd: what is refused is read again at every 32nd poll, four times, and what there is no place
// for at most until then: each time may be a line in an audit log.
func TestRefusalsEnd(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	const quota, memory = "/sys/fs/cgroup/a/cpu.max", "/sys/fs/cgroup/a/memory.max"
	for _, c := range []struct {
		name, file string
		fail       map[string]error
		most       int
	}{
		{"the mount table, and the group is gone", ownMounts, map[string]error{ownMounts: syscall.EACCES, quota: syscall.ENODEV}, 1 + 1 + maxRefused},
		{"a limit that is not kept", memory, map[string]error{memory: syscall.EACCES}, 1 + (1+maxRefused)*rescan},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := counting{fsTree{fstest.MapFS{
				"proc/self/cgroup":             file("0::/a\n"),
				"proc/self/mountinfo":          file("30 20 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
				"sys/fs/cgroup/a/cgroup.procs": file("1\n"),
				"sys/fs/cgroup/a/cpu.max":      file("100000 100000\n"),
				"sys/fs/cgroup/a/memory.max":   file("1048576\n"),
			}}, map[string]int{}, nil}
			f := &Follower{m: new(machine), r: reader{tree: tree, tables: []string{ownMounts}}}
			f.r.start("/proc/self")
			var l Limits
			f.Read(&l)
			if l.CPU.Quota != Of(1.0) || l.Memory.Hard != Of[int64](1<<20) {
				t.Fatalf("%+v", l)
			}
			tree.fail = c.fail
			f.r.tree = tree
			for range 20 * rescan {
				f.Read(&l)
			}
			if n := tree.reads[c.file]; n > c.most || n <= maxRefused {
				t.Errorf("%d reads of %s, want at most %d and each retry", n, c.file, c.most)
			}
		})
	}
}
