// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/limits"
)

// hold is a child of testRealCharge. It allocates and frees as commanded, by a line "anon MIB",
// "free" or "file MIB PATH", and answers each with a line.
func hold(in io.Reader, out io.Writer) {
	var held []byte
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var what, path string
		var mib int
		fmt.Sscan(lines.Text(), &what, &mib, &path)
		var err error
		switch what {
		case "anon":
			if held, err = syscall.Mmap(-1, 0, mib<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON); err == nil {
				for i := 0; i < len(held); i += 4096 {
					held[i] = 1
				}
			}
		case "free":
			err = syscall.Munmap(held)
		case "file":
			var f *os.File
			if f, err = os.Create(path); err == nil {
				block := make([]byte, 64<<10)
				for i := 0; i < mib<<20 && err == nil; i += len(block) {
					_, err = f.Write(block)
				}
				f.Close()
			}
		}
		fmt.Fprintln(out, "done", err)
	}
}

// A holder is a running hold.
type holder struct {
	t   *testing.T
	pid int
	in  io.WriteCloser
	out *bufio.Reader
}

func newHolder(t *testing.T, in *group) *holder {
	t.Helper()
	child := exec.Command("/proc/self/exe")
	child.Env = []string{"SNUG_TEST_HOLD=1", "GOGC=off"}
	stdin, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		child.Wait()
	})
	in.join(t, child.Process.Pid)
	h := &holder{t, child.Process.Pid, stdin, bufio.NewReader(stdout)}
	h.do("nothing") // it has started, and needs no more memory for itself
	return h
}

func (h *holder) do(format string, args ...any) {
	h.t.Helper()
	line := fmt.Sprintf(format, args...)
	fmt.Fprintln(h.in, line)
	if answer, err := h.out.ReadString('\n'); err != nil || answer != "done <nil>\n" {
		h.t.Fatalf("%s: %q, %v", line, answer, err)
	}
}

// placeFor makes a directory on tmpfs, or else on a file system whose pages are page cache. The
// test machine has no disk, so ramfs replaces one.
func placeFor(t *testing.T, tmpfs bool) string {
	t.Helper()
	const magic = 0x01021994 // linux/magic.h, TMPFS_MAGIC
	for _, parent := range []string{"/dev/shm", "", "/var/tmp", "."} {
		var st syscall.Statfs_t
		if dir, err := os.MkdirTemp(parent, "limits-test-"); err == nil {
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := syscall.Statfs(dir, &st); err == nil && (st.Type == magic) == tmpfs {
				return dir
			}
		}
	}
	dir, fstype := t.TempDir(), "ramfs"
	if tmpfs {
		fstype = "tmpfs"
	}
	if err := syscall.Mount(fstype, dir, fstype, 0, ""); err != nil {
		t.Fatalf("mount %s: %v", fstype, err)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// testRealCharge compares readings with what children in real groups hold: anonymous memory,
// tmpfs and page cache.
func testRealCharge(t *testing.T) {
	outer := newGroup(t, nil, "limits-charge-"+strconv.Itoa(os.Getpid()))
	if !outer.v1 {
		outer.write(t, outer.cpu, "cgroup.subtree_control", "+cpu +memory")
	}
	inner, other := newGroup(t, outer, "inner"), newGroup(t, outer, "other")
	inner.limit(t, 256<<20)
	shared, disk := placeFor(t, true), placeFor(t, false)
	child, neighbour := newHolder(t, inner), newHolder(t, other)

	const mib = 1 << 20
	follow := func(pid int) *handle {
		return openParts(t, limits.Process{PID: pid}, limits.Counters|limits.Unreclaimable)
	}
	charge := func(h *handle) int64 {
		l := read(t, h)
		n, ok := l.Memory.Unreclaimable.Get()
		if !ok {
			t.Fatalf("unknown: %v", l.Gaps)
		}
		return n
	}
	other.limit(t, 512*mib)
	beside := charge(follow(neighbour.pid))
	neighbour.do("anon 40")
	h := follow(child.pid)
	// The kernel's sums may lag by 256 KiB for each CPU. They are updated every 2 s, or
	// later on a busy machine.
	expect := func(when string, want int64) {
		t.Helper()
		off := charge(h) - want
		for late := time.Now().Add(time.Minute); time.Now().Before(late) && (off < -3*mib || off > 3*mib); {
			time.Sleep(100 * time.Millisecond)
			off = charge(h) - want
		}
		t.Logf("%s: %+.2f MiB off", when, float64(off)/mib)
		if off < -3*mib || off > 3*mib {
			t.Errorf("%s: %+.2f MiB off, want 3 at most", when, float64(off)/mib)
		}
	}
	base := charge(h)
	if base > 32*mib { // with the race detector, 17 and more
		t.Errorf("%d bytes for a process that has hardly begun", base)
	}
	child.do("anon 64")
	expect("anonymous memory", base+64*mib)
	child.do("file 20 %s", filepath.Join(shared, "file"))
	expect("and tmpfs", base+84*mib)
	child.do("file 48 %s", filepath.Join(disk, "file"))
	expect("and page cache", base+84*mib)
	if current, _ := read(t, h).Memory.Current.Get(); current < base+84*mib+40*mib {
		t.Errorf("current = %d: the page cache is not charged here, and nothing was tested", current)
	}
	expect("and a neighbour's, outside the limit", base+84*mib)
	outer.limit(t, 250*mib)
	expect("and a neighbour's, under the limit", base+beside+124*mib)
	outer.limit(t, 2048*mib)
	child.do("free")
	expect("tmpfs and page cache are left", base+20*mib)
}
