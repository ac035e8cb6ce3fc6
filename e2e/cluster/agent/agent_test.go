// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// tool builds snug.
func tool(t *testing.T) string {
	t.Helper()
	return once(t, "snug", func(file string) error { return programs.BuildTool(programs.Root(t), file) })
}

// start builds the tool, and runs all pods in their groups.
func start(t *testing.T, all map[string]*pod) (snug string) {
	t.Helper()
	base := cgv1.New(t, "cpu", "memory")
	groups := map[string]map[string]map[string]string{"cpu": {}, "memory": {}}
	for _, p := range all {
		for _, g := range p.groups() {
			groups["cpu"][g], groups["memory"][g] = map[string]string{}, map[string]string{}
		}
	}
	for _, p := range all {
		if p.quota > 0 {
			groups["cpu"][p.limited()]["cpu.cfs_quota_us"] = strconv.Itoa(p.quota)
		}
		if p.memory > 0 {
			groups["memory"][p.limited()]["memory.limit_in_bytes"] = strconv.Itoa(p.memory << 20)
		}
	}
	base.Make(t, groups)
	for name, p := range all {
		if p.toolchain == "" {
			continue
		}
		exe := once(t, p.toolchain+"-"+p.line+"/server", func(file string) error { build(t, filepath.Dir(file), p); return nil })
		cmd := base.Command(t, p.path(), append([]string{exe}, p.args...)...)
		cmd.SysProcAttr.Pdeathsig = 0 // this thread may end before
		cmd.Env = p.env
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
		t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", name, line, err)
		}
		p.pid = cmd.Process.Pid
	}
	snug = tool(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir()) // after the build, which needs the go command's cache
	return snug
}

// TestOnce checks the limits, the Go version and the findings of each pod.
func TestOnce(t *testing.T) {
	gate.Root(t, "root")
	all := pods()
	snug := start(t, all)
	for _, c := range []struct {
		name string
		args []string
	}{{"this machine's cgroups", nil}, {"with --root", []string{"--root", bindCgroups(t)}}} {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.Command(snug, append([]string{"agent", "--once", "--json"}, c.args...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			n := decode(t, out)
			if !n.Memory || len(n.Lost) > 0 || n.Interval != nil {
				t.Errorf("%s", out)
			}
			judge(t, n, all)
		})
	}
	t.Run("without memory", func(t *testing.T) {
		out, err := exec.Command(snug, "agent", "--once", "--json", "--no-mem").Output()
		if err != nil {
			t.Fatal(err)
		}
		n := decode(t, out)
		if n.Memory || len(n.Lost) == 0 {
			t.Errorf("%s", out)
		}
		c := n.of(t, all["old"])
		if p := c.Processes[0]; !is(p.Procs, 8) || !is(p.By, "environment") || !is(c.Quota, 0.1) {
			t.Errorf("%+v", c)
		}
		if p := n.of(t, all["plain"]).Processes[0]; p.Procs != nil || !is(p.Aware, true) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("as text", func(t *testing.T) {
		out, err := exec.Command(snug, "agent", "--once").Output()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(out); !strings.Contains(text, "pod "+all["old"].uid[:12]+"/"+all["old"].id[:12]) || !strings.Contains(text, "GOMEMLIMIT") || strings.Contains(text, "hunter") {
			t.Errorf("%s", text)
		}
	})
}

// TestNamespace runs the agent in a container with its own cgroup namespace, with v1, in which
// each hierarchy has another root.
func TestNamespace(t *testing.T) {
	gate.Root(t, "root")
	all := pods()
	at := named(5, &pod{class: "burstable"})
	all["agent"] = at
	snug, base := start(t, all), cgv1.New(t, "cpu", "memory")
	const own = `mount -t tmpfs none /sys/fs/cgroup
for c in $(cut -d: -f2 /proc/self/cgroup | grep -E '(^|,)(cpu|memory)(,|$)'); do mkdir /sys/fs/cgroup/$c; mount -t cgroup -o $c none /sys/fs/cgroup/$c; done
`
	for _, c := range []struct{ name, mounts, args string }{
		{"with its own tree", own, "--root " + bindCgroups(t)},
		{"without", "", "--root " + bindCgroups(t)},
		{"with the node's in its place", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := "set -e\n" + c.mounts + `exec "$0" agent --once --json ` + c.args
			cmd := base.Command(t, at.path(), "unshare", "--cgroup", "--mount", "/bin/sh", "-c", script, snug)
			cmd.Env = os.Environ()
			var errs bytes.Buffer
			cmd.Stderr = &errs
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, &errs)
			}
			judge(t, decode(t, out), all)
		})
	}
}

// bindCgroups mounts this machine's cgroup file systems elsewhere, as a hostPath volume does.
func bindCgroups(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	at := filepath.Join(root, "sys/fs/cgroup")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("/sys/fs/cgroup", at, "", syscall.MS_BIND|syscall.MS_REC|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("", at, "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	return root
}

// served is a running agent.
type served struct {
	url string
	cmd *exec.Cmd
}

// serve starts an agent on a free port.
func serve(t *testing.T, snug string, args ...string) *served {
	t.Helper()
	cmd := exec.Command(snug, append([]string{"agent", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	m := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	return &served{"http://" + m[1], cmd}
}

// get returns an answer's code and body.
func (s *served) get(t *testing.T, path string) (int, []byte) {
	t.Helper()
	r, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, text
}

// patience bounds a wait that usually takes a few seconds.
const patience = 3 * time.Minute

// until waits until f is true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !f(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("not in time: " + what)
		}
	}
}

// TestServes checks the same over HTTP, scan after scan, until SIGTERM.
func TestServes(t *testing.T) {
	gate.Root(t, "root")
	all := pods()
	s := serve(t, start(t, all), "--interval", "1s")
	until(t, "healthy", func() bool { code, _ := s.get(t, "/healthz"); return code == http.StatusOK })
	var n *node
	until(t, "an interval in which the old one worked", func() bool {
		_, text := s.get(t, "/findings")
		n = decode(t, text)
		c := n.of(t, all["old"])
		return n.Interval != nil && c.Throttled != nil && *c.Throttled > 0.2 && c.Processes[0].Used != nil && c.Processes[0].GC != nil && *c.Processes[0].GC > 0
	})
	judge(t, n, all)
	if c := n.of(t, all["old"]); !c.finds("stale-procs") {
		t.Errorf("8 Ps at a tenth of a core, throttled: %+v", c.Processes[0].Findings)
	}
	for _, path := range []string{"/nothing", "/debug/pprof/"} {
		if code, _ := s.get(t, path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if err := syscall.Kill(all["plain"].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "without the process that has ended", func() bool {
		_, text := s.get(t, "/findings")
		return !bytes.Contains(text, []byte(all["plain"].uid))
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended: %v", err)
	}
}
