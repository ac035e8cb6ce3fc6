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
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// LookFailure returns the failure for a process that could not be examined.
func LookFailure(name string, err error) error {
	var denied *proc.Denied
	var not *NotGo
	switch {
	case errors.As(err, &denied):
		return message.Failed(denied.Error(), denied.Hint())
	case errors.Is(err, proc.ErrGone) && proc.Hidden():
		if _, err := proc.Pids(); err != nil {
			return Unlisted(err)
		}
		return message.Failed(name+": no such process, or it is hidden", proc.HiddenHint)
	case errors.Is(err, proc.ErrGone):
		return message.Failed(name+": "+absent(name), "snug ps lists the Go processes here")
	case errors.Is(err, proc.ErrNotLinux):
		return message.Failed("reading a process needs Linux", "snug reads files and addresses on any system")
	case errors.As(err, &not):
		return message.Failed(not.Error(), not.hint())
	}
	var f *message.Failure
	if errors.As(err, &f) {
		return err
	}
	return message.Failed(err.Error(), "snug ps lists the Go processes here")
}

// Passed returns the failure for a process that is not listed as a Go process: it may not be read, is
// not there, or is not a Go program.
func Passed(pid int, files *goproc.Cache) error {
	p, err := proc.Open(pid)
	if err == nil {
		defer p.Close()
		g := goproc.Look(p, files)
		switch err = g.Err; {
		case err != nil:
		case g.Exe.IsGo:
			return message.Failed("pid "+strconv.Itoa(pid)+": it has just started", "look again")
		default:
			err = NewNotGo(p, files, g.Exe.What)
		}
	}
	return LookFailure(strconv.Itoa(pid), err)
}

// absent says why a process number cannot be examined. Source:
// proc_pid_stat(5); PF_EXITING and PF_KTHREAD in include/linux/sched.h.
func absent(pid string) string {
	const exiting, kernelThread, flags = 0x4, 0x00200000, 6 // field number, counted from the state, which is 0
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(PID(pid)) + "/stat")
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) <= flags {
		return "no such process"
	}
	n, _ := strconv.ParseUint(fields[flags], 10, 64)
	switch {
	case n&kernelThread != 0:
		return "a thread of the kernel"
	case strings.ContainsAny(fields[0], "ZXx"):
		return "the process has ended, its parent does not wait for it"
	case n&exiting != 0:
		return "the process has ended"
	}
	return "it became another program while it was looked at"
}

// PID parses a process number; 0 = not one.
func PID(text string) int {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 1 {
		return 0
	}
	return int(n)
}

// goProcesses returns the Go processes that match, and how many processes could not be read
// for lack of permission.
func goProcesses(match func(*proc.Process) bool) (found []int, denied int, err error) {
	hints := observe.Skips{}
	k := observe.New()
	k.Guests = true // what was named is not silently passed over
	err = k.Each(hints, match, func(g *goproc.Facts) { found = append(found, g.Pid) })
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

// MaybeDenied is the hint if a name matches nothing and some processes could not be read.
const MaybeDenied = "it may be a process that snug cannot read, snug ps says why"

// Unlisted returns the failure for processes that cannot be listed.
func Unlisted(err error) error {
	return message.Failed("cannot list processes: "+message.Reason(err), "mount /proc first: mount -t proc proc /proc")
}

// Named reports whether one of words is the process's number or its program. It is true if
// the program cannot be read, so that the reason is reported later.
func Named(p *proc.Process, words []string) bool {
	if len(words) == 0 || slices.Contains(words, strconv.Itoa(p.Pid())) {
		return true
	}
	exe, _, err := p.Exe()
	var denied *proc.Denied
	return errors.As(err, &denied) || slices.ContainsFunc(words, func(w string) bool {
		return w == exe || w == p.First().Name || strings.HasSuffix(exe, "/"+w)
	})
}

// NotGo is the error for a process that is not a Go program, or not recognised as one, or in which
// only a part is Go.
type NotGo struct {
	PID   int
	What  string
	Guest goproc.Guest
}

// NewNotGo returns the error for a process whose executable is what.
func NewNotGo(p *proc.Process, files *goproc.Cache, what string) *NotGo {
	guest, err := files.Guest(p)
	if err != nil {
		what += "; whether there is Go in its libraries is unknown: " + err.Error()
	}
	return &NotGo{p.Pid(), what, guest}
}

// NotGoFailure returns the error for a process in whose executable no Go functions are found.
func NotGoFailure(p *proc.Process) error {
	files := goproc.NewCache("")
	g := goproc.LookOutside(p, files)
	switch {
	case g.Err != nil:
		return g.Err
	case g.Exe.IsGo:
		pid := strconv.Itoa(p.Pid())
		return message.Failed("pid "+pid+": unsupported: the table of its functions is not found",
			"snug doctor "+pid+" shows what can be read without it")
	}
	return NewNotGo(p, files, g.Exe.What)
}

func (e *NotGo) Error() string {
	pid := "pid " + strconv.Itoa(e.PID)
	if e.Guest.Path != "" {
		return pid + ": unsupported: " + finding.UTF8(e.Guest.String()) + "; its runtime is not read"
	}
	return pid + ": not a Go program: " + e.What
}

func (e *NotGo) hint() string {
	switch {
	case e.Guest.Gccgo:
		return goproc.GccgoHint
	case e.Guest.Path != "":
		return "start it with GODEBUG=gctrace=1 and give snug doctor what it writes to stderr; " +
			"or the address of its /debug/pprof or /metrics, if it has one"
	}
	return "snug ps lists the Go processes here"
}

// Subject is one target: a process, a file or an address.
type Subject struct {
	Name string
	PID  int  // 0 = a file or an address
	Many bool // one of several that a name matches
}

// containerID matches a container id, whole or shortened.
var containerID = regexp.MustCompile(`^[0-9a-f]{12,64}$`)

// Resolve returns the targets of a name: a process number, an address, a cgroup directory, a
// file, a container's id or a program's name. Files win over programs, except that an executable
// file needs a slash: write ./NAME or the number to be explicit.
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
		return nil, message.Failed(message.Typed(name)+": "+message.Reason(err), message.OwnerHint)
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
	case denied > 0, proc.Hidden():
		return nil, message.Failed(message.Typed(name)+": no such process, file or container", MaybeDenied)
	}
	return nil, message.Failed(message.Typed(name)+": no such process, file or container",
		"snug ps lists the Go processes here")
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

// inGroup returns the Go processes in a cgroup directory and below it.
func inGroup(dir string) ([]Subject, error) {
	if !isGroup(dir) {
		return nil, message.Failed(dir+": a directory that is not a cgroup",
			"name a directory below /sys/fs/cgroup, a file, or a process")
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
		return nil, message.Failed(dir+": "+message.Reason(err), message.OwnerHint)
	}
	pids, _, err := goProcesses(func(p *proc.Process) bool { return member[p.Pid()] })
	if err != nil {
		return nil, err
	}
	if len(pids) == 0 {
		return nil, message.Failed(dir+": no Go process in the cgroup", "snug ps lists the Go processes here")
	}
	return several(dir, pids), nil
}

// inContainer returns the Go processes whose cgroup path contains a container's id.
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
