// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"slices"
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
type machine struct {
	dir string // directory kept open; "" if none
	fd  int
}

func thisMachine() (*machine, error) { return &machine{}, nil }

// longPath is the length in bytes from which a path is opened relative to its directory.
const longPath = 512

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
	if len(name) < longPath {
		return openAt(atCwd, name, flags)
	}
	i := strings.LastIndexByte(name, '/')
	dir, base := name[:i], name[i+1:]
	if dir != m.dir {
		const path = 0x200000 // O_PATH
		from, to := atCwd, dir
		if j := strings.LastIndexByte(m.dir, '/'); j > 0 && m.dir[:j] == dir {
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

func (m *machine) peek(name string, buf []byte) ([]byte, error) { return m.read(name, buf, true) }

func (*machine) missing(name string) bool {
	var st syscall.Stat_t
	err := syscall.Stat(name, &st)
	return err == syscall.ENOENT || err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFDIR
}

func (*machine) has(name string) bool {
	var st syscall.Stat_t
	return syscall.Stat(name, &st) == nil
}

// group compares the device: a directory on another file system, or in another hierarchy,
// covers the mount (stat(2), proc_pid_mountinfo(5)). Every group has a cgroup.procs until it
// is removed; a mount of a removed group remains, and is empty.
func (*machine) group(dir string, m *cgroup.Mount) error {
	var st syscall.Stat_t
	file := dir + "/cgroup.procs"
	switch err := syscall.Stat(file, &st); {
	case err == syscall.ENOENT || err == syscall.ENOTDIR:
		switch err := syscall.Stat(dir, &st); {
		case err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFDIR:
			return errNoDirectory
		case !onDevice(&st, m):
			return errCovered
		}
		return errNoProcs
	case err == syscall.EPERM || err == syscall.ENOSYS: // this sandbox forbids stat
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

func (*machine) inode(dir string) uint64 {
	var st syscall.Stat_t
	if syscall.Stat(dir, &st) != nil {
		return 0
	}
	return st.Ino
}

// list reads a directory with getdents64(2), which returns types and inodes at once.
func (*machine) list(dir string, f func(name string, inode uint64) bool) error {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_DIRECTORY, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	buf := make([]byte, 8<<10)
	for {
		n, err := syscall.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return err
		}
		for b := buf[:n]; len(b) > 0; {
			e := (*syscall.Dirent)(unsafe.Pointer(unsafe.SliceData(b)))
			name, _, _ := cgroup.Cut(b[unsafe.Offsetof(e.Name):e.Reclen], 0)
			b = b[e.Reclen:]
			if e.Type == syscall.DT_DIR && string(name) != "." && string(name) != ".." && !f(string(name), e.Ino) {
				return nil
			}
		}
	}
}

func (m *machine) read(name string, buf []byte, long bool) ([]byte, error) {
	fd, err := m.openFile(name)
	if err != nil {
		return nil, err
	}
	buf = buf[:0]
	for {
		n, err := syscall.Read(fd, buf[len(buf):cap(buf)])
		if err == syscall.EINTR {
			continue
		}
		buf = buf[:len(buf)+max(n, 0)]
		if len(buf) >= maxFile {
			err = errTooLong
		}
		if err != nil || n == 0 || !long && len(buf) < cap(buf) {
			syscall.Close(fd)
			return buf, err
		}
		buf = slices.Grow(buf, 1)
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

// affinity returns the number of CPUs that the main thread of a process may run on
// (sched_getaffinity(2)). Kernels support at most 8192 CPUs.
func affinity(pid int) Value[int] {
	var mask [8192 / 64]uint64
	n, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(pid), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return Value[int]{}
	}
	count := 0
	for _, word := range mask[:(n+7)/8] {
		for ; word != 0; word &= word - 1 {
			count++
		}
	}
	if count == 0 {
		return Value[int]{}
	}
	return Of(count)
}

// gone reports whether a read failed because its subject no longer exists: a removed cgroup
// (ENODEV) or an ended process (ESRCH).
func gone(err error) bool {
	return err != nil && (errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH))
}
