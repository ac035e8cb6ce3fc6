// SPDX-License-Identifier: Apache-2.0

package follow_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
)

func TestMain(m *testing.M) {
	if kind := os.Getenv("SNUG_LIVE"); kind != "" {
		live(kind)
		return
	}
	os.Exit(m.Run())
}

// live is the process that follows, with package adapt or snug: it prints the values in force
// whenever they change, and ends when its standard input does.
func live(kind string) {
	busy := make(chan struct{})
	go func() { // an idle process is polled less often
		for {
			select {
			case <-busy:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	io.ReadFull(os.Stdin, make([]byte, 1)) // it is in its group now
	last := ""
	say := func() {
		line := "procs=" + strconv.Itoa(runtime.GOMAXPROCS(0)) + " memory=" + strconv.FormatInt(debug.SetMemoryLimit(-1)>>20, 10) + "\n"
		if line != last {
			os.Stdout.WriteString(line)
		}
		last = line
	}
	var err error
	if kind == "adapt" {
		_, err = adapt.Watch(context.Background(), adapt.Options{OnPlan: func(adapt.Plan) { say() }})
	} else {
		_, err = snug.Watch(context.Background(), snug.WatchOptions{OnPlan: func(snug.Plan) { say() }})
	}
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, os.Stdin)
	close(busy)
}

// longest bounds the wait for what may never come.
const longest = 5 * time.Minute

// A hierarchy is where groups can be created: one directory on v2, one per controller on v1.
type hierarchy struct {
	t    *testing.T
	v1   bool
	dirs map[string]string // by controller
}

// ownGroups returns the groups of this process.
func ownGroups(t *testing.T) *hierarchy {
	t.Helper()
	h := &hierarchy{t: t, dirs: map[string]string{}}
	_, err := os.Stat("/sys/fs/cgroup/cgroup.controllers")
	h.v1 = err != nil
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		f := strings.SplitN(line, ":", 3)
		names := strings.Split(f[1], ",")
		for _, c := range []string{"cpu", "memory"} {
			switch {
			case !h.v1 && f[0] == "0":
				h.dirs[c] = filepath.Join("/sys/fs/cgroup", f[2])
			case h.v1 && slices.Contains(names, c):
				h.dirs[c] = filepath.Join("/sys/fs/cgroup", f[1], f[2])
			}
		}
	}
	if len(h.dirs) != 2 {
		t.Fatalf("no hierarchy with cpu and memory in %s", text)
	}
	if !h.v1 {
		h.write(filepath.Join(h.dirs["cpu"], "cgroup.subtree_control"), "+cpu +memory")
	}
	return h
}

func (h *hierarchy) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(name, []byte(text), 0); err != nil {
		h.t.Fatal(err)
	}
}

// make creates a group below this process's own.
func (h *hierarchy) make(name string) {
	for _, dir := range h.each(name) {
		if err := os.Mkdir(dir, 0o755); err != nil {
			h.t.Fatal(err)
		}
		h.t.Cleanup(func() {
			for late := time.Now().Add(longest); os.Remove(dir) != nil; time.Sleep(10 * time.Millisecond) {
				if time.Now().After(late) {
					h.t.Errorf("%s cannot be removed", dir)
					return
				}
			}
		})
	}
}

func (h *hierarchy) each(name string) (all []string) {
	for _, dir := range h.dirs {
		if dir = filepath.Join(dir, name); !slices.Contains(all, dir) {
			all = append(all, dir)
		}
	}
	return all
}

func (h *hierarchy) enter(name string, pid int) {
	for _, dir := range h.each(name) {
		h.write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
	}
}

func (h *hierarchy) memory(name string, mib int) {
	file := "memory.max"
	if h.v1 {
		file = "memory.limit_in_bytes"
	}
	h.write(filepath.Join(h.dirs["memory"], name, file), strconv.Itoa(mib<<20))
}

// quota sets a quota in hundredths of a core.
func (h *hierarchy) quota(name string, percent int) {
	micros := strconv.Itoa(percent * 1000)
	if h.v1 {
		h.write(filepath.Join(h.dirs["cpu"], name, "cpu.cfs_quota_us"), micros)
	} else {
		h.write(filepath.Join(h.dirs["cpu"], name, "cpu.max"), micros+" 100000")
	}
}

func TestFollowsALiveGroup(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to run this test")
	}
	for _, kind := range []string{"adapt", "snug"} {
		t.Run(kind, func(t *testing.T) { followsALiveGroup(t, kind) })
	}
}

func followsALiveGroup(t *testing.T, kind string) {
	h := ownGroups(t)
	pod := "snug-watch-" + strconv.Itoa(os.Getpid())
	app, other := pod+"/app", pod+"/other"
	h.make(pod)
	if !h.v1 {
		h.write(filepath.Join(h.dirs["cpu"], pod, "cgroup.subtree_control"), "+cpu +memory")
	}
	h.make(app)
	h.make(other)
	h.memory(pod, 1024)
	h.memory(app, 512)
	h.memory(other, 200)
	h.quota(pod, 300)
	h.quota(app, 150)

	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{"SNUG_LIVE=" + kind}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 100)
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
		close(lines)
	}()
	defer func() {
		in.Close()
		for range lines {
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	}()
	last := ""
	says := func(procs, mib int) {
		t.Helper()
		want := "procs=" + strconv.Itoa(procs) + " memory=" + strconv.Itoa(mib)
		for late := time.After(longest); ; {
			select {
			case line, ok := <-lines:
				if last = line; !ok {
					t.Fatalf("it has ended, want %q", want)
				}
			case <-late: // ends a program that would never end
				t.Fatalf("it said %q last, want %q", last, want)
			}
			if last == want {
				return
			}
		}
	}

	h.enter(app, cmd.Process.Pid)
	io.WriteString(in, "!")
	procs := min(2, runtime.NumCPU())
	says(procs, 460)
	h.memory(app, 256) // the container shrinks
	says(procs, 230)
	h.memory(pod, 128) // then the pod
	says(procs, 115)
	h.memory(pod, 2048) // the pod grows first
	h.memory(app, 1024)
	says(procs, 921)
	if runtime.NumCPU() >= 4 {
		h.quota(app, 250)
		says(3, 921)
		h.quota(app, 100)
		says(2, 921)
	}
	h.enter(other, cmd.Process.Pid) // it is moved, and its old group is removed
	says(min(3, runtime.NumCPU()), 180)
	h.memory(other, 300)
	says(min(3, runtime.NumCPU()), 270)
}
