// SPDX-License-Identifier: Apache-2.0

// Inside runs in the virtual machine of the agent's tests. It starts the programs of pods in
// their groups, and then the agent, on the node and in containers.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Plan is the input, JSON in the file of the first argument.
type Plan struct {
	Pods []Pod
	Runs []Run
}

// Pod is a program in a group.
type Pod struct {
	Group string // below /sys/fs/cgroup
	Args  []string
	Env   []string
	// Throttled means that the program exceeds its group's quota, and that the agent runs only
	// after the group was throttled.
	Throttled bool
}

// Run is a run of the agent.
type Run struct {
	// Group is the group of the container to run in, with its own cgroup and mount namespaces
	// and the node's PID namespace; "" = on the node itself.
	Group string
	// Own means that the container's /sys/fs/cgroup shows only its own group, as runtimes mount
	// it, and not the node's.
	Own  bool
	Args []string
}

// Seen is the output, in the order of the plan.
type Seen struct {
	Pids []int
	Runs []Output
}

// Output is the output of a run.
type Output struct{ Stdout, Stderr, Err string }

const (
	enter = "enter" // the argument that makes this program exec the agent
	tree  = "/sys/fs/cgroup"
	host  = "/host" // where a container mounts the node's tree
)

func main() {
	var err error
	if len(os.Args) > 3 && os.Args[1] == enter {
		err = become(os.Args[2] == "own", os.Args[3:])
	} else {
		err = run(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(file string) error {
	// A mount namespace of its own, because other tests use the machine later.
	runtime.LockOSThread() // namespaces belong to the thread and its children
	if err := unshare(syscall.CLONE_NEWNS); err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var p Plan
	var seen Seen
	if err := json.Unmarshal(text, &p); err != nil {
		return err
	}
	for _, one := range p.Pods {
		cmd, err := one.start()
		if err != nil {
			return fmt.Errorf("%s: %w", one.Group, err)
		}
		defer func() { cmd.Process.Kill(); cmd.Wait() }()
		seen.Pids = append(seen.Pids, cmd.Process.Pid)
	}
	if err := bind(); err != nil {
		return err
	}
	for _, one := range p.Pods {
		if one.Throttled {
			if err := one.wait(); err != nil {
				return fmt.Errorf("%s: %w", one.Group, err)
			}
		}
	}
	for _, one := range p.Runs {
		seen.Runs = append(seen.Runs, one.output())
	}
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// start starts a program in its group, and waits until it is ready.
func (p *Pod) start() (*exec.Cmd, error) {
	cmd := exec.Command(p.Args[0], p.Args[1:]...)
	cmd.Env, cmd.Stderr = append([]string{}, p.Env...), os.Stderr
	group, err := os.Open(filepath.Join(tree, p.Group))
	if err != nil {
		return nil, err
	}
	defer group.Close()
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	if _, err := cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
		return nil, fmt.Errorf("%q, %w", line, errors.Join(err, cmd.Process.Kill(), cmd.Wait()))
	}
	return cmd, nil
}

// patience bounds the wait for a program to be throttled.
const patience = 3 * time.Minute

// wait waits until the group is throttled again.
func (p *Pod) wait() error {
	first, err := p.throttled()
	for end := time.Now().Add(patience); err == nil; time.Sleep(100 * time.Millisecond) {
		var now int
		if now, err = p.throttled(); err == nil && now > first {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("not throttled after %v, %d times before", patience, first)
		}
	}
	return err
}

// throttled returns the number of throttled periods of the group.
func (p *Pod) throttled() (int, error) {
	text, err := os.ReadFile(filepath.Join(tree, p.Group, "cpu.stat"))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if n, ok := strings.CutPrefix(line, "nr_throttled "); ok {
			return strconv.Atoi(strings.TrimSpace(n))
		}
	}
	return 0, errors.New("no nr_throttled in cpu.stat")
}

// bind mounts the node's groups a second time, as a hostPath volume does.
func bind() error {
	at := filepath.Join(host, tree)
	if err := os.MkdirAll(at, 0o755); err != nil {
		return err
	}
	if err := syscall.Mount(tree, at, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", tree, err)
	}
	return syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, "")
}

func (r *Run) output() (o Output) {
	args := r.Args
	if r.Group != "" {
		own := "node's"
		if r.Own {
			own = "own"
		}
		args = append([]string{"/proc/self/exe", enter, own}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Env = []string{"HOME=/tmp"}
	if r.Group != "" {
		group, err := os.Open(filepath.Join(tree, r.Group))
		if err != nil {
			return Output{Err: err.Error()}
		}
		defer group.Close()
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		o.Err = err.Error()
	}
	o.Stdout, o.Stderr = out.String(), errs.String()
	return o
}

// unshare gives the thread new namespaces, with private mounts.
func unshare(flags int) error {
	if err := syscall.Unshare(flags); err != nil {
		return err
	}
	return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "")
}

// become makes new mount and cgroup namespaces, with the current group as the root, and execs
// the agent. It returns only on an error.
func become(own bool, args []string) error {
	runtime.LockOSThread() // namespaces belong to the thread, and exec keeps those of its caller
	if err := unshare(syscall.CLONE_NEWCGROUP | syscall.CLONE_NEWNS); err != nil {
		return err
	}
	if own {
		if err := syscall.Unmount(tree, syscall.MNT_DETACH); err != nil {
			return err
		}
		if err := syscall.Mount("cgroup", tree, "cgroup2", syscall.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	return syscall.Exec(args[0], args, os.Environ())
}
