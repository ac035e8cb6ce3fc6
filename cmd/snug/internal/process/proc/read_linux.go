// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const root = "/proc"

// Process is an open process. Its methods must not be called from several goroutines at once;
// the reader that Memory returns may be. The caller must close it.
type Process struct {
	pid  int
	root string
	// dir is /proc/PID. The kernel ties it to the process and not to the number: it never shows
	// a later process with the same number.
	dir int
	// stat is the open file of that name; below 0 = not kept open.
	stat int
	mem  *memory
	// auxv identifies the program: the addresses of the stack and the vDSO differ after each
	// exec, even of the same file. nil = it may not be read, and then nothing of the program
	// may.
	auxv []byte
	// auxvAt is its address, if the files of the process may not be opened and its memory may be read, see
	// remotely; else 0.
	auxvAt uint64
	first  Stat
	budget *Budget // of what is read of it now

	// mark is where Gather finds the auxiliary vector; unmarked = it does not.
	mark     []byte
	markAt   uint64
	unmarked bool
}

// Pids lists the visible processes, in no order. None is an error: /proc is not mounted.
func Pids() ([]int, error) {
	list, err := numbers(root)
	if err == nil && len(list) == 0 {
		err = errors.New("/proc lists no process")
	}
	return list, err
}

// Hidden reports whether /proc does not list the processes of other users. The first process of its
// namespace always exists. Source: proc(5), hidepid.
func Hidden() bool {
	var st unix.Stat_t
	return unix.Stat(root+"/1", &st) == unix.ENOENT
}

// numbers lists the entries of a directory whose names are numbers.
func numbers(dir string) ([]int, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	list := make([]int, 0, len(names))
	for _, name := range names {
		if n, ok := number(name); ok {
			list = append(list, n)
		}
	}
	return list, err
}

// Open opens a process. The error is ErrGone if there is no process with this number, or only
// a zombie.
func Open(pid int) (*Process, error) {
	return OpenWithin(pid, NewBudget(context.Background(), OneLook, nil))
}

// OpenWithin is Open with the budget of the first look.
func OpenWithin(pid int, b *Budget) (*Process, error) { return openIn(root, pid, b) }

// Budget returns the budget of what is read of the process now: OneLook after Open.
func (p *Process) Budget() *Budget { return p.budget }

// Allow begins another look, with a budget of its own. What Memory, OpenExe and OpenObject returned before stays within
// the one before.
func (p *Process) Allow(b *Budget) { p.budget = b }

func openIn(root string, pid int, b *Budget) (*Process, error) {
	dir, err := retry(func() (int, error) {
		return unix.Open(root+"/"+strconv.Itoa(pid), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		if err == unix.ENOENT || err == unix.ESRCH {
			err = ErrGone
		}
		return nil, fmt.Errorf("pid %d: %w", pid, err)
	}
	p := &Process{pid: pid, root: root, dir: dir, stat: -1, budget: b}
	if p.first, err = p.Stat(); err == nil {
		if p.auxv, err = p.read("auxv", maxAuxv); errors.Is(err, ErrDenied) && !p.first.Kernel {
			err = p.remotely()
		}
		p.auxv = bytes.Clone(p.auxv) // without the room of read: it is kept
		if errors.Is(err, ErrDenied) || errors.Is(err, ErrNone) {
			err = nil
		}
		// An exec clears the flag before the new program has its vector.
		p.first.Forked = p.first.Forked || p.first.loading || loading(p.auxv)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close frees the descriptors.
func (p *Process) Close() {
	if p.mem != nil {
		p.mem.close()
		p.mem = nil
	}
	if p.stat >= 0 {
		unix.Close(p.stat)
		p.stat = -1
	}
	if p.dir >= 0 {
		unix.Close(p.dir)
		p.dir = -1
	}
}

// Pid returns the number by which the process was opened.
func (p *Process) Pid() int { return p.pid }

// First returns the Stat that Open read.
func (p *Process) First() Stat { return p.first }

// Same returns nil as long as the process runs the program it was opened on. Otherwise it
// returns ErrGone, and anything read since Same last returned nil may belong to another
// program. If the auxiliary vector may not be read, Same does not notice an exec, but then
// nothing that depends on the program can be read either.
func (p *Process) Same() error {
	s, err := p.Stat()
	if err != nil {
		return err
	}
	if s.start != p.first.start {
		return p.gone()
	}
	if p.auxv == nil {
		return nil
	}
	if p.auxvAt != 0 {
		_, err := p.peek(nil, 0)
		return err
	}
	now, err := p.read("auxv", maxAuxv)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, p.auxv) {
		return p.gone()
	}
	if p.mem != nil {
		return p.mem.alive()
	}
	return nil
}

func (p *Process) gone() error { return fmt.Errorf("pid %d: %w", p.pid, ErrGone) }

// Bounds on the bytes read from a file.
const (
	maxAuxv    = 4 << 10
	maxStat    = 4 << 10
	maxStatus  = 64 << 10
	maxEnviron = 8 << 20
)

// IO reads /proc/PID/io. It needs the right to trace the process.
func (p *Process) IO() (IO, error) {
	text, err := p.read("io", maxStatus)
	if err != nil {
		return IO{}, err
	}
	sum, ok := parseIO(text)
	if !ok {
		return IO{}, fmt.Errorf("%s/%d/io: malformed io", p.root, p.pid)
	}
	return sum, nil
}

// Status reads /proc/PID/status.
func (p *Process) Status() (Status, error) {
	text, err := p.read("status", maxStatus)
	if err != nil {
		return Status{}, err
	}
	s, ok := parseStatus(text)
	if !ok {
		return Status{}, fmt.Errorf("%s/%d/status: malformed status", p.root, p.pid)
	}
	if s.NSPid == 0 {
		s.NSPid = p.pid
	}
	return s, nil
}

// Groups returns the text of /proc/PID/cgroup.
func (p *Process) Groups() (string, error) {
	fd, err := p.open("cgroup")
	if err != nil {
		return "", err
	}
	var b [4096]byte
	n, err := retry(func() (int, error) { return unix.Read(fd, b[:]) })
	unix.Close(fd)
	switch {
	case err != nil:
		return "", p.why("cgroup", err)
	case n < len(b): // the kernel returns it whole
		return string(b[:max(n, 0)]), nil
	}
	text, err := p.read("cgroup", maxStatus)
	return string(text), err
}

// tids lists the threads: through dir and not by number, so that they cannot be another process's.
func (p *Process) tids() ([]int, error) {
	list, err := numbers("/proc/self/fd/" + strconv.Itoa(p.dir) + "/task")
	return list, cmp.Or(p.budget.Take(16*len(list)), err)
}

// RunDelay adds up the times of at most maxThreads threads.
func (p *Process) RunDelay(maxThreads int) (Delays, error) {
	tids, err := p.tids()
	if err != nil && len(tids) == 0 {
		return Delays{}, p.why("task", err)
	}
	d := Delays{thread: map[int]delay{}}
	err = nil
	for _, tid := range tids {
		if d.Threads >= maxThreads {
			d.Unread++
			continue
		}
		var text []byte
		if text, err = p.read("task/"+strconv.Itoa(tid)+"/schedstat", maxStat); err != nil {
			continue // the thread ended
		}
		one, ok := parseSchedstat(text)
		if !ok {
			return Delays{}, fmt.Errorf("%s/%d/task/%d/schedstat: malformed schedstat", p.root, p.pid, tid)
		}
		d.add(tid, one)
		d.Threads++
	}
	if d.Threads == 0 {
		if err == nil {
			err = p.gone()
		}
		return Delays{}, err
	}
	return d, nil
}

// Exe returns the path of the executable, and reports whether the file was deleted since. If
// the file cannot be reached from here, the path is that in the process's own mount
// namespace.
func (p *Process) Exe() (path string, deleted bool, err error) {
	const limit = 4096
	b := make([]byte, limit)
	n, err := retry(func() (int, error) { return unix.Readlinkat(p.dir, "exe", b) })
	if err != nil {
		return "", false, p.why("exe", err)
	}
	path = string(b[:n])
	if strings.HasSuffix(path, deletedMark) {
		// A file's name may also end so.
		var st unix.Stat_t
		if unix.Fstatat(p.dir, "exe", &st, 0) == nil && st.Nlink == 0 {
			return strings.TrimSuffix(path, deletedMark), true, nil
		}
	}
	return path, false, nil
}

// ExeID returns the ID of the executable.
func (p *Process) ExeID() (FileID, error) {
	var st unix.Stat_t
	if _, err := retry(func() (int, error) { return 0, unix.Fstatat(p.dir, "exe", &st, 0) }); err != nil {
		return FileID{}, p.why("exe", err)
	}
	return fileID(&st), nil
}

func fileID(st *unix.Stat_t) FileID {
	return FileID{Dev: st.Dev, Inode: st.Ino, Size: st.Size, Changed: st.Ctim.Nano(), Wrote: st.Mtim.Nano()}
}

// OpenExe opens the running executable, even if it was deleted or is in another mount
// namespace. The ID is that of the opened file.
func (p *Process) OpenExe() (*File, FileID, error) {
	fd, err := p.open("exe")
	if err != nil {
		return nil, FileID{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return nil, FileID{}, p.why("exe", err)
	}
	return p.file(fd, "exe"), fileID(&st), nil
}

// File is an open file that a process uses. What is read of it is within the budget of the process.
type File struct {
	*os.File
	within
}

// ReadAt is that of both, within the budget.
func (f *File) ReadAt(p []byte, off int64) (int, error) { return f.within.ReadAt(p, off) }

func (p *Process) file(fd int, name string) *File {
	f := os.NewFile(uintptr(fd), p.root+"/"+strconv.Itoa(p.pid)+"/"+name)
	return &File{f, within{f, p.budget}}
}

// open opens a file of the process.
func (p *Process) open(name string) (int, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(p.dir, name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return -1, p.why(name, err)
	}
	return fd, nil
}

// read reads at most limit bytes of a file of the process. Those of at most a page are not counted: they are few, and
// what has read too much must still notice that the process has ended.
func (p *Process) read(name string, limit int) ([]byte, error) {
	fd, err := p.open(name)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	b := make([]byte, 0, min(limit, 4096))
	for len(b) < limit {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		room := b[len(b):min(cap(b), limit)]
		n, err := retry(func() (int, error) { return unix.Read(fd, room) })
		if err != nil {
			return nil, p.why(name, err)
		}
		if n == 0 {
			break
		}
		b = b[:len(b)+n]
		if limit > maxStat {
			if err := p.budget.Take(n); err != nil {
				return nil, err
			}
		}
	}
	return b, nil
}

// why turns an error of the kernel into one of this package.
func (p *Process) why(name string, err error) error {
	var errno unix.Errno
	if !errors.As(err, &errno) {
		return fmt.Errorf("pid %d: %w", p.pid, err)
	}
	switch errno {
	case unix.ESRCH:
		return p.gone()
	case unix.EACCES, unix.EPERM:
		return p.denied(name)
	case unix.ENOENT, unix.ENOTDIR:
		// Is only this file missing, or the whole process?
		var st unix.Stat_t
		if unix.Fstatat(p.dir, "stat", &st, 0) != nil {
			return p.gone()
		}
		if name != "stat" {
			if _, err := p.Stat(); errors.Is(err, ErrGone) {
				return err
			}
		}
		return fmt.Errorf("%s/%d/%s: %w", p.root, p.pid, name, ErrNone)
	}
	return &fs.PathError{Op: "read", Path: p.root + "/" + strconv.Itoa(p.pid) + "/" + name, Err: errno}
}

// denied returns the error for a refused file, with what would help.
func (p *Process) denied(name string) error {
	d := &Denied{What: name, Pid: p.pid, UID: -1, own: unix.Geteuid()}
	if name != "status" { // with hidepid=1 it may not be read either
		if s, err := p.Status(); err == nil {
			d.UID = s.UID
		}
	}
	if text, err := os.ReadFile(root + "/sys/kernel/yama/ptrace_scope"); err == nil {
		d.yama, _ = strconv.Atoi(strings.TrimSpace(string(text)))
	}
	return d
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}
