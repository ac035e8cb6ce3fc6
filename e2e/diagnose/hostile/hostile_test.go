// SPDX-License-Identifier: Apache-2.0

// Package hostile looks at processes that make themselves hard to look at.
package hostile

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

const (
	interval = 5 * time.Second
	scans    = 12
	// maxCPU is the CPU time of a scan of the agent, and of a command that looks at one process.
	maxCPU = time.Second
	// maxRatio bounds a command on a machine that is so slow that doctor of a process that is fine takes an eighth of a
	// second or more: as a multiple of that.
	maxRatio = 8
	// giveUp is the CPU time after which a command is ended.
	giveUp = 20 // s
)

// foreign are the ways of programs that do not look as if Go built them: only of those are the libraries looked at.
var foreign = []string{"sparse-memfds", "sparse-files", "section-counts", "long-paths", "many-executable", "many-small-files", "truncated", "pipes"}

// hostile is a running process.
type hostile struct {
	way string
	pid int
	cmd *exec.Cmd
}

// build builds the program as it is, and copies that do not look like Go and that have a data segment of 4 GiB of zeros.
func build(t *testing.T) (plain, other, sparse string) {
	t.Helper()
	dir := t.TempDir()
	plain = filepath.Join(dir, "plain")
	cmd := exec.Command("go", "build", "-o", plain, "./program")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(plain)
	if err != nil {
		t.Fatal(err)
	}
	copied := bytes.Clone(text)
	for _, section := range []string{".go.buildinfo", ".note.go.buildid", ".gopclntab"} {
		copied = bytes.ReplaceAll(copied, []byte(section+"\x00"), []byte(strings.ReplaceAll(section, "go", "xx")+"\x00"))
	}
	other, sparse = filepath.Join(dir, "foreign"), filepath.Join(dir, "sparse")
	if err := os.WriteFile(other, copied, 0o755); err != nil {
		t.Fatal(err)
	}
	copied = bytes.ReplaceAll(text, []byte("\xff Go buildinf:"), []byte("\xff No buildinf:"))
	le := binary.LittleEndian
	le.PutUint64(copied[40:], 0) // e_shoff
	copy(copied[58:64], make([]byte, 6))
	for at := int(le.Uint64(copied[32:])); ; at += 56 {
		if le.Uint32(copied[at:]) == 4 { // PT_NOTE becomes PT_LOAD
			le.PutUint32(copied[at:], 1)
			le.PutUint32(copied[at+4:], 6)
			const far, size = 1 << 40, 4 << 30
			for i, v := range []uint64{1 << 30, far, far, size, size, 4096} {
				le.PutUint64(copied[at+8+8*i:], v)
			}
			break
		}
	}
	if err := os.WriteFile(sparse, copied, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(sparse, 5<<30); err != nil {
		t.Fatal(err)
	}
	return plain, other, sparse
}

// start starts a process in its own copy, and waits until it is as it should be.
func start(t *testing.T, exe, way string) hostile {
	t.Helper()
	if way == "deleted" {
		name := filepath.Join(t.TempDir(), "deleted")
		text, err := os.ReadFile(exe)
		if err == nil {
			err = os.WriteFile(name, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		exe = name
	}
	cmd := exec.Command(exe, way, t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	cmd.Env = []string{"GOMAXPROCS=3"}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		cmd.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: %q, %v", way, line, err)
	}
	go io.Copy(io.Discard, out)
	return hostile{way, cmd.Process.Pid, cmd}
}

// all starts one process of each kind.
func all(t *testing.T) (list []hostile) {
	plain, other, sparse := build(t)
	out, err := exec.Command(plain, "list").Output()
	if err != nil {
		t.Fatal(err)
	}
	ways := strings.Fields(string(out))
	slices.Sort(ways)
	for _, way := range ways {
		exe := plain
		if slices.Contains(foreign, way) {
			exe = other
		}
		list = append(list, start(t, exe, way))
	}
	p := start(t, sparse, "fine")
	p.way = "sparse-executable"
	list = append(list, p)
	p = start(t, plain, "fine")
	p.way = "deep-cgroup"
	move(t, p, slices.Repeat([]string{fmt.Sprint("hostile-", p.pid, "-", strings.Repeat("d", 220))}, 12))
	return append(list, p)
}

// move moves a process to a new cgroup.
func move(t *testing.T, p hostile, path []string) {
	t.Helper()
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(`(?m)^\d+:(memory):(.*)$`).FindSubmatch(own)
	if at == nil {
		t.Fatal("no v1 hierarchy of memory")
	}
	dir := filepath.Join("/sys/fs/cgroup/memory", string(at[2]))
	for _, name := range path {
		dir = filepath.Join(dir, name)
		if err := os.Mkdir(dir, 0o755); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
		made := dir
		t.Cleanup(func() {
			for range 100 {
				if os.Remove(made) == nil {
					return
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	t.Cleanup(func() { // before the groups are removed
		p.cmd.Process.Kill()
		p.cmd.Wait()
	})
	if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(p.pid)), 0); err != nil {
		t.Fatal(err)
	}
}

// tool returns the tool to measure: SNUG_HOSTILE_TOOL, or this one.
func tool(t *testing.T) string {
	if name := os.Getenv("SNUG_HOSTILE_TOOL"); name != "" {
		return name
	}
	name := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), name); err != nil {
		t.Fatal(err)
	}
	return name
}

// run runs a command that looks at a process, and returns its output and the CPU time that it took.
func run(t *testing.T, snug string, args ...string) (string, time.Duration, error) {
	t.Helper()
	cmd := exec.Command("/bin/sh", append([]string{"-c", `ulimit -t "$1"; shift; exec "$@"`, "sh", strconv.Itoa(giveUp), snug}, args...)...)
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	out, err := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

var controls = regexp.MustCompile("[\x00-\x08\x0b-\x1f\x7f\u202e]")

// TestCommands: no process makes a command that looks at it take more than a second of CPU time, or, where that is more,
// maxRatio times what doctor takes of a process that is fine.
func TestCommands(t *testing.T) {
	gate.Root(t, "hostile")
	snug, list := tool(t), all(t)
	commands := [][]string{{"ps"}, {"doctor", "--duration", "1s"}, {"profile", "--duration", "1s"}, {"profile", "--goroutines"}, {"profile", "--heap"}}
	fine := list[slices.IndexFunc(list, func(p hostile) bool { return p.way == "fine" })]
	_, control, _ := run(t, snug, "doctor", "--duration", "1s", strconv.Itoa(fine.pid))
	most := max(maxCPU, maxRatio*control)
	for _, p := range list {
		took := []string{}
		for _, c := range commands {
			out, cpu, err := run(t, snug, append(c, strconv.Itoa(p.pid))...)
			took = append(took, fmt.Sprintf("%.2f", cpu.Seconds()))
			if cpu > most {
				t.Errorf("%s, %s: %v of CPU time, at most %v, %v", p.way, c, cpu, most, err)
			}
			if controls.MatchString(out) || strings.Contains(out, "panic") || strings.Contains(out, "goroutine 1 [") {
				t.Errorf("%s, %s: %q", p.way, c, out)
			}
			if testing.Verbose() && os.Getenv("SNUG_HOSTILE_SAY") != "" {
				t.Logf("%s %s: %v\n%s", p.way, c, err, out)
			}
		}
		t.Logf("| %s | %s |", p.way, strings.Join(took, " | "))
	}
}

// page is what the agent serves at /findings.
type page struct {
	Scan struct {
		CPU float64 `json:"cpu_seconds"`
	}
	Containers []struct {
		Processes []struct {
			PID        int
			GOMAXPROCS *int
		}
	}
	Skipped []struct {
		Reason string
		Count  int
	}
	At string
}

// TestAgent: all kinds side by side cost a scan at most a second of CPU time, and the figures of another process are right.
func TestAgent(t *testing.T) {
	gate.Root(t, "hostile")
	snug, list := tool(t), all(t)
	for i, p := range list { // each is a workload, because only the sizes of those are kept
		if p.way == "sparse-memfd" || p.way == "resident" || p.way == "many-executable" || p.way == "long-paths" {
			named(t, p, i)
		}
	}
	a := serve(t, snug)
	fine := list[slices.IndexFunc(list, func(p hostile) bool { return p.way == "fine" })]
	seen := map[string]bool{}
	for end := time.Now().Add(4 * scans * interval); len(seen) < scans && time.Now().Before(end); time.Sleep(interval / 10) {
		if code, _ := a.get("/healthz"); code != http.StatusOK && len(seen) > 0 {
			t.Errorf("after %d scans: /healthz %d", len(seen), code)
		}
		code, text := a.get("/findings")
		var d page
		if code != http.StatusOK || json.Unmarshal(text, &d) != nil || seen[d.At] {
			continue
		}
		seen[d.At] = true
		t.Logf("scan %d: %.2f s of CPU time, skipped %v", len(seen), d.Scan.CPU, d.Skipped)
		if d.Scan.CPU > maxCPU.Seconds() {
			t.Errorf("scan %d: %.2f s of CPU time", len(seen), d.Scan.CPU)
		}
		found := false
		for _, c := range d.Containers {
			for _, p := range c.Processes {
				found = found || p.PID == fine.pid && p.GOMAXPROCS != nil && *p.GOMAXPROCS == 3
			}
		}
		if !found {
			t.Errorf("scan %d: without the process that is fine", len(seen))
		}
		if code, text := a.get("/metrics"); code != http.StatusOK || !bytes.Contains(text, []byte("snug_agent_scans_total")) {
			t.Errorf("scan %d: /metrics %d", len(seen), code)
		}
	}
	if len(seen) < scans {
		t.Errorf("%d scans", len(seen))
	}
}

// named makes a process that of a pod of a Deployment, with the name that a kubelet gives its log.
func named(t *testing.T, p hostile, i int) {
	t.Helper()
	id := fmt.Sprintf("%064x", p.pid)
	move(t, p, []string{"kubepods", "burstable", fmt.Sprintf("pod00000000-0000-4000-8000-%012d", p.pid), id})
	const dir = "/var/log/containers"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, fmt.Sprintf("hostile%d-6d4cf56db6-abcde_default_main-%s.log", i, id))
	if err := os.Symlink("/dev/null", name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		os.Remove(name)
		os.Remove(dir) // if it is empty
	})
}

// agent is a running agent.
type agent struct{ address string }

func serve(t *testing.T, snug string) *agent {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	a := &agent{l.Addr().String()}
	l.Close()
	cmd := exec.Command(snug, "cluster", "agent", "--names=node", "--listen", a.address, "--interval", interval.String())
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return a
}

func (a *agent) get(path string) (int, []byte) {
	c := http.Client{Timeout: interval}
	r, err := c.Get("http://" + a.address + path)
	if err != nil {
		return 0, nil
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		return 0, nil
	}
	return r.StatusCode, text
}
