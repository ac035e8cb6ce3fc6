// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"github.com/snug-go/snug/e2e/fit/vm/wire"
)

// stepArg makes this program confine itself and then become the payload, so that the payload runs
// in its groups from the first instruction.
const stepArg = "enter-step"

// order is the input of enter, on descriptor 3.
type order struct {
	Hierarchy wire.Hierarchy
	Step      wire.Step
}

// carryOut makes the step's groups, runs its program there, reads the requested files and removes
// the groups.
func carryOut(h wire.Hierarchy, s wire.Step, r *wire.Result) (err error) {
	made, err := makeGroups(h, s.Cgroup)
	defer func() { err = errors.Join(err, removeGroups(made)) }()
	if err != nil {
		return err
	}
	before := groupDirs()
	if err := start(h, s, r); err != nil {
		return err
	}
	for _, dir := range groupDirs() {
		if !slices.Contains(before, dir) {
			made = append(made, dir) // so that the next step does not find it
			r.Left = append(r.Left, strings.TrimPrefix(dir, cgroupRoot)+processesIn(dir))
		}
	}
	for _, name := range s.After {
		text, err := os.ReadFile(filepath.Join(cgroupRoot, name))
		if err != nil {
			return err
		}
		if r.After == nil {
			r.After = map[string]string{}
		}
		r.After[name] = string(text)
	}
	return nil
}

// groupDirs returns the directories of all groups, outermost first.
func groupDirs() []string {
	var dirs []string
	filepath.WalkDir(cgroupRoot, func(dir string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, dir)
		}
		return nil
	})
	return dirs
}

// processesIn describes the processes of a group: " (PID STATE ARGUMENTS, ...)", "" for none.
func processesIn(dir string) string {
	var list []string
	text, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	for _, pid := range strings.Fields(string(text)) {
		stat, _ := os.ReadFile("/proc/" + pid + "/stat")
		args, _ := os.ReadFile("/proc/" + pid + "/cmdline")
		_, state, _ := strings.Cut(string(stat), ") ")
		state, _, _ = strings.Cut(state, " ")
		list = append(list, fmt.Sprintf("%s %s %s", pid, state, strings.TrimSpace(strings.ReplaceAll(string(args), "\x00", " "))))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

// start runs the program until it ends and stores its exit in the result. It returns an error if
// the program did not start or did not end in time.
func start(h wire.Hierarchy, s wire.Step, r *wire.Result) error {
	orderR, orderW, err := os.Pipe()
	if err != nil {
		return err
	}
	failR, failW, err := os.Pipe()
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.Command("/init", stepArg)
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.ExtraFiles = []*os.File{orderR, failW}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.Private {
		cmd.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID | syscall.CLONE_NEWNS
	}
	// The kill below ends what the program leaves running, except processes that have left the
	// process group.
	cmd.WaitDelay = time.Minute
	if err := cmd.Start(); err != nil {
		return err
	}
	orderR.Close()
	failW.Close()
	group := -cmd.Process.Pid
	limit := time.Duration(s.Seconds) * time.Second
	if limit == 0 {
		limit = time.Minute
	}
	// A Go program prints its goroutines on SIGQUIT.
	kill := time.AfterFunc(limit+10*time.Second, func() { syscall.Kill(group, syscall.SIGKILL) })
	late := time.AfterFunc(limit, func() { syscall.Kill(group, syscall.SIGQUIT) })

	err = json.NewEncoder(orderW).Encode(order{h, s})
	orderW.Close()
	// exec closes the other end; a failure writes its reason to it first.
	why, _ := io.ReadAll(failR)
	failR.Close()
	ended(cmd.Process.Pid)
	syscall.Kill(group, syscall.SIGKILL)
	wait := cmd.Wait()
	inTime := late.Stop()
	kill.Stop()

	r.Stdout, r.Stderr = stdout.String(), stderr.String()
	status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case err != nil:
		return err
	case len(why) > 0:
		return errors.New(string(why))
	case !inTime:
		return fmt.Errorf("%s took more than %v; stderr: %s", s.Args[0], limit, r.Stderr)
	case !ok || errors.Is(wait, exec.ErrWaitDelay):
		return wait
	case status.Signaled():
		r.Signal = status.Signal().String()
	default:
		r.Exit = status.ExitStatus()
	}
	return nil
}

// ended waits until a child has ended, without reaping it.
func ended(pid int) {
	const pidOnly, exitedNoWait = 1, 0x4 | 0x1000000 // P_PID, WEXITED | WNOWAIT
	var info [128]byte
	for errno := syscall.EINTR; errno == syscall.EINTR; {
		_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, pidOnly, uintptr(pid), uintptr(unsafe.Pointer(&info)), exitedNoWait, 0, 0)
	}
}

// enter is the child's side of start: it reads the order, confines itself and becomes the program.
func enter() {
	fail := os.NewFile(4, "fail")
	syscall.CloseOnExec(4)
	err := func() error {
		in := os.NewFile(3, "order")
		var o order
		if err := json.NewDecoder(in).Decode(&o); err != nil {
			return err
		}
		in.Close()
		return become(o)
	}()
	fmt.Fprint(fail, err)
	os.Exit(1)
}

func become(o order) error {
	s := o.Step
	for _, g := range s.In {
		if err := os.WriteFile(filepath.Join(cgroupRoot, g, "cgroup.procs"), []byte("0"), 0); err != nil {
			return fmt.Errorf("enter group: %w", err)
		}
	}
	// Namespaces belong to a thread, and exec keeps those of the calling thread.
	runtime.LockOSThread()
	if s.Private {
		if err := isolate(o.Hierarchy); err != nil {
			return err
		}
	}
	if err := bind(s.Binds); err != nil {
		return err
	}
	if s.Uid != 0 {
		if err := becomeUser(s.Uid); err != nil {
			return fmt.Errorf("become user %d: %w", s.Uid, err)
		}
	}
	if err := os.Chdir(path.Join("/", s.Dir)); err != nil {
		return err
	}
	if err := syscall.Exec(s.Args[0], s.Args, s.Env); err != nil {
		return fmt.Errorf("exec %s: %w", s.Args[0], err)
	}
	return nil
}

// becomeUser changes the user, the group and the groups of the calling thread; exec ends the
// others. Package syscall's functions wait for all threads, which on one CPU sometimes hangs.
func becomeUser(id int) error {
	for _, call := range [][3]uintptr{{syscall.SYS_SETGROUPS}, {syscall.SYS_SETGID, uintptr(id)}, {syscall.SYS_SETUID, uintptr(id)}} {
		if _, _, errno := syscall.RawSyscall(call[0], call[1], call[2], 0); errno != 0 {
			return errno
		}
	}
	return nil
}

// bind makes mounts in a namespace of their own.
func bind(mounts [][2]string) error {
	if len(mounts) == 0 {
		return nil
	}
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, m := range mounts {
		if m[0] == "" {
			if err := syscall.Unmount(m[1], syscall.MNT_DETACH); err != nil {
				return fmt.Errorf("unmount %s: %w", m[1], err)
			}
			continue
		}
		if err := os.MkdirAll(m[1], 0o755); err != nil {
			return err
		}
		if err := syscall.Mount(m[0], m[1], "", syscall.MS_BIND, ""); err != nil {
			return fmt.Errorf("bind %s: %w", m[0], err)
		}
	}
	return nil
}

// isolate adds a cgroup namespace, rooted at the current group, to the namespaces that this process
// started in, and mounts proc and the cgroup file systems afresh.
func isolate(h wire.Hierarchy) error {
	if err := syscall.Unshare(syscall.CLONE_NEWCGROUP); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	for _, dir := range []string{cgroupRoot, "/proc"} {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			return fmt.Errorf("unmount %s: %w", dir, err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	return mountCgroups(h)
}

// makeGroups makes the groups, outermost first, and returns those it made, even with an error.
func makeGroups(h wire.Hierarchy, groups map[string]map[string]string) (made []string, err error) {
	for _, g := range slices.Sorted(maps.Keys(groups)) {
		if h == wire.V2 {
			if parent := path.Dir(g); parent != "/" && groups[parent]["cgroup.subtree_control"] == "" {
				if err := enable(parent); err != nil {
					return made, err
				}
			}
		}
		dir := filepath.Join(cgroupRoot, g)
		if err := os.Mkdir(dir, 0o755); err != nil {
			return made, err
		}
		made = append(made, dir)
		for _, name := range slices.Sorted(maps.Keys(groups[g])) {
			if err := set(filepath.Join(dir, name), groups[g][name]); err != nil {
				return made, err
			}
		}
	}
	return made, nil
}

// set writes a file of a group and checks that the kernel accepted the value.
func set(file, text string) error {
	if err := os.WriteFile(file, []byte(text), 0); err != nil {
		return fmt.Errorf("write %q: %w", text, err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if path.Base(file) != "cgroup.subtree_control" && !strings.HasPrefix(string(got), text) {
		return fmt.Errorf("%s: wrote %q, the kernel reports %q", file, text, got)
	}
	return nil
}

// removeGroups removes groups, innermost first. A killed process takes a moment to leave its group.
func removeGroups(made []string) error {
	var errs []error
	for _, dir := range slices.Backward(made) {
		err := syscall.Rmdir(dir)
		for late := time.Now().Add(time.Minute); err == syscall.EBUSY && time.Now().Before(late); {
			time.Sleep(10 * time.Millisecond)
			err = syscall.Rmdir(dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
