// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// lives reports whether a process exists and is not a zombie.
func lives(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(text, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z'
}

func TestKilledParent(t *testing.T) {
	s := serve(t, hello)
	exe, _ := os.Executable()
	parent := exec.Command(exe, s.URL)
	parent.Env = append(os.Environ(), role+"=parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	pid, bad := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || bad != nil || !lives(pid) {
		t.Fatalf("generator %q, %v", line, err)
	}
	parent.Process.Kill()
	parent.Wait()
	for range 6000 { // a minute
		if !lives(pid) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	syscall.Kill(pid, syscall.SIGKILL)
	t.Error("the generator has outlived its parent")
}

func TestSignals(t *testing.T) {
	t.Parallel()
	s := serve(t, hello)
	g := begin(t, open(100, 300*time.Millisecond, s.URL))
	if err := g.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.cmd.Process.Signal(syscall.SIGINT) // as from a terminal: the parent handles it
	if r, err := g.Go(t.Context()); err != nil || r.Ops == 0 {
		t.Errorf("after an interrupt: %v, %+v", err, r)
	}
	g = begin(t, open(100, time.Hour, s.URL))
	if err := g.Warm(t.Context()); err != nil {
		t.Fatal(err)
	}
	g.cmd.Process.Signal(syscall.SIGTERM)
	if _, err := g.Go(t.Context()); err == nil || !strings.Contains(err.Error(), "the load generator ended: signal: terminated") {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// TestFlood: bodies are read to their end and not kept; an endless one fails.
func TestFlood(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	block := make([]byte, mebibyte)
	var size int
	s := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; size == 0 || n < size; n++ {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	for _, tt := range []struct {
		name string
		size int // MiB; 0 is endless
	}{{"large", 64}, {"endless", 0}} {
		t.Run(tt.name, func(t *testing.T) {
			size = tt.size
			p := open(20, 200*time.Millisecond, s.URL)
			if size == 0 {
				p.Timeout = 200 * time.Millisecond
			}
			g := begin(t, p)
			if err := g.Warm(t.Context()); err != nil {
				t.Fatal(err)
			}
			grew := growing(g.cmd.Process.Pid)
			r, err := g.Go(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if size == 0 && (r.Ops != 0 || !strings.Contains(r.FirstError, "no complete answer within 200ms")) {
				t.Errorf("%+v", r)
			}
			if size != 0 && (r.Ops == 0 || r.Errors != 0) {
				t.Errorf("%+v", r)
			}
			if got := grew(); got == 0 || got > 60 {
				t.Errorf("the generator grew to %d MiB", got)
			}
		})
	}
}

// growing returns a function that waits for the end of a process and returns its largest
// memory, in MiB. The figure of wait4 starts with that of the process that started it.
func growing(pid int) (grew func() int) {
	largest := make(chan int, 1)
	peak := func() (kib int) {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, rest, _ := strings.Cut(string(text), "\nVmHWM:")
		fmt.Sscan(rest, &kib)
		return kib
	}
	last := peak()
	go func() {
		for now := last; now > 0; now = peak() {
			last = now
			time.Sleep(time.Millisecond)
		}
		largest <- last >> 10
	}()
	return func() int { return <-largest }
}

func TestPolicyIsRead(t *testing.T) {
	s := serve(t, hello)
	r := measure(t, open(100, 100*time.Millisecond, s.URL))
	if want := policy(); r.Policy != want || want == "" {
		t.Errorf("policy %q, want that of the parent, %q", r.Policy, want)
	}
	if r.CPUSeconds == nil || *r.CPUSeconds <= 0 || r.LatenessMax == nil || *r.LatenessMax < *r.LatenessP99 {
		t.Errorf("%+v", r)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to become real-time")
	}
	if os.Geteuid() != 0 {
		t.Fatal("SNUG_E2E=root needs root")
	}
}

func TestRealTime(t *testing.T) {
	needRoot(t)
	s := serve(t, hello)
	p := open(400, 300*time.Millisecond, s.URL)
	p.RealTime, p.Warm = true, 100*time.Millisecond
	if r := measure(t, p); r.Policy != "SCHED_RR" || r.Ops == 0 || r.Errors != 0 {
		t.Errorf("%+v", r)
	}
	if is := policy(); is != "SCHED_OTHER" {
		t.Errorf("the parent is %s", is)
	}
}

// TestRealTimeRefused: in a user namespace of its own even root lacks the permission.
func TestRealTimeRefused(t *testing.T) {
	needRoot(t)
	exe, _ := os.Executable()
	cmd := exec.Command(exe, childArg, becomeArg)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: 0, Size: 1}},
	}
	out, err := cmd.Output()
	var e event
	if err == nil || json.Unmarshal(out, &e) != nil {
		t.Fatalf("%v, %q", err, out)
	}
	if e.Event != eventError || !strings.HasPrefix(e.Error, "cannot become real-time: sched_setattr: operation not permitted") || !strings.Contains(e.Hint, "CAP_SYS_NICE") {
		t.Errorf("%+v", e)
	}
}

// TestRealTimeIsNotAssumed: a plan that asks for real time fails in a generator without
// it.
func TestRealTimeIsNotAssumed(t *testing.T) {
	exe, _ := os.Executable()
	cmd := exec.Command(exe, childArg)
	p := open(1, time.Second, "http://127.0.0.1:1")
	p.RealTime = true
	plan, _ := json.Marshal(p)
	in, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	defer w.Close()
	w.Write(append(plan, '\n'))
	cmd.Stdin = in
	out, err := cmd.Output()
	if err == nil || !strings.Contains(string(out), "cannot become real-time: the scheduling policy is") {
		t.Errorf("%v, %q", err, out)
	}
}
