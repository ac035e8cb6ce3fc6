// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// redirect makes fd standard error until back is called.
func redirect(t *testing.T, fd int) (back func()) {
	t.Helper()
	saved, err := syscall.Dup(2)
	if err == nil {
		err = syscall.Dup3(fd, 2, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := syscall.Dup3(saved, 2, 0); err != nil {
			t.Fatal(err)
		}
		syscall.Close(saved)
	}
}

// errors makes a file standard error; text restores it and returns the file's content.
func errors(t *testing.T) (text func() string) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	back := redirect(t, int(file.Fd()))
	return func() string {
		back()
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		file.Close()
		return string(text)
	}
}

const long = 1 << 20

// TestEmit: a long text is written in full if possible, and otherwise in part.
func TestEmit(t *testing.T) {
	text := strings.Repeat("0123456789abcde\n", long/16)
	if got := said(t, func() { Emit(text) }); got != text {
		t.Errorf("a file has %d bytes of %d", len(got), len(text))
	}
	if got := said(t, func() { Emit("") }); got != "" {
		t.Errorf("%q of nothing", got)
	}

	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	back := redirect(t, int(w.Fd()))
	Emit(text) // does not wait
	r.Close()
	Emit(text) // does not end the program
	back()
	w.Close()

	// A pipe that is full.
	if r, w, err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	back = redirect(t, int(w.Fd()))
	text = strings.Repeat("0123456789abcd\n", long/15)
	Emit(text)
	back()
	w.Close()
	got := make([]byte, long)
	n, _ := r.Read(got)
	if r.Close(); n < 4000 || string(got[:n]) != text[:n] || text[n-1] != '\n' {
		t.Errorf("a pipe has %d bytes, want the lines that fit, at least a page", n)
	}
}

// TestEmitTerminal: a stopped terminal accepts part of a text.
func TestEmitTerminal(t *testing.T) {
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	var number, unlock int32
	for request, at := range map[uintptr]*int32{syscall.TIOCGPTN: &number, syscall.TIOCSPTLCK: &unlock} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), request, uintptr(unsafe.Pointer(at))); errno != 0 {
			t.Fatal(errno)
		}
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	back := redirect(t, int(terminal.Fd()))
	Emit("first\n")
	Emit(strings.Repeat("0123456789abcde\n", long/16))
	back()
	flags, _, errno := syscall.Syscall(syscall.SYS_FCNTL, terminal.Fd(), syscall.F_GETFL, 0)
	if errno != 0 || flags&syscall.O_NONBLOCK != 0 {
		t.Errorf("others that have the terminal open do not wait any more: %#x, %v", flags, errno)
	}
	const want = "first\r\n0123456789abcde\r\n"
	got := make([]byte, len(want))
	if n, err := io.ReadFull(master, got); err != nil || string(got) != want {
		t.Errorf("the terminal has %q, %v", got[:n], err)
	}
}

// TestOthers counts only processes that run this program, up to the bound.
func TestOthers(t *testing.T) {
	if os.Getenv("FIT_WAITS") != "" {
		io.Copy(io.Discard, os.Stdin) // until the test ends
		return
	}
	start := func(name string) string {
		cmd := exec.Command(name, "-test.run=^TestOthers$")
		if name != os.Args[0] {
			cmd.Args = []string{name}
		}
		cmd.Env = append(os.Environ(), "FIT_WAITS=1")
		stdin, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			stdin.Close()
			cmd.Wait()
		})
		return strconv.Itoa(cmd.Process.Pid)
	}
	self, same, other := strconv.Itoa(os.Getpid()), start(os.Args[0]), start("cat")
	dir := t.TempDir()
	var l limits.Limits
	group := func(pids ...string) {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strings.Join(pids, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	many := make([]string, 40)
	for i := range many {
		many[i] = same
	}
	for name, test := range map[string]struct {
		pids []string
		want int
	}{
		"none":                         {nil, 0},
		"itself":                       {[]string{self}, 0},
		"the same program":             {[]string{self, same}, 1},
		"another":                      {[]string{other, self}, 0},
		"outside, gone, and no number": {[]string{"0", "4194399", "x", same}, 1},
		"as many as are counted":       {many[:16], 16},
		"and more":                     {append([]string{self}, many...), 16},
	} {
		group(test.pids...)
		l.Memory.SoftSource.File = filepath.Join(dir, "memory.max")
		if got := Others(&l); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	group(same)
	for _, file := range []string{"", "memory.max", cgroup.HostMemory, "/nowhere/memory.max"} {
		l.Memory.SoftSource.File = file
		if got := Others(&l); got != 0 {
			t.Errorf("%q: %d, want none", file, got)
		}
	}
}
