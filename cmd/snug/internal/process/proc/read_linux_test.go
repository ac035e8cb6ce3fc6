// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain makes the test's own binary the program that the tests read.
func TestMain(m *testing.M) {
	if pid, err := strconv.Atoi(os.Getenv("PROC_TEST_LOOK")); err == nil {
		_, err := Open(pid)
		fmt.Println(Hidden(), err)
		return
	}
	if pid, err := strconv.Atoi(os.Getenv("PROC_TEST_READ")); err == nil {
		readChild(pid)
		return
	}
	if os.Getenv("PROC_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	fmt.Println("up")
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		switch lines.Text() {
		case "exec":
			syscall.Exec("/proc/self/exe", os.Args, os.Environ())
		}
	}
}

type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func start(t *testing.T, change func(*exec.Cmd), env ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(env, "PROC_TEST_CHILD=1")
	change(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := &child{t, cmd, in, bufio.NewReader(out)}
	t.Cleanup(c.end)
	c.up()
	return c
}

func (c *child) up() {
	c.t.Helper()
	if line, err := c.out.ReadString('\n'); line != "up\n" {
		c.t.Fatalf("%q, %v", line, err)
	}
}

func (c *child) end() {
	c.in.Close()
	c.cmd.Process.Kill()
	c.cmd.Wait()
}

func asItIs(*exec.Cmd) {}

func (c *child) open() *Process {
	c.t.Helper()
	p, err := Open(c.cmd.Process.Pid)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(p.Close)
	return p
}

func TestProcess(t *testing.T) {
	before := time.Now()
	c := start(t, asItIs, "GOMAXPROCS=3", "SNUG_X=y", "TOKEN=secret")
	p := c.open()
	if pids, err := Pids(); err != nil || !slices.Contains(pids, p.Pid()) || !slices.Contains(pids, os.Getpid()) {
		t.Errorf("%v, %v", pids, err)
	}
	exe, _ := os.Executable()
	s := p.First()
	if !strings.HasPrefix(filepath.Base(exe), s.Name) || s.Parent != os.Getpid() || s.Threads < 1 || s.Kernel || s.Forked || s.RSSBytes < 1<<20 {
		t.Errorf("%+v", s)
	}
	// The kernel rounds to 10 ms, the clocks are read one after the other.
	if s.Started.Before(before.Add(-time.Second)) || s.Started.After(time.Now().Add(time.Second)) {
		t.Errorf("started %v, want after %v", s.Started, before)
	}
	if st, err := p.Status(); err != nil || st.UID != os.Geteuid() || st.NSPid < 1 {
		t.Errorf("%+v, %v", st, err)
	}
	if n, err := p.Affinity(0); err != nil || n < 1 {
		t.Errorf("%d, %v", n, err)
	}
	if path, deleted, err := p.Exe(); path != exe || deleted || err != nil {
		t.Errorf("%q, %v, %v", path, deleted, err)
	}
	id, err := p.ExeID()
	if info, _ := os.Stat(exe); err != nil || id.Size != info.Size() || id.Wrote != info.ModTime().UnixNano() {
		t.Errorf("%+v, %v", id, err)
	}
	f, opened, err := p.OpenExe()
	if err != nil || opened != id {
		t.Fatalf("%+v, %v, want %+v", opened, err, id)
	}
	defer f.Close()
	if env, err := p.Environ(); err != nil || len(env) != 1 || env["GOMAXPROCS"] != "3" {
		t.Errorf("%q, %v", env, err)
	}
	if d, err := p.RunDelay(1000); err != nil || d.Run <= 0 || d.Threads < 1 || d.Unread != 0 {
		t.Errorf("%+v, %v", d, err)
	}
	if d, err := p.RunDelay(1); err != nil || d.Threads != 1 || d.Unread < 1 {
		t.Errorf("%+v, %v", d, err)
	}
	mem, err := p.Memory()
	if err != nil {
		t.Fatal(err)
	}
	entry, err := p.AuxEntry()
	if err != nil {
		t.Fatal(err)
	}
	var b [8]byte
	if n, err := mem.ReadAt(b[:], int64(entry)); n != 8 || err != nil || b == [8]byte{} {
		t.Errorf("%x, %d, %v", b, n, err)
	}
	for _, addr := range []int64{0, -1, -1 << 63, 1<<63 - 1, 4096} {
		if n, err := mem.ReadAt(b[:], addr); n != 0 || !errors.Is(err, ErrNone) {
			t.Errorf("address %#x: %d, %v", addr, n, err)
		}
	}
	if err := p.Same(); err != nil {
		t.Error(err)
	}
}

// gone calls every method and wants ErrGone each time.
func gone(t *testing.T, p *Process, all bool) {
	t.Helper()
	check := func(name string, err error) {
		if !errors.Is(err, ErrGone) {
			t.Errorf("%s: %v, want that it is gone", name, err)
		}
	}
	check("Same", p.Same())
	_, err := p.Memory()
	if p.mem == nil { // what was opened before is opened
		check("Memory", err)
	} else {
		_, err = p.mem.ReadAt(make([]byte, 8), int64(p.mem.entry))
		check("ReadAt", err)
	}
	if !all {
		return
	}
	_, err = p.Stat()
	check("Stat", err)
	_, err = p.Affinity(0)
	check("Affinity", err)
	_, _, err = p.Exe()
	check("Exe", err)
	_, err = p.ExeID()
	check("ExeID", err)
	_, _, err = p.OpenExe()
	check("OpenExe", err)
}

// zombie waits until a killed process is a zombie. Its first thread is a zombie as soon as it has
// ended; the memory remains until the other threads have ended too.
func (c *child) zombie() {
	dir := fmt.Sprintf("/proc/%d", c.cmd.Process.Pid)
	for {
		text, err := os.ReadFile(dir + "/stat")
		threads, _ := os.ReadDir(dir + "/task")
		if err != nil || strings.Contains(string(text), ") Z ") && len(threads) == 1 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestGone(t *testing.T) {
	for _, opened := range []bool{false, true} {
		for name, change := range map[string]func(c *child) (ended bool){
			"ended":    func(c *child) bool { c.end(); return true },
			"a zombie": func(c *child) bool { c.cmd.Process.Kill(); c.zombie(); return true },
			"exec":     func(c *child) bool { io.WriteString(c.in, "exec\n"); c.up(); return false },
		} {
			t.Run(fmt.Sprintf("%s, memory opened before %v", name, opened), func(t *testing.T) {
				c := start(t, asItIs)
				p := c.open()
				if opened {
					if _, err := p.Memory(); err != nil {
						t.Fatal(err)
					}
				}
				gone(t, p, change(c))
				if name == "exec" {
					if err := c.open().Same(); err != nil {
						t.Errorf("opened anew: %v", err)
					}
				}
			})
		}
	}
	if _, err := Open(1 << 30); !errors.Is(err, ErrGone) {
		t.Errorf("no such number: %v", err)
	}
}

func root1(t *testing.T) {
	t.Helper()
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to run as root")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root, but this is not root")
	}
}

// TestReused: the number of an ended process is given to another one.
// TestHidepid looks at a process of root as another user, where /proc hides it.
func TestHidepid(t *testing.T) {
	root1(t)
	c := start(t, asItIs)
	pid := strconv.Itoa(c.cmd.Process.Pid)
	exe := readable(t)
	for option, want := range map[string]string{
		"hidepid=0": "false <nil>\n", "hidepid=1": "false /proc/" + pid + "/stat: not permitted\n", "hidepid=2": "true pid " + pid + ": process is gone\n",
	} {
		cmd := exec.Command("unshare", "-m", "sh", "-c", "mount -t proc -o "+option+` proc /proc && exec setpriv --reuid=65534 --regid=65534 --clear-groups "$0"`, exe)
		cmd.Env = append(os.Environ(), "PROC_TEST_LOOK="+pid)
		if got, err := cmd.CombinedOutput(); err != nil || string(got) != want {
			t.Errorf("%s: %.300s, %v, want %s", option, got, err, want)
		}
	}
}

// readable returns a copy of the test's own program that every user may run.
func readable(t *testing.T) (exe string) {
	t.Helper()
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("/tmp", "snug-test-") // readable by all, as t.TempDir is not
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe = filepath.Join(dir, "look")
	if err := errors.Join(os.Chmod(dir, 0o755), os.WriteFile(exe, text, 0o755)); err != nil {
		t.Fatal(err)
	}
	return exe
}

// TestExec looks at programs in the moment in which they are started: what is not a
// copy of its parent any more is what it will be from then on.
func TestExec(t *testing.T) {
	for range 300 {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p, err := Open(cmd.Process.Pid)
		for err == nil && p.First().Forked {
			p.Close()
			p, err = Open(cmd.Process.Pid)
		}
		if err == nil {
			err = p.Same()
			p.Close()
		}
		cmd.Process.Kill()
		cmd.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestReused(t *testing.T) {
	root1(t)
	const last = "/proc/sys/kernel/ns_last_pid"
	for range 50 {
		c := start(t, asItIs)
		p := c.open()
		if _, err := p.Memory(); err != nil {
			t.Fatal(err)
		}
		c.end()
		if err := os.WriteFile(last, []byte(strconv.Itoa(p.Pid()-1)), 0); err != nil {
			t.Fatal(err)
		}
		next := start(t, asItIs)
		if next.cmd.Process.Pid != p.Pid() {
			next.end()
			continue // somebody else was faster
		}
		gone(t, p, true)
		if err := next.open().Same(); err != nil {
			t.Errorf("the other process: %v", err)
		}
		return
	}
	t.Fatal("the number was never given again")
}

// fake writes a process into a folder.
func fake(t *testing.T, files map[string]string) (*Process, error) {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		file := filepath.Join(root, "42", name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, err := openIn(root, 42, NewBudget(t.Context(), OneLook, nil))
	if err == nil {
		t.Cleanup(p.Close)
	}
	return p, err
}

// TestFake covers what a test cannot make a real process do.
func TestFake(t *testing.T) {
	good := map[string]string{
		"stat": statLine("app", "S", 0, 1), "status": "Uid:\t1\t2\t3\t4\n",
		"auxv": string(words64(atEntry, 0x1000, 0, 0)), "environ": "GOGC=5\x00",
		"task/42/schedstat": "10 20 3\n", "task/43/schedstat": "1 2 3\n",
	}
	with := func(name, text string) map[string]string {
		out := map[string]string{}
		for k, v := range good {
			out[k] = v
		}
		out[name] = text
		return out
	}
	t.Run("as it should be", func(t *testing.T) {
		p, err := fake(t, good)
		if err != nil {
			t.Fatal(err)
		}
		d, err := p.RunDelay(10)
		if err != nil || d.Run != 11 || d.Wait != 22 || d.Threads != 2 {
			t.Errorf("%+v, %v", d, err)
		}
		if s, err := p.Status(); s.NSPid != 42 || s.UID != 2 || err != nil {
			t.Errorf("%+v, %v", s, err)
		}
		if _, err := p.ExeID(); !errors.Is(err, ErrNone) {
			t.Errorf("no executable: %v", err)
		}
		if err := p.Same(); err != nil {
			t.Error(err)
		}
		if err := os.WriteFile(filepath.Join(p.root, "42/stat"), []byte(statLine("app", "S", 0, 2)), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := p.Same(); !errors.Is(err, ErrGone) {
			t.Errorf("started at another time: %v", err)
		}
	})
	t.Run("garbage in stat", func(t *testing.T) {
		if _, err := fake(t, with("stat", "nonsense")); err == nil || errors.Is(err, ErrGone) {
			t.Error(err)
		}
	})
	t.Run("a zombie", func(t *testing.T) {
		if _, err := fake(t, with("stat", statLine("app", "Z", 0, 1))); !errors.Is(err, ErrGone) {
			t.Error(err)
		}
	})
	t.Run("garbage in schedstat", func(t *testing.T) {
		p, err := fake(t, with("task/43/schedstat", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if d, err := p.RunDelay(10); err == nil || d.Run != 0 {
			t.Errorf("%+v, %v", d, err)
		}
	})
	t.Run("a huge environment", func(t *testing.T) {
		p, err := fake(t, with("environ", "GOGC=5\x00"+strings.Repeat("A=b\x00", maxEnviron/4-3)+"GOMAXPROCS=16\x00"))
		if err != nil {
			t.Fatal(err)
		}
		// The variable at its end counts, and is not read.
		if env, err := p.Environ(); !errors.Is(err, ErrTooMuch) || env != nil {
			t.Errorf("%q, %v", env, err)
		}
	})
	t.Run("no status", func(t *testing.T) {
		p, err := fake(t, with("status", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Status(); err == nil {
			t.Error("it is fine")
		}
	})
}

// TestBlocked: a thread that sleeps in nanosleep counts, and one that runs or waits for a futex does not.
func TestBlocked(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p, err := Open(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for n := 0; n != 1; {
		if n, err = p.Blocked(1); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]bool{
		"running\n": false, "": false, "-1 0x7ffc 0x45\n": false,
		"202 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x45\n": runtime.GOARCH != "amd64",
		"98 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x45\n":  runtime.GOARCH != "arm64",
		"441 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x45\n": false, "0 0x1 0x80 0x0 0x0 0x0 0x0 0x7ffc 0x45\n": true,
	} {
		if got := blocks([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}
