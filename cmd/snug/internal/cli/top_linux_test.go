// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestTopJSON: one document for each look, each of an interval.
func TestTopJSON(t *testing.T) {
	pid, path := started(t)
	var lines []string
	// Where others have the CPU it does little in an interval.
	for d := 600 * time.Millisecond; d < 10*time.Second; d *= 2 {
		code, out, talk := snug(t, "top", "--json", "-n", "2", "--interval", d.String(), pid)
		if lines = strings.Split(strings.TrimSpace(out), "\n"); code != 0 || len(lines) != 2 {
			t.Fatalf("exit code %d\n%s%s", code, out, talk)
		}
		if !slices.ContainsFunc(lines, func(line string) bool { return !worked(line) }) {
			break
		}
	}
	for _, line := range lines {
		var d finding.Watch
		if err := json.Unmarshal([]byte(line), &d); err != nil || d.Kind != finding.KindTop || len(d.Processes) != 1 {
			t.Fatalf("%v\n%s", err, line)
		}
		p := &d.Processes[0]
		switch {
		case strconv.Itoa(p.PID) != pid, p.Exe != path, p.Name != filepath.Base(path), *p.GOMAXPROCS != 3, *p.GOMAXPROCSSource != "environment":
			t.Errorf("who: %s", line)
		case d.Seconds == nil, p.Used == nil, !(*p.Used > 0.01), p.Waiting != nil && *p.Waiting < 0:
			t.Errorf("CPU: %s", line)
		case p.PerMinute == nil, !(*p.PerMinute > 0), p.MeanPause == nil, !(*p.MeanPause > 0), p.GC == nil, !(*p.GC > 0), *p.GC > 1:
			t.Errorf("collections: %s", line)
		case p.Heap == nil, p.Goal == nil, p.Mapped == nil, *p.Heap > *p.Mapped:
			t.Errorf("memory: %s", line)
		case p.Busy == nil, *p.Busy+*p.Idle < 2.99 || *p.Busy+*p.Idle > 3.01, *p.Spinning > *p.Busy:
			t.Errorf("Ps: %s", line)
		}
	}
}

// worked says whether a look shows that its process has used CPU time and collected garbage.
func worked(line string) bool {
	var d finding.Watch
	if json.Unmarshal([]byte(line), &d) != nil || len(d.Processes) != 1 {
		return true // and the test will say so
	}
	p := &d.Processes[0]
	return p.Used != nil && *p.Used > 0.01 && p.PerMinute != nil && *p.PerMinute > 0
}

// TestTopBatch: plain frames, by name too; who has nothing to show says so.
func TestTopBatch(t *testing.T) {
	pid, _ := started(t)
	t.Setenv("COLUMNS", "80")
	code, out, talk := snug(t, "top", "-n", "2", "--interval", "300ms", "busy")
	if code != 0 || strings.Count(out, "snug top  ") != 2 || strings.Count(out, pid+" busy ") < 2 || strings.ContainsRune(out, 0x1b) {
		t.Errorf("exit code %d\n%s%s", code, out, talk)
	}
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 81 {
			t.Errorf("wraps: %q", line)
		}
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitFailed, "not a terminal"},
		{[]string{"-b", "no-such-program"}, exitFailed, "no such Go process"},
		{[]string{"-b", "2147483647"}, exitFailed, "no such process"},
		{[]string{"-b", "2"}, exitFailed, ""}, // the kernel's, or nobody
		{[]string{"--sort", "taste"}, exitUsage, "--sort taste\n"},
		{[]string{"--interval", "1ms"}, exitUsage, "--interval 1ms"},
		{[]string{"-d", "2"}, exitUsage, "--interval 2\n"},
		{[]string{"--number", "0"}, exitUsage, "--number 0\n"},
		{[]string{"--number", "-1"}, exitUsage, "--number -1\n"},
		{[]string{"-n", "many"}, exitUsage, "--number many\n"},
		{[]string{"--sort", ""}, exitUsage, "--sort ''\n"},
		{[]string{"-b", "0"}, exitFailed, "no such Go process, 0\n"},
		{[]string{"-b", "99999999999"}, exitFailed, "no such Go process, 99999999999\n"},
		{[]string{"-b", "a b"}, exitFailed, "no such Go process, 'a b'\n"},
	} {
		code, out, talk := snug(t, append([]string{"top"}, c.args...)...)
		if code != c.code || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, out, talk)
		}
	}
}

// TestTopFollows: one that ends vanishes, one that begins appears, one that runs
// another program is another.
func TestTopFollows(t *testing.T) {
	pid, path := started(t)
	w, err := newWatcher([]string{path}, false) // other tests have programs of this name
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if d, err := w.first(); err != nil || len(d.Processes) != 1 || strconv.Itoa(d.Processes[0].PID) != pid {
		t.Fatalf("%+v, %v", d, err)
	}
	second := exec.Command("sh", "-c", "read line; exec "+path)
	in, err := second.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := second.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := second.Start(); err != nil {
		t.Fatal(err)
	}
	defer second.Process.Kill()
	seen := func() (all []int) {
		d, err := w.look()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range d.Processes {
			all = append(all, p.PID)
		}
		return all
	}
	if got := seen(); len(got) != 1 {
		t.Fatalf("a shell is a Go program: %v", got)
	}
	fmt.Fprintln(in)
	if _, err := out.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if got := seen(); !slices.Contains(got, second.Process.Pid) || len(got) != 2 {
		t.Fatalf("%v, want %s and %d", got, pid, second.Process.Pid)
	}
	in.Close()
	second.Wait()
	if got := seen(); len(got) != 1 {
		t.Errorf("after its end: %v", got)
	}
	if n := len(w.known); n != 1 {
		t.Errorf("%d processes are kept", n)
	}
	w.room = 0 // as where files are short
	w.known[w.pidOfOnly()].close()
	if got := seen(); len(got) != 1 || !w.known[w.pidOfOnly()].closed {
		t.Errorf("short of files: %v", got)
	}
}

func (w *watcher) pidOfOnly() int {
	for pid := range w.known {
		return pid
	}
	return 0
}

// TestTopOver: when all that were named by number have ended, so has snug top, and says so.
func TestTopOver(t *testing.T) {
	first, _ := started(t)
	second, _ := started(t)
	kill := func(pid string) { syscall.Kill(pidOf(pid), syscall.SIGKILL); ended(t, pidOf(pid)) }
	t.Setenv("XDG_CACHE_HOME", t.TempDir())

	// One ends when the first look has been written, the other one after the next.
	out := &onWrite{do: []func(){func() { kill(first) }, func() { kill(second) }}}
	var talk bytes.Buffer
	code := Main([]string{"top", "--json", "-d", "300ms", first, second, first}, strings.NewReader(""), out, &talk)
	lines := strings.Split(strings.TrimSpace(out.b.String()), "\n")
	if code != exitFine || len(lines) != 3 || !strings.HasPrefix(talk.String(), "snug: note: ended: "+first+" "+second+", by ") {
		t.Fatalf("exit code %d\n%s%s", code, &out.b, &talk)
	}
	for i, want := range [][]string{{}, {first}, {first, second}} {
		var d finding.Watch
		if err := json.Unmarshal([]byte(lines[i]), &d); err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for _, pid := range d.Ended {
			got = append(got, strconv.Itoa(pid))
		}
		if !slices.Equal(got, want) || len(d.Processes) != 2-i || len(d.Selected) != 2 || d.Over() != (i == 2) {
			t.Errorf("look %d: %s", i, lines[i])
		}
	}
	code, text, said := snug(t, "top", "-n", "1", first)
	if code != exitFailed || text != "" || !strings.Contains(said, "error: the process has ended") {
		t.Errorf("ended before: exit code %d\n%s%s", code, text, said)
	}
}

// onWrite does one thing after each write.
type onWrite struct {
	b  bytes.Buffer
	do []func()
}

func (w *onWrite) Write(b []byte) (int, error) {
	if len(w.do) > 0 {
		w.do[0]()
		w.do = w.do[1:]
	}
	return w.b.Write(b)
}

// TestTopNames: a name is waited for, its process may be started anew.
func TestTopNames(t *testing.T) {
	pid, path := started(t)
	w, err := newWatcher([]string{pid, path}, false)
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	if _, err := w.first(); err != nil {
		t.Fatal(err)
	}
	syscall.Kill(pidOf(pid), syscall.SIGKILL)
	ended(t, pidOf(pid))
	if d, err := w.look(); err != nil || d.Over() || len(d.Ended) > 0 || len(d.Processes) > 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// TestTopNumberOfAnother: a number that is given again is another process's.
func TestTopNumberOfAnother(t *testing.T) {
	pid, _ := started(t)
	n := &namedPid{}
	if n.over(pidOf(pid)) || n.started.IsZero() {
		t.Errorf("%+v", n)
	}
	n.started = n.started.Add(-time.Minute)
	for range 2 {
		if !n.over(pidOf(pid)) {
			t.Errorf("%+v", n)
		}
	}
	if n := (&namedPid{}); !n.over(2147483647) {
		t.Errorf("%+v", n)
	}
}

// TestUTF8Locale: locale(7).
func TestUTF8Locale(t *testing.T) {
	for env, want := range map[string]bool{
		"": false, "LANG=C": false, "LANG=C.UTF-8": true, "LANG=de_DE.utf8@euro": true, "LANG=en_US.UTF-8 LC_ALL=C": false,
		"LC_CTYPE=C.UTF-8 LANG=C": true, "LANG=ja_JP.eucJP": false,
	} {
		got := utf8Locale(func(name string) string {
			for _, v := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}

// TestTopTail: a flood on stderr is not kept whole.
func TestTopTail(t *testing.T) {
	var s tail
	for range 3 {
		if n, err := s.Write(bytes.Repeat([]byte("x"), mostSaid/2)); n != mostSaid/2 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(s.bytes()) != mostSaid {
		t.Errorf("%d bytes", len(s.bytes()))
	}
}

// screen is a real terminal, that tmux draws.
type screen struct {
	t      *testing.T
	socket string
	dir    string
	count  int
}

func newScreen(t *testing.T, env ...string) *screen {
	t.Helper()
	if !strings.Contains(","+os.Getenv("SNUG_E2E")+",", ",root,") {
		t.Skip("set SNUG_E2E=root to run snug top in tmux")
	}
	s := &screen{t: t, dir: t.TempDir()}
	s.socket = "snug" + strconv.Itoa(os.Getpid()) + t.Name() // the last one's server may not be gone
	built := filepath.Join(programs, "snug")
	if _, err := os.Stat(built); err != nil { // the first time
		if out, err := exec.Command("go", "build", "-o", built, "../..").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if err := os.Link(built, filepath.Join(s.dir, "snug")); err != nil {
		t.Fatal(err)
	}
	env = append(env, "PS1=$ ", "XDG_CACHE_HOME="+s.dir)
	shell := "env -u LC_ALL -u LC_CTYPE -u NO_COLOR " + shellQuotes(env) + " bash --norc --noprofile"
	s.tmux("-u", "-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "-s", "top", "-c", s.dir, shell)
	t.Cleanup(func() { exec.Command("tmux", "-L", s.socket, "kill-server").Run() })
	s.until("a prompt", func(text string) bool { return strings.Contains(text, "$") })
	s.shell("stty -a >before")
	return s
}

func shellQuotes(words []string) string {
	var all []string
	for _, w := range words {
		all = append(all, shellQuote(w))
	}
	return strings.Join(all, " ")
}

func (s *screen) tmux(args ...string) string {
	s.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", s.socket}, args...)...).CombinedOutput()
	if err != nil {
		s.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (s *screen) keys(keys ...string) {
	s.t.Helper()
	s.tmux(append([]string{"send-keys", "-t", "top"}, keys...)...)
}

func (s *screen) text() string { return s.tmux("capture-pane", "-p", "-t", "top") }

// patience is how long something is waited for before the test gives up.
const patience = 3 * time.Minute

// until waits for what is on the screen.
func (s *screen) until(what string, ok func(string) bool) string {
	s.t.Helper()
	text := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if text = s.text(); ok(text) {
			return text
		}
	}
	s.t.Fatalf("no %s:\n%s", what, text)
	return ""
}

func (s *screen) shows(parts ...string) string {
	s.t.Helper()
	return s.until(strings.Join(parts, ", "), func(text string) bool {
		return !slices.ContainsFunc(parts, func(p string) bool { return !strings.Contains(text, p) })
	})
}

// shell runs a command to its end.
func (s *screen) shell(command string) {
	s.t.Helper()
	s.count++
	s.keys("-l", "clear; "+command+"; echo done-$(("+strconv.Itoa(s.count)+"+1000))")
	s.keys("Enter")
	s.shows("done-" + strconv.Itoa(s.count+1000))
}

// top starts snug top, and says when it has ended.
func (s *screen) top(args string) {
	s.t.Helper()
	s.count++
	s.keys("-l", "clear; ./snug top "+args+"; echo code $? done-$(("+strconv.Itoa(s.count)+"+1000))")
	s.keys("Enter")
	s.until("figures", func(text string) bool {
		return strings.Contains(text, "snug top") && strings.Contains(text, "CPU ") && !strings.Contains(text, "CPU .")
	})
}

// clean checks that the terminal is as it was: modes, cursor, screen.
func (s *screen) clean(code int) {
	s.t.Helper()
	s.shows("code " + strconv.Itoa(code) + " done-" + strconv.Itoa(s.count+1000))
	s.asBefore()
}

func (s *screen) asBefore() {
	s.t.Helper()
	if got := s.tmux("display-message", "-p", "-t", "top", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag} #{keypad_flag} #{wrap_flag} #{mouse_any_flag}"); strings.TrimSpace(got) != "0 1 0 0 1 0" {
		s.t.Errorf("alternate screen, cursor, keypad, wrapping, mouse: %s", got)
	}
	s.shell("stty -a >after; cmp before after && echo same-$((1+1))")
	s.shows("same-2")
}

// process is a process of snug top: the one that was called, or its child.
func (s *screen) process(child bool) int {
	s.t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range all {
		if to, _ := os.Readlink(exe); to != filepath.Join(s.dir, "snug") {
			continue
		}
		pid := pidOf(filepath.Base(filepath.Dir(exe)))
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(exe), "cmdline"))
		if bytes.Contains(line, []byte("--attended")) == child && len(line) > 0 {
			return pid
		}
	}
	s.t.Fatalf("no process of snug top:\n%s", s.text())
	return 0
}

// TestTopTerminal: snug top as a user sees it.
func TestTopTerminal(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	pid, _ := started(t, "GOGC=off", "GOMEMLIMIT=off")
	other, _ := launched(t, "other", busy)

	s.top("--interval 500ms " + pid + " " + other)
	s.shows(pid+" busy", other+" other", "W ", "CPU▼", "PROGRAM", "WAIT", "quit", "█")
	s.keys("N")
	s.shows("PID▼")
	s.keys("r")
	s.shows("PID▲")
	s.keys("/", "b", "u", "s")
	s.until("only one", func(text string) bool {
		return strings.Contains(text, "filter: bus_") && !strings.Contains(text, other+" other")
	})
	s.keys("Enter", "Enter")
	s.shows("── "+pid+" busy", "fix: GOGC=100", "[gogc-off]", "GOMAXPROCS   3, set by the environment")
	s.keys("Escape")
	s.until("no detail", func(text string) bool { return !strings.Contains(text, "fix: ") })
	s.keys("Escape")
	s.shows(other + " other")
	s.keys("?")
	s.shows("keys and columns", "could have run")
	s.keys("q", "Space")
	s.shows("paused")
	s.keys("Space", "+")
	s.shows("every 1s")

	for _, size := range [][2]string{{"40", "10"}, {"20", "5"}, {"132", "40"}} {
		s.tmux("resize-window", "-t", "top", "-x", size[0], "-y", size[1])
		s.until("columns for "+size[0], func(text string) bool {
			// What it is sorted by stays.
			return strings.Contains(text, "WORST FINDING") == (size[0] == "132") && strings.Contains(text, " CPU ") == (size[0] != "20") && strings.Contains(text, "PID▲ PROGRAM")
		})
	}
	s.tmux("resize-window", "-t", "top", "-x", "80", "-y", "24")
	s.until("columns for 80", func(text string) bool { return strings.Contains(text, "BUSY") && !strings.Contains(text, "SPIN") })
	s.keys("q")
	s.clean(exitFine)
}

// TestTopEnds: however it ends, the terminal is as before.
func TestTopEnds(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	started(t)
	kill := func(child bool, sig syscall.Signal) func() {
		return func() { syscall.Kill(s.process(child), sig) }
	}
	for _, c := range []struct {
		name string
		end  func()
		code int
	}{
		{"Ctrl-C", func() { s.keys("C-c") }, exitFine},
		{"SIGTERM", kill(false, syscall.SIGTERM), exitFine},
		{"SIGHUP", kill(false, syscall.SIGHUP), exitFine},
		{"SIGTERM of the child", kill(true, syscall.SIGTERM), exitFine},
		{"SIGSEGV of the child", kill(true, syscall.SIGSEGV), exitFailed},
		{"SIGABRT of the child", kill(true, syscall.SIGABRT), exitFailed},
		{"SIGKILL of the child", kill(true, syscall.SIGKILL), exitFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s.t = t
			s.top("busy")
			c.end()
			s.clean(c.code)
		})
	}
	s.t = t
	// Nothing survives SIGKILL, but the child does. The shell does not wait for it, so
	// that what it says meanwhile is lost with the screen.
	s.top("busy")
	child := s.process(true)
	kill(false, syscall.SIGKILL)()
	ended(t, child)
	s.asBefore()

	// Ctrl-Z and back.
	s.top("busy")
	s.keys("C-z")
	s.shows("Stopped", "done-"+strconv.Itoa(s.count+1000))
	s.shell("stty -a >after; cmp before after && echo same-$((1+1))")
	s.count++
	s.keys("-l", "clear; fg; echo code $? done-$(("+strconv.Itoa(s.count)+"+1000))")
	s.keys("Enter")
	s.shows("snug top  ", "PROGRAM", " busy ")
	s.keys("q")
	s.clean(exitFine)
}

// TestTopLastFigures: when the process has ended its last figures stay on the screen until
// a key, and a line is left.
func TestTopLastFigures(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	pid, _ := started(t)
	s.top("--interval 300ms " + pid)
	syscall.Kill(pidOf(pid), syscall.SIGKILL)
	s.shows("snug top  ended: "+pid+", by ", "; below is ", pid+" busy")
	s.keys("Enter")
	s.shows("── "+pid+" busy", "GOMAXPROCS   3, set by the environment")
	s.keys("q")
	s.shows("snug: note: ended: " + pid + ", by ")
	s.clean(exitFine)

	// Wrong arguments never reach the screen.
	s.shell("./snug top --sort taste; ./snug top no-such-program; ./snug top -n 0")
	s.shows("wrong value, --sort taste", "no such Go process, no-such-program", "wrong value, --number 0")
	s.asBefore()
}

// TestTopTerminalGone: when the terminal goes away nothing is left running.
func TestTopTerminalGone(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	started(t)
	s.top("busy")
	pids := []int{s.process(false), s.process(true)}
	s.tmux("kill-server")
	for _, pid := range pids {
		ended(t, pid)
	}
}

// ended waits for a process's end.
func ended(t *testing.T, pid int) {
	t.Helper()
	for end := time.Now().Add(patience); syscall.Kill(pid, 0) == nil; time.Sleep(20 * time.Millisecond) {
		if stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); bytes.Contains(stat, []byte(") Z ")) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("pid %d lives on", pid)
		}
	}
}

// TestTopPlain: without colour and in a C locale there are neither.
func TestTopPlain(t *testing.T) {
	s := newScreen(t, "LANG=C", "TERM=screen-256color", "NO_COLOR=1")
	pid, _ := started(t, "GOGC=off", "GOMEMLIMIT=off")
	s.top("busy")
	text := s.shows(pid+" busy", "W ")
	if strings.ContainsFunc(text, func(r rune) bool { return r > 126 }) {
		t.Errorf("not ASCII:\n%s", text)
	}
	painted := s.tmux("capture-pane", "-p", "-e", "-t", "top")
	for _, code := range strings.Split(painted, "\x1b[")[1:] {
		code, _, _ = strings.Cut(code, "m")
		for _, n := range strings.FieldsFunc(code, func(r rune) bool { return r == ';' || r == ':' }) {
			if v, err := strconv.Atoi(n); err == nil && v >= 30 && v <= 107 && v != 39 && v != 49 {
				t.Errorf("colour: %q\n%s", code, painted)
			}
		}
	}
	s.keys("q")
	s.clean(exitFine)
}
