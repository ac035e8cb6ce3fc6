// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestTopJSON: one document for each look, each of an interval.
func TestTopJSON(t *testing.T) {
	pid, path := goprogram.Started(t)
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
		case strconv.Itoa(p.PID) != pid, p.Exe != path, p.Name != filepath.Base(path), p.GOMAXPROCS.N != 3, p.GOMAXPROCSSource.N != "environment":
			t.Errorf("who: %s", line)
		case d.Seconds == nil, !p.Used.Known(), !(p.Used.N > 0.01), p.Waiting.Known() && p.Waiting.N < 0:
			t.Errorf("CPU: %s", line)
		case !p.PerMinute.Known(), !(p.PerMinute.N > 0), !p.MeanPause.Known(), !(p.MeanPause.N > 0), !p.GC.Known(), !(p.GC.N > 0), p.GC.N > 1:
			t.Errorf("collections: %s", line)
		case !p.Heap.Known(), !p.Goal.Known(), !p.Mapped.Known(), p.Heap.N > p.Mapped.N:
			t.Errorf("memory: %s", line)
		case !p.Busy.Known(), p.Busy.N+p.Idle.N < 2.99 || p.Busy.N+p.Idle.N > 3.01, p.Spinning.N > p.Busy.N:
			t.Errorf("Ps: %s", line)
		}
	}
}

// worked reports whether the process of a look has used CPU time and collected garbage.
func worked(line string) bool {
	var d finding.Watch
	if json.Unmarshal([]byte(line), &d) != nil || len(d.Processes) != 1 {
		return true // and the test will say so
	}
	p := &d.Processes[0]
	return p.Used.Known() && p.Used.N > 0.01 && p.PerMinute.Known() && p.PerMinute.N > 0
}

// TestTopBatch checks plain frames, also by name, and the error if there is nothing to show.
func TestTopBatch(t *testing.T) {
	pid, _ := goprogram.Started(t)
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
		{nil, message.ExitFailed, "not a terminal"},
		{[]string{"-b", "no-such-program"}, message.ExitFailed, "no such Go process"},
		{[]string{"-b", "2147483647"}, message.ExitFailed, "no such process"},
		{[]string{"-b", "2"}, message.ExitFailed, ""}, // the kernel's, or nobody
		{[]string{"--sort", "taste"}, message.ExitUsage, "--sort taste: wrong value\n"},
		{[]string{"--interval", "1ms"}, message.ExitUsage, "--interval 1ms"},
		{[]string{"-d", "2"}, message.ExitUsage, "--interval 2: wrong value\n"},
		{[]string{"--number", "0"}, message.ExitUsage, "--number 0: wrong value\n"},
		{[]string{"--number", "-1"}, message.ExitUsage, "--number -1: wrong value\n"},
		{[]string{"-n", "many"}, message.ExitUsage, "--number many: wrong value\n"},
		{[]string{"--sort", ""}, message.ExitUsage, "--sort '': wrong value\n"},
		{[]string{"-b", "0"}, message.ExitFailed, "0: no such Go process\n"},
		{[]string{"-b", "99999999999"}, message.ExitFailed, "99999999999: no such Go process\n"},
		{[]string{"-b", "a b"}, message.ExitFailed, "'a b': no such Go process\n"},
	} {
		code, out, talk := snug(t, append([]string{"top"}, c.args...)...)
		if code != c.code || !strings.Contains(talk, c.want) || !strings.Contains(talk, "hint: ") {
			t.Errorf("%v: exit code %d\n%s%s", c.args, code, out, talk)
		}
	}
}

// TestTopOver checks that snug top ends with a note when all processes named by number have ended.
func TestTopOver(t *testing.T) {
	first, _ := goprogram.Started(t)
	second, _ := goprogram.Started(t)
	kill := func(pid string) {
		syscall.Kill(examine.PID(pid), syscall.SIGKILL)
		goprogram.Ended(t, examine.PID(pid))
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())

	// One ends when the first look has been written, the other one after the next.
	out := &onWrite{do: []func(){func() { kill(first) }, func() { kill(second) }}}
	var talk bytes.Buffer
	code := Main([]string{"top", "--json", "-d", "300ms", first, second, first}, strings.NewReader(""), out, &talk)
	lines := strings.Split(strings.TrimSpace(out.b.String()), "\n")
	if code != message.ExitFine || len(lines) != 3 || !strings.HasPrefix(talk.String(), "snug: note: ended: "+first+" "+second+", by ") {
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
	if code != message.ExitFailed || text != "" || !strings.Contains(said, "the process has ended") {
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

// screen is a real terminal, drawn by tmux.
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
	built := filepath.Join(goprogram.Dir, "snug")
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
		all = append(all, message.Quote(w))
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

// patience is how long a test waits before it gives up.
const patience = 3 * time.Minute

// until waits for a text on the screen.
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

// top starts snug top and waits for its first figures. The shell prints a line when it has ended.
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

// process returns a process of snug top: the parent or its child.
func (s *screen) process(child bool) int {
	s.t.Helper()
	all, _ := filepath.Glob("/proc/[0-9]*/exe")
	for _, exe := range all {
		if to, _ := os.Readlink(exe); to != filepath.Join(s.dir, "snug") {
			continue
		}
		pid := examine.PID(filepath.Base(filepath.Dir(exe)))
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
	pid, _ := goprogram.Started(t, "GOGC=off", "GOMEMLIMIT=off")
	other, _ := goprogram.Launched(t, "other", goprogram.Busy)

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
	s.shows("keys and columns", "ready to run")
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
	s.clean(message.ExitFine)
}

// TestTopEnds checks that the terminal is restored however snug top ends.
func TestTopEnds(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	goprogram.Started(t)
	kill := func(child bool, sig syscall.Signal) func() {
		return func() { syscall.Kill(s.process(child), sig) }
	}
	for _, c := range []struct {
		name string
		end  func()
		code int
	}{
		{"Ctrl-C", func() { s.keys("C-c") }, message.ExitFine},
		{"SIGTERM", kill(false, syscall.SIGTERM), message.ExitFine},
		{"SIGHUP", kill(false, syscall.SIGHUP), message.ExitFine},
		{"SIGTERM of the child", kill(true, syscall.SIGTERM), message.ExitFine},
		{"SIGSEGV of the child", kill(true, syscall.SIGSEGV), message.ExitFailed},
		{"SIGABRT of the child", kill(true, syscall.SIGABRT), message.ExitFailed},
		{"SIGKILL of the child", kill(true, syscall.SIGKILL), message.ExitFailed},
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
	goprogram.Ended(t, child)
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
	s.clean(message.ExitFine)
}

// TestTopLastFigures checks that the last figures of an ended process stay on the screen until a key is
// pressed, and that one line remains.
func TestTopLastFigures(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	pid, _ := goprogram.Started(t)
	s.top("--interval 300ms " + pid)
	syscall.Kill(examine.PID(pid), syscall.SIGKILL)
	s.shows("snug top  ended: "+pid+", by ", "; below is ", pid+" busy")
	s.keys("Enter")
	s.shows("── "+pid+" busy", "GOMAXPROCS   3, set by the environment")
	s.keys("q")
	s.shows("snug: note: ended: " + pid + ", by ")
	s.clean(message.ExitFine)

	// Wrong arguments never reach the screen.
	s.shell("./snug top --sort taste; ./snug top no-such-program; ./snug top -n 0")
	s.shows("--sort taste: wrong value", "no-such-program: no such Go process", "--number 0: wrong value")
	s.asBefore()
}

// TestTopTerminalGone checks that no process remains when the terminal goes away.
func TestTopTerminalGone(t *testing.T) {
	s := newScreen(t, "LANG=C.UTF-8", "TERM=screen-256color")
	goprogram.Started(t)
	s.top("busy")
	pids := []int{s.process(false), s.process(true)}
	s.tmux("kill-server")
	for _, pid := range pids {
		goprogram.Ended(t, pid)
	}
}

// TestTopPlain checks the screen without colour and in the C locale.
func TestTopPlain(t *testing.T) {
	s := newScreen(t, "LANG=C", "TERM=screen-256color", "NO_COLOR=1")
	pid, _ := goprogram.Started(t, "GOGC=off", "GOMEMLIMIT=off")
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
	s.clean(message.ExitFine)
}
