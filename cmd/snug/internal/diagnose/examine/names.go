// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// LookFailure is why a process could not be looked at.
func LookFailure(name string, err error) error {
	var denied *proc.Denied
	var not *NotGo
	switch {
	case errors.As(err, &denied):
		return message.Failed(denied.Error(), denied.Hint())
	case errors.Is(err, proc.ErrGone):
		return message.Failed(absent(name)+", "+name, "snug ps lists the Go processes here")
	case errors.Is(err, proc.ErrNotLinux):
		return message.Failed("looking at a process needs Linux", "files and addresses can be looked at anywhere")
	case errors.As(err, &not):
		return message.Failed(not.Error(), "snug ps lists the Go processes here")
	}
	var f *message.Failure
	if errors.As(err, &f) {
		return err
	}
	return message.Failed(err.Error(), "snug ps lists the Go processes here")
}

// absent says why there is nothing to look at under a process number. Source:
// proc_pid_stat(5); PF_KTHREAD in include/linux/sched.h.
func absent(pid string) string {
	const kernelThread, flags = 0x00200000, 6 // field, the state being 0
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(PID(pid)) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= flags {
		return "no such process"
	}
	if n, err := strconv.ParseUint(fields[flags], 10, 64); err == nil && n&kernelThread != 0 {
		return "a thread of the kernel"
	}
	if strings.ContainsAny(fields[0], "ZXx") {
		return "the process has ended, its parent does not wait for it"
	}
	return "no such process"
}

// PID is a process number; 0 when the text is none.
func PID(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}

// goProcesses are the Go processes that are wanted; denied are how many may not be
// looked at.
func goProcesses(wanted func(*proc.Process) bool) (found []int, denied int, err error) {
	hints := map[string][]int{}
	err = observe.New().Each(hints, wanted, func(g *goproc.Facts) { found = append(found, g.Pid) })
	if errors.Is(err, proc.ErrNotLinux) {
		return nil, 0, LookFailure("/proc", err)
	}
	if err != nil {
		return nil, 0, Unlisted(err)
	}
	for _, pids := range hints {
		denied += len(pids)
	}
	return found, denied, nil
}

// MaybeDenied is the hint where a name fits nothing, and not everything could be
// looked at.
const MaybeDenied = "it may be one that cannot be looked at, snug ps says why"

// Unlisted is why processes cannot be listed.
func Unlisted(err error) error {
	return message.Failed("cannot list processes, "+message.Reason(err), "is /proc mounted?")
}

// Named reports whether one of words is the process's number or its program; true
// where that cannot be read, so that the reason is told.
func Named(p *proc.Process, words []string) bool {
	if len(words) == 0 || slices.Contains(words, strconv.Itoa(p.Pid())) {
		return true
	}
	exe, _, err := p.Exe()
	return err != nil || slices.ContainsFunc(words, func(w string) bool {
		return w == exe || w == p.First().Name || strings.HasSuffix(exe, "/"+w)
	})
}

// NotGo is a process that is no Go program, or one that cannot be told.
type NotGo struct {
	PID  int
	What string
}

func (e *NotGo) Error() string { return "not a Go program, pid " + strconv.Itoa(e.PID) + ": " + e.What }

// Subject is one thing to look at: a process, or a file or address.
type Subject struct {
	Name string
	PID  int  // 0 = a file or an address
	Many bool // one of several that a name stands for
}

// containerID is as container runtimes write it, whole or the first part.
var containerID = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// Resolve finds what a name stands for: a process number, an address, a cgroup
// directory, a file, a container's id, a program's name. Files win over programs;
// ./NAME and the number say which is meant.
func Resolve(name string) ([]Subject, error) {
	if pid := PID(name); pid != 0 {
		return []Subject{{Name: name, PID: pid}}, nil
	}
	if Address(name) || name == "-" {
		return []Subject{{Name: name}}, nil
	}
	info, err := os.Stat(name)
	if err == nil && info.IsDir() && (strings.ContainsRune(name, '/') || isGroup(name)) {
		return inGroup(name)
	}
	if err == nil && !info.IsDir() && (strings.ContainsRune(name, '/') || info.Mode().Perm()&0o111 == 0) {
		return []Subject{{Name: name}}, nil
	}
	if err != nil && !os.IsNotExist(err) {
		return nil, message.Failed(message.Reason(err)+", "+message.Typed(name), message.OwnerHint)
	}
	if containerID.MatchString(name) {
		if found, err := inContainer(name); err != nil || len(found) > 0 {
			return found, err
		}
	}
	pids, denied, failure := goProcesses(func(p *proc.Process) bool { return Named(p, []string{name}) })
	switch {
	case failure != nil:
		return nil, failure
	case len(pids) > 0:
		return several(name, pids), nil
	case err == nil && info.IsDir():
		return inGroup(name)
	case err == nil:
		return []Subject{{Name: name}}, nil
	case denied > 0:
		return nil, message.Failed("no such process, file or container, "+message.Typed(name), MaybeDenied)
	}
	return nil, message.Failed("no such process, file or container, "+message.Typed(name), "snug ps lists the Go processes here")
}

// Address reports whether a name is a URL that can be fetched.
func Address(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// isGroup reports whether a directory is a cgroup.
func isGroup(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.procs"))
	return err == nil
}

func several(name string, pids []int) []Subject {
	var all []Subject
	for _, pid := range pids {
		all = append(all, Subject{Name: name, PID: pid, Many: len(pids) > 1})
	}
	return all
}

// inGroup are the Go processes in a cgroup directory and in those below it.
func inGroup(dir string) ([]Subject, error) {
	if !isGroup(dir) {
		return nil, message.Failed("a directory that is no cgroup, "+dir, "name a directory below /sys/fs/cgroup, a file, or a process")
	}
	member := map[int]bool{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups come and go
		}
		text, _ := os.ReadFile(filepath.Join(path, "cgroup.procs"))
		for _, line := range strings.Fields(string(text)) {
			if n, err := strconv.Atoi(line); err == nil {
				member[n] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, message.Failed(message.Reason(err)+", "+dir, message.OwnerHint)
	}
	pids, _, err := goProcesses(func(p *proc.Process) bool { return member[p.Pid()] })
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, message.Failed("no Go process in the cgroup, "+dir, "snug ps lists the Go processes here")
	}
	return several(dir, pids), nil
}

// inContainer are the Go processes with a container's id in a cgroup's name.
func inContainer(id string) ([]Subject, error) {
	pids, _, err := goProcesses(func(p *proc.Process) bool {
		text, err := os.ReadFile("/proc/" + strconv.Itoa(p.Pid()) + "/cgroup")
		return err == nil && slices.ContainsFunc(strings.FieldsFunc(string(text), func(r rune) bool {
			return strings.ContainsRune("/-.:\n", r)
		}), func(word string) bool { return strings.HasPrefix(word, id) })
	})
	if err != nil {
		return nil, err
	}
	return several(id, pids), nil
}
