// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"math/bits"
	"syscall"
	"unsafe"
)

// machine reads this machine's root by plain system calls: an os.File costs an
// allocation or six and a visit to the poller, and start-up pays for each.
type machine struct{}

func thisMachine() (tree, error) { return machine{}, nil }

func (machine) live() bool { return true }

func (machine) missing(name string) bool {
	var st syscall.Stat_t
	err := syscall.Stat(name, &st)
	return err == syscall.ENOENT || err == nil && st.Mode&syscall.S_IFMT != syscall.S_IFDIR
}

func (machine) open(name string) (file, error) {
	for {
		fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err == nil {
			return descriptor(fd), nil
		}
		if err != syscall.EINTR {
			return nil, err
		}
	}
}

// A descriptor is an open file. Boxing it into the file interface allocates
// only for numbers above 255.
type descriptor int

func (d descriptor) close() { syscall.Close(int(d)) }

func (d descriptor) readAt(buf []byte, off int64) (int, error) {
	for {
		n, err := syscall.Pread(int(d), buf, off)
		if err != syscall.EINTR {
			return max(n, 0), err
		}
	}
}

// affinity counts the CPUs that the main thread of this process may run on
// (sched_getaffinity(2)). Room for 8192 CPUs, the most a kernel is built for.
func affinity() Value[int] {
	var mask [8192 / 64]uint64
	n, _, errno := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, uintptr(syscall.Getpid()), unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	if errno != 0 {
		return Value[int]{}
	}
	count := 0
	for _, word := range mask[:n/8] {
		count += bits.OnesCount64(word)
	}
	if count == 0 {
		return Value[int]{}
	}
	return Is(count)
}

// gone reports whether an error of a read means that what the file spoke of is
// no more: a removed cgroup (ENODEV) or an ended process (ESRCH).
func gone(err error) bool {
	return err != nil && (errors.Is(err, syscall.ENODEV) || errors.Is(err, syscall.ESRCH))
}
