// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	os.MkdirAll(filepath.Join(sub, "folder"), 0o755)
	os.WriteFile(filepath.Join(dir, "tool"), nil, 0o755)
	os.WriteFile(filepath.Join(sub, "tool"), nil, 0o755)
	os.WriteFile(filepath.Join(sub, "plain"), nil, 0o644)
	os.Mkdir(filepath.Join(dir, "denied"), 0o755)
	os.WriteFile(filepath.Join(dir, "denied", "tool"), nil, 0o644)
	for _, tt := range []struct {
		name, cmd, search, dir, want string
		code                         int
	}{
		{"first-in-path", "tool", dir + ":" + sub, "", dir + "/tool", 0},
		{"second-in-path", "tool", "/nonexistent:" + sub, "", sub + "/tool", 0},
		{"with-a-slash", dir + "/tool", "", "", dir + "/tool", 0},
		{"relative-to-dir", "./tool", "", sub, "./tool", 0},
		{"path-element-relative-to-dir", "tool", "sub", dir, "sub/tool", 0},
		{"empty-path-element-is-dir", "tool", ":/nonexistent", dir, "./tool", 0},
		{"not-found", "none", dir, "", "", 127},
		{"not-executable-as-far-as-is-known", "plain", "/nonexistent:" + sub, "", sub + "/plain", 126},
		{"executable-further-on", "tool", "denied:" + sub, dir, sub + "/tool", 0},
		{"folder-in-path-is-not-it", "folder", sub, "", "", 127},
		{"folder", sub, "", "", "", 126},
		{"through-a-file", dir + "/tool/x", "", "", "", 127},
	} {
		got, err := LookPath(tt.cmd, []string{"PATH=/wrong", "PATH=" + tt.search}, tt.dir)
		if got != tt.want || ExitCode(err) != tt.code {
			t.Errorf("%s: LookPath(%q) = %q, %v; want %q, code %d", tt.name, tt.cmd, got, err, tt.want, tt.code)
		}
	}
}

func TestSystemdArgs(t *testing.T) {
	for _, tt := range []struct {
		name, slice string
		w           want
		uid         int
		want        string
	}{
		{"root", "", want{quota: 150000, period: 100000, memory: 1 << 20}, 0,
			"systemd-run --scope --quiet --collect --no-ask-password --unit=snug-1.scope -p CPUQuota=150% -p MemoryMax=1048576 -p MemorySwapMax=0 --"},
		{"user", "app.slice", want{quota: 33333, period: 100000}, 1000,
			"systemd-run --user --scope --quiet --collect --no-ask-password --unit=snug-1.scope --slice=app.slice -p CPUQuota=33.33% --"},
		{"weight", "", want{quota: 50000, period: 100000, weight: 10000}, 0,
			"systemd-run --scope --quiet --collect --no-ask-password --unit=snug-1.scope -p CPUQuota=50% -p CPUWeight=10000 --"},
		{"memory", "", want{memory: 4096}, 0,
			"systemd-run --scope --quiet --collect --no-ask-password --unit=snug-1.scope -p MemoryMax=4096 -p MemorySwapMax=0 --"},
	} {
		if got := strings.Join(systemdArgs(tt.w, "snug-1", tt.slice, tt.uid), " "); got != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, got, tt.want)
		}
	}
}

func TestVerify(t *testing.T) {
	asked := want{quota: 150000, period: 100000, memory: 1 << 28}
	parts := []part{{controllers: []string{"cpu", "memory"}, group: "/g"}}
	good := Confinement{
		CPUGroup: "/g", MemoryGroup: "/g", QuotaMicros: 150000, PeriodMicros: 100000, CPUs: 1.5,
		LimitBytes: 1 << 28, MemoryBytes: 1 << 28, Policy: "SCHED_OTHER",
	}
	for _, tt := range []struct {
		name   string
		change func(*Confinement)
		ok     bool
	}{
		{"as-asked", func(c *Confinement) {}, true},
		{"an-ancestor-has-less", func(c *Confinement) { c.CPUs, c.MemoryBytes = 0.5, 1<<20 }, true},
		{"memory-rounded-to-a-page", func(c *Confinement) { c.LimitBytes -= 4096; c.MemoryBytes -= 4096 }, true},
		{"batch-is-held-by-the-quota", func(c *Confinement) { c.Policy = "SCHED_BATCH" }, true},
		{"another-cpu-group", func(c *Confinement) { c.CPUGroup = "/" }, false},
		{"another-memory-group", func(c *Confinement) { c.MemoryGroup = "/gg" }, false},
		{"no-quota", func(c *Confinement) { c.QuotaMicros = 0 }, false},
		{"another-quota", func(c *Confinement) { c.QuotaMicros = 150001 }, false},
		{"another-period", func(c *Confinement) { c.PeriodMicros = 10000 }, false},
		{"effective-unknown", func(c *Confinement) { c.CPUs = 0 }, false},
		{"effective-above-own", func(c *Confinement) { c.CPUs = 2 }, false},
		{"real-time", func(c *Confinement) { c.Policy = "SCHED_FIFO" }, false},
		{"no-memory-limit", func(c *Confinement) { c.LimitBytes = 0 }, false},
		{"more-memory", func(c *Confinement) { c.LimitBytes++ }, false},
		{"far-less-memory", func(c *Confinement) { c.LimitBytes -= 1 << 20 }, false},
		{"effective-memory-unknown", func(c *Confinement) { c.MemoryBytes = 0 }, false},
	} {
		c := &Child{Confinement: good, group: &group{want: asked, parts: parts}}
		tt.change(&c.Confinement)
		err := starter{way: WayV2}.verify(c)
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v, want ok %v", tt.name, err, tt.ok)
		}
		if _, is := errors.AsType[*ProofError](err); err != nil && !is {
			t.Errorf("%s: %v is no ProofError", tt.name, err)
		}
	}
}

func TestSignalsThatArePassedOn(t *testing.T) {
	for _, sig := range []syscall.Signal{9, 11, 13, 17, 19, 23, 32, 33, 34} { // KILL SEGV PIPE CHLD STOP URG and the C library's
		if slices.Contains(passedOn(), sig) {
			t.Errorf("signal %d is passed on", sig)
		}
	}
}

// This binary acts as systemd-run, under that name in PATH: it makes the scope's groups
// below the caller's, enters them and becomes the command after "--". See asSystemdRun.
func TestScope(t *testing.T) {
	needRoot(t)
	n := makeNest(t)
	bin := t.TempDir()
	if err := os.Symlink(self()[0], filepath.Join(bin, "systemd-run")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	name := newName()
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	command := self("as-probe")
	try := func(quirk string) (*Child, error) {
		t.Setenv("CGRUN_FAKE_SYSTEMD", quirk+" "+n.cpu+" "+n.mem)
		spec := Spec{Args: command, CPUs: 0.333333, MemoryBytes: 64 << 20, Weight: 200, Stdout: out, Stderr: out}
		w, err := spec.want()
		if err != nil {
			t.Fatal(err)
		}
		s := starter{spec: spec, file: spec.Args[0], way: WaySystemd, machine: thisMachine()}
		return s.inScope(context.Background(), attempt{way: WaySystemd}, w, name)
	}
	collect := func() { // as systemd does with --collect
		for _, dir := range []string{n.cpu, n.mem} {
			os.Remove(filepath.Join(dir, name+".scope"))
			os.Remove(filepath.Join(dir, "other.scope"))
		}
	}
	end := func(c *Child) {
		t.Helper()
		if exit, err := c.Wait(); err != nil || exit.Code != 0 {
			t.Errorf("ended with %+v, %v", exit, err)
		}
		collect()
		if left, err := c.Remove(); left != 0 || err != nil {
			t.Errorf("Remove() = %d, %v", left, err)
		}
	}

	c, err := try("well")
	if err != nil {
		t.Fatal(err)
	}
	if c.group.guard == nil {
		t.Error("no watchdog watches the scope")
	}
	end(c)
	if p := c.Confinement; p.Way != WaySystemd || p.QuotaMicros != 33330 || p.CPUs != 0.3333 || p.LimitBytes != 64<<20 || !strings.HasSuffix(p.CPUGroup, "/"+name+".scope") {
		t.Errorf("proof %+v", p)
	}
	if b, _ := os.ReadFile(out.Name()); !strings.Contains(string(b), `"CPU":"33330 100000"`) {
		t.Errorf("the command says %q", b)
	}

	for quirk, text := range map[string]string{
		"refuse":     "systemd-run: Failed to connect to bus",
		"no-quota":   "not confined as asked: quota 0",
		"elsewhere":  "not put the child into its group",
		"half-quota": "not confined as asked: quota 16665",
		"no-weight":  ": CPU weight 10",
	} {
		c, err := try(quirk)
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: error %v, want %q", quirk, err, text)
		}
		if c != nil {
			end(c)
		}
		collect()
	}

	command = self("as-sleeper")
	if c, err = try("well"); err != nil {
		t.Fatal(err)
	}
	if !watchedGroup(name, c.group.parts, true).end() { // as the watchdog does
		t.Error("the scope's processes were not ended")
	}
	if exit, err := c.Wait(); err != nil || exit.Signal != int(syscall.SIGKILL) {
		t.Errorf("ended with %+v, %v", exit, err)
	}
	collect()
	c.Remove()

	t.Setenv("PATH", "/nonexistent")
	if _, err := try("well"); err == nil {
		t.Error("no systemd-run, and no error")
	}
}

func TestExecFailedNamesTheInterpreter(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file("plain", "", 0o644)
	for _, tt := range []struct {
		name, file  string
		err         error
		code        int
		text, hint  string
		interpreter string
	}{
		{"script", file("a", "#! /none/sh -e\n", 0o755), syscall.ENOENT, 127,
			"/none/sh: interpreter of cmd not found: no such file or directory", "install that program", "/none/sh"},
		{"carriage-return", file("b", "#!/bin/sh\r\n", 0o755), syscall.ENOENT, 127,
			`"/bin/sh\r": interpreter of cmd not found: no such file or directory`, "carriage return", "/bin/sh\r"},
		{"interpreter-not-executable", file("c", "#!./plain\n", 0o755), syscall.EACCES, 126,
			"./plain: interpreter of cmd cannot be executed: permission denied", "chmod +x", "./plain"},
		{"interpreter-is-there", file("d", "#!/bin/sh\n", 0o755), syscall.EACCES, 126,
			"cmd: command cannot be executed: permission denied", "chmod +x", ""},
		{"special", os.DevNull, syscall.EACCES, 126, "cmd: command cannot be executed: a special file is never executable", "", ""},
		{"no-file", "none", syscall.ENOENT, 127, "cmd: command not found: no such file or directory", "", ""},
		{"too-long", "d", syscall.E2BIG, 126, "cmd: command cannot be executed: argument list too long", "shorter", ""},
	} {
		err := ExecFailed("cmd", tt.file, dir, tt.err)
		e, ok := errors.AsType[*ExecError](err)
		if !ok || e.Code != tt.code || e.Interpreter != tt.interpreter || err.Error() != tt.text ||
			!strings.Contains(Hint(err), tt.hint) || (tt.hint == "") != (Hint(err) == "") {
			t.Errorf("%s: %v (%+v), hint %q", tt.name, err, e, Hint(err))
		}
	}
}
