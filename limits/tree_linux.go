// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"math"
	"os"
	"strings"
	"syscall"
	"unsafe"

	"github.com/snug-go/snug/internal/cgroup"
)

// machine reads this machine's root through plain system calls. An os.File costs up to six
// allocations and a visit to the poller, which would slow every start.
//
// The kernel walks a path from its root, so opening the files of n nested groups by path takes
// n^2 steps. For long paths machine keeps the directory of the last file open, and opens the
// group above as "..".
//
// To follow this process it keeps files open once they are read, as the Go runtime does with those of
// its own quota: they can be read in a sandbox too. See keep.
type machine struct {
	dir string // directory kept open; "" if none
	fd  int

	kept   []keptFile
	asked  bool // guard was called
	guards bool // counted in sandbox.users
}

// A keptFile is open, or was refused or missing: then fd is ^ of the error number, and it is not
// tried again before drop.
type keptFile struct {
	_    [0]func() // not comparable: no code for it
	name string    // "": a free place
	fd   int
	ino  uint64
}

func thisMachine() (*machine, error) { return &machine{}, nil }

// keep makes the machine keep files open, as many as the process does not miss: a sixteenth of the
// descriptors it may have (getrlimit(2)), at most 32.
func (m *machine) keep() {
	var r syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r) == nil && r.Cur >= 64 {
		m.kept = make([]keptFile, min(uint64(r.Cur)/16, 32))
	}
}

// find returns the place of a name in kept; that of "" is a free one. It is nil if there is none.
//
//go:noinline
func (m *machine) find(name string) *keptFile {
	for i := range m.kept {
		if k := &m.kept[i]; k.name == name {
			return k
		}
	}
	return nil
}

// What drop forgets, each all before it too.
const (
	absent  = iota // what was not there
	refused        // what was refused
	groups         // what is not in /proc
	all            // everything; it ends guard as well
)

func (m *machine) drop(what int) {
	for i := range m.kept {
		if k := &m.kept[i]; k.fd < 0 && (what > absent || k.fd == ^int(syscall.ENOENT)) || what == all ||
			what == groups && !strings.HasPrefix(k.name, "/proc/") {
			k.forget()
		}
	}
	if what == all && m.guards {
		m.guards, m.asked = false, false
		lock()
		if sandbox.users--; sandbox.users == 0 {
			sandbox.status.forget()
		}
		unlock()
	}
}

//go:noinline
func (k *keptFile) set(name string, fd int) { k.name, k.fd, k.ino = name, fd, inode(fd) }

// forget closes a file, unless its descriptor is another file's: the program may have closed it.
//
//go:noinline
func (k *keptFile) forget() {
	if k.name != "" && k.fd >= 0 && k.ino == inode(k.fd) {
		syscall.Close(k.fd)
	}
	k.name = ""
}

//go:noinline
func inode(fd int) uint64 {
	var st syscall.Stat_t
	syscall.Fstat(fd, &st)
	return st.Ino ^ uint64(st.Dev)<<40
}

// exchanged reports whether the program has closed a file, and its number is another file's.
func (m *machine) exchanged(name string) bool {
	k := m.find(name)
	if k == nil || k.fd < 0 {
		return false
	}
	shut, lost := m.sandboxed()
	if !lost && (shut || k.ino == inode(k.fd)) {
		return false
	}
	k.name = ""
	return true
}

// longPath is the length in bytes from which a path is opened relative to its directory.
const longPath = 512

//go:noinline
func (m *machine) release() {
	if m.dir != "" {
		syscall.Close(m.fd)
		m.dir = ""
	}
}

// openFile opens a file without blocking: a pipe mounted over a file must not block a program's
// start (open(2), O_NONBLOCK, which has no effect on regular files).
func (m *machine) openFile(name string) (fd int, err error) {
	const flags = syscall.O_RDONLY | syscall.O_CLOEXEC | syscall.O_NONBLOCK
	if m.sealed() {
		return -1, errSealed
	}
	if len(name) < longPath {
		return openAt(atCwd, name, flags)
	}
	i := cgroup.Slash(name)
	dir, base := name[:i], name[i+1:]
	if dir != m.dir {
		const path = 0x200000 // O_PATH
		from, to := atCwd, dir
		if j := cgroup.Slash(m.dir); j > 0 && m.dir[:j] == dir {
			from, to = m.fd, ".."
		}
		fd, err := openAt(from, to, path|syscall.O_CLOEXEC|syscall.O_DIRECTORY)
		if err != nil {
			return -1, err
		}
		m.release()
		m.dir, m.fd = dir, fd
	}
	return openAt(m.fd, base, flags)
}

const atCwd = -100 // AT_FDCWD

func openAt(dir int, name string, flags int) (fd int, err error) {
	for {
		if fd, err = syscall.Openat(dir, name, flags, 0); err != syscall.EINTR {
			return fd, err
		}
	}
}

func (*machine) missing(name string) bool {
	var st syscall.Stat_t
	err := syscall.Stat(name, &st)
	return err == syscall.ENOENT || err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFDIR
}

// memory asks the kernel for the machine's memory (sysinfo(2)), which lxcfs does not come between, and
// compares the limits with the fields size and data of /proc/self/statm.
func (m *machine) memory(lxcfs bool) (ram, space int64) {
	var info syscall.Sysinfo_t
	if lxcfs {
		syscall.RawSyscall(syscall.SYS_SYSINFO, uintptr(unsafe.Pointer(&info)), 0, 0)
	}
	ram, space = int64(info.Totalram)*int64(info.Unit), math.MaxInt64
	for i, resource := range [...]int{syscall.RLIMIT_AS, syscall.RLIMIT_DATA} {
		var r syscall.Rlimit
		var used [statmFields]int64
		if syscall.Getrlimit(resource, &r) != nil || r.Cur > 1<<62 {
			continue
		}
		if !m.statm(&used) {
			return ram, -1
		}
		// What is resident and of no file is mostly Go's own, which counts against GOMEMLIMIT as well.
		space = min(space, max(0, int64(r.Cur)-used[5*i]+max(0, used[1]-used[2])))
	}
	return ram, space
}

// statmFields leaves out the last one, which is unused.
const statmFields = 6

// statm reads /proc/self/statm, in pages (proc_pid_statm(5)), as bytes.
func (m *machine) statm(to *[statmFields]int64) (ok bool) {
	text, _ := m.read("/proc/self/statm", make([]byte, 0, 128), false)
	for i := range to {
		var word []byte
		word, text, _ = cgroup.Cut(text, ' ')
		to[i], ok = cgroup.Count(word)
		to[i] *= int64(os.Getpagesize())
	}
	return ok
}

// group compares the device: a directory on another file system, or in another hierarchy,
// covers the mount (stat(2), proc_pid_mountinfo(5)). Every group has a cgroup.procs until it
// is removed; a mount of a removed group remains, and is empty.
func (*machine) group(dir string, m *cgroup.Mount) error {
	var st syscall.Stat_t
	file := dir + "/cgroup.procs"
	err := syscall.Stat(file, &st)
	switch errno, _ := err.(syscall.Errno); {
	case errno == syscall.ENOENT || errno == syscall.ENOTDIR:
		switch err := syscall.Stat(dir, &st); {
		case err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR:
			return errNoDirectory
		case !onDevice(&st, m):
			return errCovered
		}
		return errNoProcs
	case errno == syscall.EPERM || errno == syscall.ENOSYS: // this sandbox forbids stat
		fd, err := openAt(atCwd, file, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK)
		if err == nil {
			syscall.Close(fd)
		}
		return err
	case err != nil:
		return err
	case !onDevice(&st, m):
		return errCovered
	}
	return nil
}

// onDevice reports whether a file is on the device of a mount.
func onDevice(st *syscall.Stat_t, m *cgroup.Mount) bool {
	// makedev(3): 12 bits of major and 20 of minor, then the high bits of both.
	dev := uint64(st.Dev)
	return m.Major == uint32(dev>>8)&0xfff|uint32(dev>>32)&^0xfff && m.Minor == uint32(dev)&0xff|uint32(dev>>12)&^0xff
}

func (*machine) inode(name string) (n uint64, ok bool) {
	var st syscall.Stat_t
	err := syscall.Stat(name, &st)
	return st.Ino, err == nil
}

// list reads a directory with getdents64(2), which returns types and inodes at once.
func (m *machine) list(dir string, f func(name string, inode uint64) bool) error {
	if m.sealed() {
		return errSealed
	}
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	buf := make([]byte, 8<<10)
	for more := true; more; {
		var n int
		if n, err = syscall.ReadDirent(fd, buf); err != nil || n <= 0 {
			break
		}
		for b := buf[:n]; more && len(b) > 0; {
			e := (*syscall.Dirent)(unsafe.Pointer(unsafe.SliceData(b)))
			name, _, _ := cgroup.Cut(b[unsafe.Offsetof(e.Name):e.Reclen], 0)
			b = b[e.Reclen:]
			if e.Type == syscall.DT_DIR && string(name) != "." && string(name) != ".." {
				more = f(string(name), e.Ino)
			}
		}
	}
	syscall.Close(fd)
	return err
}

func (m *machine) read(name string, buf []byte, long bool) ([]byte, error) {
	k := m.find(name)
	var fd int
	var err error
	if k == nil {
		fd, err = m.openFile(name)
		if errno, _ := err.(syscall.Errno); errno == syscall.ENOENT || errno == syscall.EACCES || errno == syscall.EPERM {
			fd = ^int(errno)
		}
		if !long && (fd > 2 || fd < -1) { // 0 to 2 are the standard streams'
			if k = m.find(""); k != nil {
				k.set(name, fd)
			}
		}
		if err != nil {
			return nil, err
		}
	} else if fd = k.fd; fd < 0 {
		return nil, syscall.Errno(^fd)
	}
	buf = buf[:0]
	for {
		n, err := syscall.Pread(fd, buf[len(buf):cap(buf)], int64(len(buf)))
		if err == syscall.EINTR {
			continue
		}
		buf = buf[:len(buf)+max(n, 0)]
		if len(buf) >= maxFile {
			err = errTooLong
		}
		if err != nil || n == 0 || !long && len(buf) < cap(buf) {
			if k == nil {
				syscall.Close(fd)
			} else if err != nil && err != syscall.ENODEV { // no file of cgroup or proc
				k.forget()
			}
			return buf, err
		}
		buf = append(buf, 0)[:len(buf)]
	}
}

func (m *machine) open(name string) (file, error) {
	fd, err := m.openFile(name)
	if err != nil {
		return nil, err
	}
	return &descriptor{fd}, nil
}

// A descriptor is an open file.
type descriptor struct{ fd int }

func (d *descriptor) close() { syscall.Close(d.fd) }

func (d *descriptor) readAt(buf []byte, off int64) (int, error) {
	for {
		n, err := syscall.Pread(d.fd, buf, off)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// addThread adds the CPUs that a thread may run on (sched_getaffinity(2)), 0 being the calling one,
// and returns their number, 0 if they cannot be read.
//
//go:noinline
func addThread(to *cgroup.CPUs, tid int) int {
	var set cgroup.CPUs
	_, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(tid), unsafe.Sizeof(set),
		uintptr(unsafe.Pointer(&set)))
	if errno != 0 {
		return 0
	}
	for i, word := range set {
		to[i] |= word
	}
	return set.Count()
}

// gone reports whether a read failed because its subject no longer exists: a removed cgroup
// (ENODEV) or an ended process (ESRCH).
func gone(err error) bool {
	return err != nil && (errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH))
}
