// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// node returns a node's tree, mounted from outside the namespace of process 42, which is in a
// pod of 1.5 CPUs listed after others.
func node(others int) fstest.MapFS {
	f := fstest.MapFS{
		"proc/self/cgroup":      {Data: []byte("0::/\n")},
		"proc/self/status":      {Data: []byte("Name:\tx\nPid:\t42\n")},
		"proc/self/mountinfo":   {Data: []byte("30 1 0:26 /.. /node rw - cgroup2 cgroup2 rw\n")},
		"node/cgroup.procs":     {Data: []byte("1\n")},
		"node/pod/cgroup.procs": {Data: []byte("7\n42\n")},
		"node/pod/cpu.max":      {Data: []byte("150000 100000\n")},
	}
	for i := range others {
		f[fmt.Sprintf("node/0%d/cgroup.procs", i)] = &fstest.MapFile{Data: []byte("9\n")}
	}
	return f
}

// A search visits the groups of a whole node: a Handle must not keep a file of each.
func TestSearchKeepsNoFile(t *testing.T) {
	f := node(500)
	for name, text := range map[string]string{"memory.max": "max\n", "memory.high": "max\n", "cgroup.events": "populated 1\n"} {
		f["node/pod/"+name] = &fstest.MapFile{Data: []byte(text)}
	}
	h, err := Open(Process{FS: f})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	l, err := h.Read(0)
	if err != nil || l.CPU.Quota.N != 1.5 {
		t.Fatalf("%+v, %v; want 1.5 cores", l, err)
	}
	for name := range h.files.files {
		if strings.HasPrefix(name, "/node/0") {
			t.Fatalf("%d files are kept, %s among them", len(h.files.files), name)
		}
	}
}

// TestSearchIsBounded: the maximum number of groups is searched, and one more is too many.
func TestSearchIsBounded(t *testing.T) {
	for groups, found := range map[int]bool{maxProcsRead: true, maxProcsRead + 1: false} {
		l, err := Read(Process{FS: node(groups - 1)})
		if err != nil {
			t.Fatal(err)
		}
		if found != (l.CPU.Quota == Of(1.5)) || !found && (l.CPU.Quota.State != Unknown || len(l.Gaps) == 0 || !strings.Contains(l.Gaps[0].Why, "too many groups")) {
			t.Errorf("%d groups: %v, unknown %v", groups, l.CPU.Quota, l.Gaps)
		}
	}
}

// TestLongestPath: a path too long for any system call is a gap, not a panic or no limit.
func TestLongestPath(t *testing.T) {
	for length, why := range map[int]string{maxPath - 1: "no such", maxPath: "path too long"} {
		f := fstest.MapFS{
			"proc/self/cgroup":           {Data: []byte("0::/" + strings.Repeat("a", length-1) + "\n")},
			"proc/self/mountinfo":        {Data: []byte("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
			"sys/fs/cgroup/cgroup.procs": {Data: []byte("1\n")},
		}
		l, err := Read(Process{FS: f})
		if err != nil || l.CPU.Quota.State != Unknown || len(l.Gaps) == 0 || why == "path too long" != strings.Contains(l.Gaps[0].Why, "path too long") {
			t.Errorf("%d bytes: %v, %v, %v; want %s", length, l.CPU.Quota, l.Gaps, err, why)
		}
	}
}

// TestAFileThatIsTooLong: a limit in it is unknown, however the file system reads.
func TestAFileThatIsTooLong(t *testing.T) {
	f := fstest.MapFS{
		"proc/self/cgroup":             {Data: []byte("0::/a\n")},
		"proc/self/mountinfo":          {Data: []byte("30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")},
		"sys/fs/cgroup/cgroup.procs":   {},
		"sys/fs/cgroup/a/cgroup.procs": {Data: []byte("1\n")},
		"sys/fs/cgroup/a/memory.max":   {Data: bytes.Repeat([]byte("1"), maxFile+1)},
	}
	for _, fsys := range []fs.FS{f, sequential{f}} {
		l, err := Read(Process{FS: fsys})
		if err != nil || l.Memory.Soft.State != Unknown || !slices.ContainsFunc(l.Gaps, func(g Gap) bool { return g.Why == errTooLong.Error() }) {
			t.Errorf("%T: %v, unknown %v, %v", fsys, l.Memory.Soft, l.Gaps, err)
		}
	}
}

// sequential is a file system whose files have no ReadAt.
type sequential struct{ fs.FS }

func (s sequential) Open(name string) (fs.File, error) {
	f, err := s.FS.Open(name)
	return struct{ fs.File }{f}, err
}
