// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"slices"
	"syscall"
	"unsafe"
)

// machine reads this machine's root by plain system calls: an os.File costs an
// allocation or six and a visit to the poller, and start-up pays for each.
type machine struct{}

func thisMachine() (*machine, error) { return &machine{}, nil }

func (*machine) missing(name string) bool {
	var st syscall.Stat_t
	err := syscall.Stat(name, &st)
	return err == syscall.ENOENT || err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFDIR
}

func (*machine) read(name string, buf []byte, long bool) ([]byte, error) {
	fd, err := openFile(name)
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
		if err != nil || n == 0 || !long && len(buf) < cap(buf) {
			syscall.Close(fd)
			return buf, err
		}
		buf = slices.Grow(buf, 1)
	}
}

// openFile never waits: a pipe that is mounted over a file must not hold a
// program up at its start (open(2), O_NONBLOCK; it changes nothing for files).
func openFile(name string) (fd int, err error) {
	for {
		if fd, err = syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0); err != syscall.EINTR {
			return fd, err
		}
	}
}

func (*machine) open(name string) (file, error) {
	fd, err := openFile(name)
	if err != nil {
		return nil, err
	}
	return &descriptor{fd}, nil
}

// A descriptor is an open file.
type descriptor struct{ fd int }

func (d *descriptor) shut() { syscall.Close(d.fd) }

func (d *descriptor) readAt(buf []byte, off int64) (int, error) {
	for {
		n, err := syscall.Pread(d.fd, buf, off)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// affinity counts the CPUs that the main thread of a process may run on
// (sched_getaffinity(2)). Room for 8192 CPUs, the most a kernel is built for.
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

// gone reports whether an error of a read means that what the file spoke of is
// no more: a removed cgroup (ENODEV) or an ended process (ESRCH).
func gone(err error) bool {
	return err != nil && (errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH))
}
