// SPDX-License-Identifier: Apache-2.0

// Package oci runs programs in real OCI containers with runc.
package oci

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/matrix"
)

// User is the uid and gid of container processes. The host has no such user.
const User = 65532

// Container is one container. Its root holds only static programs and is read-only; it has no
// capabilities.
type Container struct {
	Root string // directory on the host
	Args []string
	Env  []string
	// Level holds the limits of its cgroup.
	Level matrix.Level
	// PrivateCgroup gives it a cgroup namespace of its own.
	PrivateCgroup bool
	NoSys         bool     // mount neither /sys nor /sys/fs/cgroup
	Masked        []string // paths hidden by /dev/null
}

// mount is one entry of "mounts" in the OCI configuration.
type mount struct {
	Destination string   `json:"destination"`
	Type        string   `json:"type"`
	Source      string   `json:"source"`
	Options     []string `json:"options,omitempty"`
}

// config returns the bundle's config.json according to the OCI runtime specification 1.0.2,
// config.md and config-linux.md.
func (c Container) config(cgroupsPath string) ([]byte, error) {
	mounts := []mount{
		{"/proc", "proc", "proc", nil},
		{"/dev", "tmpfs", "tmpfs", []string{"nosuid", "strictatime", "mode=755", "size=65536k"}},
	}
	if !c.NoSys {
		mounts = append(mounts,
			mount{"/sys", "sysfs", "sysfs", []string{"nosuid", "noexec", "nodev", "ro"}},
			mount{"/sys/fs/cgroup", "cgroup", "cgroup", []string{"nosuid", "noexec", "nodev", "ro"}})
	}
	type object = map[string]any
	namespaces := []object{{"type": "pid"}, {"type": "ipc"}, {"type": "uts"}, {"type": "mount"}, {"type": "network"}}
	if c.PrivateCgroup {
		namespaces = append(namespaces, object{"type": "cgroup"})
	}
	cpu, memory := object{}, object{}
	if c.Level.CPU == "max" {
		cpu["quota"] = -1
	} else if c.Level.CPU != "" {
		var quota, period int64
		if _, err := fmt.Sscan(c.Level.CPU, &quota, &period); err != nil {
			return nil, fmt.Errorf("quota %q: %w", c.Level.CPU, err)
		}
		cpu["quota"], cpu["period"] = quota, period
	}
	if c.Level.CPUs != "" {
		cpu["cpus"] = c.Level.CPUs
	}
	if c.Level.Memory != 0 {
		memory["limit"] = c.Level.Memory
	}
	return json.Marshal(object{
		"ociVersion": "1.0.2",
		"root":       object{"path": c.Root, "readonly": true},
		"mounts":     mounts,
		"process": object{
			"args": c.Args, "env": c.Env, "cwd": "/",
			"user":            object{"uid": User, "gid": User},
			"capabilities":    object{},
			"noNewPrivileges": true,
		},
		"linux": object{
			"cgroupsPath": cgroupsPath,
			"namespaces":  namespaces,
			"maskedPaths": c.Masked,
			"resources":   object{"cpu": cpu, "memory": memory},
		},
	})
}

var count atomic.Int64

// Running is a started container.
type Running struct {
	ID     string
	cmd    *exec.Cmd
	state  string
	out    pipe
	stderr bytes.Buffer
}

// Start starts the container. It is removed when the test ends.
func (c Container) Start(t testing.TB) *Running {
	t.Helper()
	dir := t.TempDir()
	r := &Running{
		ID:    fmt.Sprintf("e2e-oci-%d-%d", os.Getpid(), count.Add(1)),
		state: filepath.Join(dir, "state"),
		out:   pipe{wrote: make(chan struct{}, 1)},
	}
	// A relative path, below the group of this process, which is runc's too.
	text, err := c.config(r.ID)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	r.cmd = exec.Command("runc", "--root", r.state, "run", "--bundle", dir, r.ID)
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.stderr
	r.cmd.WaitDelay = 10 * time.Second
	if err := r.cmd.Start(); err != nil {
		t.Fatalf("%v: install the Debian packages of e2e/packages.txt", err)
	}
	t.Cleanup(func() {
		// --force kills a running container, and does not fail if it is gone.
		if out, err := exec.Command("runc", "--root", r.state, "delete", "--force", r.ID).CombinedOutput(); err != nil {
			t.Errorf("remove the container: %v: %s", err, out)
		}
		if r.cmd.ProcessState == nil {
			r.cmd.Process.Kill()
			r.cmd.Wait()
		}
	})
	return r
}

// Run runs the container until it ends.
func (c Container) Run(t testing.TB) matrix.Outcome {
	t.Helper()
	return c.Start(t).Wait(t)
}

// hang bounds every wait.
const hang = 3 * time.Minute

// Wait waits up to three minutes for the container's end. runc exits with the container's exit
// code.
func (r *Running) Wait(t testing.TB) matrix.Outcome {
	t.Helper()
	late := time.AfterFunc(hang, func() { r.cmd.Process.Kill() })
	err := r.cmd.Wait()
	if !late.Stop() {
		t.Fatalf("container %s did not end within %v; stderr: %s", r.ID, hang, r.stderr.String())
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		t.Fatal(err)
	}
	status := r.cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		t.Fatalf("runc was killed: %v", status.Signal())
	}
	return matrix.Outcome{Exit: status.ExitStatus(), Stdout: r.out.String(), Stderr: r.stderr.String()}
}

// Until waits until the container's output contains the text.
func (r *Running) Until(t testing.TB, text string) {
	t.Helper()
	late := time.After(hang)
	for !strings.Contains(r.out.String(), text) {
		select {
		case <-r.out.wrote:
		case <-late:
			t.Fatalf("no %q in the container's output %q", text, r.out.String())
		}
	}
}

// Kill sends the container's first process a signal with runc.
func (r *Running) Kill(t testing.TB, signal string) {
	t.Helper()
	if out, err := exec.Command("runc", "--root", r.state, "kill", r.ID, signal).CombinedOutput(); err != nil {
		t.Fatalf("runc kill %s: %v: %s", signal, err, out)
	}
}

// pipe collects output that another goroutine writes.
type pipe struct {
	mu    sync.Mutex
	buf   bytes.Buffer
	wrote chan struct{} // holds an element after a write
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case p.wrote <- struct{}{}:
	default:
	}
	return p.buf.Write(b)
}

func (p *pipe) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.buf.String()
}
