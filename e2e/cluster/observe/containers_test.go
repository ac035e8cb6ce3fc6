// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
)

// role is the variable that makes the test binary a program in a container.
const role = "OBSERVE_ROLE"

// TestMain lets the test binary also be the program to inspect.
func TestMain(m *testing.M) {
	switch name := os.Getenv(role); name {
	case "":
		os.Exit(m.Run())
	case "work":
		for range runtime.GOMAXPROCS(0) {
			go spin()
		}
	case "thrash":
		go thrash()
	}
	runtime.GC()
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		rests.Store(true)
	}
}

// garbage keeps the compiler from removing allocations.
var garbage []byte

// rests ends the work.
var rests atomic.Bool

func spin() {
	for !rests.Load() {
		garbage = make([]byte, 16<<10)
		for t := time.Now(); time.Since(t) < time.Millisecond; {
		}
	}
}

// thrash fills the heap up to GOMEMLIMIT with many small objects, and makes garbage.
func thrash() {
	type piece struct {
		next *piece
		_    [56]byte
	}
	var held *piece
	for range 44 << 20 / 64 {
		held = &piece{next: held}
	}
	for {
		garbage = make([]byte, 16<<10)
		runtime.KeepAlive(held)
	}
}

// container is the only container of a pod.
type container struct {
	name   string // of the pod
	role   string
	env    []string
	quota  int // microseconds in 100 ms; 0 = none
	memory int // MiB; 0 = none
	in     io.WriteCloser
}

// containers returns containers with various faults.
func containers() []*container {
	return []*container{
		{name: "above", role: "work", env: []string{"GOMAXPROCS=16"}, quota: 10_000, memory: 256},
		{name: "fits", role: "work", env: []string{"GOMAXPROCS=2"}, quota: 10_000},
		{name: "over", env: []string{"GOMEMLIMIT=512MiB"}, memory: 256},
		{name: "grown", env: []string{"GOMAXPROCS=1", "GOMEMLIMIT=115MiB"}, quota: 100_000, memory: 128},
		{name: "thrashes", role: "thrash", env: []string{"GOMAXPROCS=2", "GOMEMLIMIT=50MiB"}, quota: 25_000, memory: 256},
		{name: "well", quota: 200_000},
	}
}

// uid returns the UID of the pod; a concurrent run has others.
func (c *container) uid() string {
	sum := sha256.Sum256([]byte(c.name))
	return fmt.Sprintf("%08x-0000-4000-8000-%x", os.Getpid(), sum[:6])
}

func (c *container) id() string { return fmt.Sprintf("%x", sha256.Sum256([]byte(c.uid()))) }

// group returns the name that a kubelet with the driver cgroupfs gives.
func (c *container) group() string { return "/kubepods/burstable/pod" + c.uid() + "/" + c.id() }

// node has containers in groups, until the test ends.
type node struct{ base *cgv1.Base }

// rest ends the work of the program.
func (c *container) rest(t *testing.T) {
	t.Helper()
	if _, err := fmt.Fprintln(c.in); err != nil {
		t.Fatal(err)
	}
}

func startNode(t *testing.T, all []*container) *node {
	t.Helper()
	n := &node{cgv1.New(t, "cpu", "memory")}
	groups := map[string]map[string]map[string]string{"cpu": {}, "memory": {}}
	for _, controller := range groups {
		for _, path := range []string{"/kubepods", "/kubepods/burstable"} {
			controller[path] = nil
		}
		for _, c := range all {
			controller[filepath.Dir(c.group())], controller[c.group()] = nil, nil
		}
	}
	for _, c := range all {
		// A request of half a CPU: 512 is not the default.
		cpu := map[string]string{"cpu.shares": "512"}
		if c.quota > 0 {
			cpu["cpu.cfs_quota_us"] = strconv.Itoa(c.quota)
		}
		groups["cpu"][c.group()] = cpu
		if c.memory > 0 {
			groups["memory"][c.group()] = map[string]string{"memory.limit_in_bytes": strconv.Itoa(c.memory << 20)}
		}
	}
	n.base.Make(t, groups)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		cmd := n.base.Command(t, c.group(), exe)
		cmd.SysProcAttr.Pdeathsig = 0 // this thread may end before
		cmd.Env = append(c.env, role+"="+cmp.Or(c.role, "idle"))
		if c.in, err = cmd.StdinPipe(); err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.in.Close(); _ = cmd.Process.Kill(); _ = cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", c.name, line, err)
		}
	}
	return n
}

// resize changes the limits of a running container, as a kubelet does.
func (n *node) resize(t *testing.T, c *container, quota, memory int) {
	t.Helper()
	for file, v := range map[string]int{
		filepath.Join(n.base.Dir("cpu"), c.group(), "cpu.cfs_quota_us"):         quota,
		filepath.Join(n.base.Dir("memory"), c.group(), "memory.limit_in_bytes"): memory << 20,
	} {
		if err := os.WriteFile(file, []byte(strconv.Itoa(v)), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// named returns relabeling rules that give the containers names, as an agent with --names
// does: here there is no API server.
func named(all []*container) string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, "      - {"+format+"}\n", args...) }
	for _, c := range all {
		rule(`source_labels: [pod_uid], regex: %q, target_label: pod, replacement: %s`, c.uid(), c.name)
		rule(`source_labels: [__name__, pod], regex: "snug_go_container_info;%s", target_label: workload, replacement: Deployment/%[1]s`, c.name)
		for label, value := range map[string]string{"namespace": "shop", "container": "app", "pod_uid": "", "container_id": ""} {
			rule(`source_labels: [pod], regex: %s, target_label: %s, replacement: %q`, c.name, label, value)
		}
	}
	return b.String()
}
