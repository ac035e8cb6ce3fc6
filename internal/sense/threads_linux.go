// SPDX-License-Identifier: Apache-2.0

package sense

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"syscall"
	"unsafe"
)

// maxKept is how many threads' files are kept open, at most, and keptShare which
// part of the descriptors that a process may have (RLIMIT_NOFILE). To read a
// kept one costs a third of opening it anew; but the program has other uses for
// its descriptors.
const (
	maxKept   = 64
	keptShare = 32
)

// mayKeep is how many that is here.
func mayKeep() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur)/keptShare, maxKept))
}

// threads adds up how long the threads of a process have waited for a CPU.
type threads struct {
	path string   // /proc/self/task, with a 0 byte at its end
	dir  int      // it, open; -1 when it is not
	list []thread // that were there last time, by tid
	turn uint32   // counts the times
	kept int      // how many of list have an open file
	may  int      // how many may
	sum  uint64   // nanoseconds waited
	ran  bool     // the kernel counts: where it does not every field is 0

	entries []byte // directory entries are read into it
	name    []byte // TID/schedstat, with a 0 byte at its end
	text    []byte // what the file says
}

// A thread is what was last seen of one.
type thread struct {
	tid  uint32
	turn uint32 // when it was last there
	wait uint64 // nanoseconds
	fd   int    // its schedstat, open; -1 when it is not
}

func (t *threads) init(dir string) { t.path, t.dir, t.may = dir+"\x00", -1, mayKeep() }

func (t *threads) close() {
	for i := range t.list {
		t.shut(&t.list[i])
	}
	t.shutDir()
}

func (t *threads) shut(th *thread) {
	if th.fd >= 0 {
		syscall.Close(th.fd)
		th.fd = -1
		t.kept--
	}
}

func (t *threads) shutDir() {
	if t.dir >= 0 {
		syscall.Close(t.dir)
		t.dir = -1
	}
}

// read is the sum so far, in seconds. It is NaN when a thread that lives cannot
// be looked at; what it waited meanwhile is added when it can.
func (t *threads) read() float64 {
	t.turn++
	whole := t.readAll()
	kept := t.list[:0]
	for i := range t.list {
		if t.list[i].turn != t.turn && whole {
			t.shut(&t.list[i]) // it ended
			continue
		}
		kept = append(kept, t.list[i])
	}
	t.list = kept
	if !whole || !t.ran {
		return math.NaN()
	}
	return float64(t.sum) / 1e9
}

// count is how many threads the last read found.
func (t *threads) count() int { return len(t.list) }

// readAll looks at every thread, and reports whether it could.
func (t *threads) readAll() bool {
	if t.entries == nil {
		t.entries, t.name, t.text = make([]byte, 8<<10), make([]byte, 0, 32), make([]byte, 80)
	}
	if t.dir < 0 {
		if fd, errno := openat(-1, unsafe.StringData(t.path), syscall.O_DIRECTORY); errno == 0 {
			t.dir = fd
		} else {
			return false
		}
	}
	if _, err := syscall.Seek(t.dir, 0, 0); err != nil {
		t.shutDir()
		return false
	}
	whole, next := true, 0
	for {
		n, err := syscall.Getdents(t.dir, t.entries)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			t.shutDir()
			return false
		case n <= 0:
			return whole
		}
		for b := t.entries[:n]; len(b) > nameAt; {
			size := int(*(*uint16)(unsafe.Pointer(&b[unsafe.Offsetof(syscall.Dirent{}.Reclen)])))
			if size <= nameAt || size > len(b) {
				break
			}
			if tid, _, ok := number(b[nameAt:size]); ok {
				next = t.find(uint32(tid), next)
				if !t.look(&t.list[next]) {
					whole = false
				}
				next++
			}
			b = b[size:]
		}
	}
}

// nameAt is where the name begins in an entry of getdents64(2).
const nameAt = int(unsafe.Offsetof(syscall.Dirent{}.Name))

// find is the index of a thread in the list, where it is put if it is new.
// Threads come mostly in the order of the list, so that next is a good guess.
func (t *threads) find(tid uint32, next int) int {
	if next < len(t.list) && t.list[next].tid == tid {
		return next
	}
	i, found := slices.BinarySearchFunc(t.list, tid, func(th thread, tid uint32) int { return cmp.Compare(th.tid, tid) })
	if !found {
		t.list = slices.Insert(t.list, i, thread{tid: tid, fd: -1})
	}
	return i
}

// look adds what a thread has waited since it was last looked at, and reports
// whether that could be done or the thread has ended. Numbers of threads are
// used again: one that has waited less than before is another thread.
func (t *threads) look(th *thread) bool {
	th.turn = t.turn
	text, errno := t.schedstat(th)
	if errno == syscall.ENOENT || errno == syscall.ESRCH {
		return true
	}
	run, rest, ok1 := number(text)
	wait, _, ok2 := number(rest)
	if errno != 0 || !ok1 || !ok2 {
		return false
	}
	if wait < th.wait {
		th.wait = 0
	}
	t.sum += wait - th.wait
	th.wait = wait
	t.ran = t.ran || run > 0 || wait > 0
	return true
}

// schedstat is what the kernel says of a thread: nanoseconds run, nanoseconds
// waited, and how often it ran.
func (t *threads) schedstat(th *thread) ([]byte, syscall.Errno) {
	if th.fd >= 0 {
		text, errno := t.pread(th.fd)
		if errno != syscall.ESRCH {
			return text, errno
		}
		t.shut(th)
		th.wait = 0 // if its number is there again, it is another's
	}
	t.name = append(strconv.AppendUint(t.name[:0], uint64(th.tid), 10), "/schedstat\x00"...)
	fd, errno := openat(t.dir, &t.name[0], 0)
	if errno != 0 {
		return nil, errno
	}
	text, errno := t.pread(fd)
	if t.kept < t.may && errno == 0 {
		th.fd = fd
		t.kept++
	} else {
		syscall.Close(fd)
	}
	return text, errno
}

func (t *threads) pread(fd int) ([]byte, syscall.Errno) {
	for {
		n, err := syscall.Pread(fd, t.text, 0)
		if err == syscall.EINTR {
			continue
		}
		errno, _ := err.(syscall.Errno)
		return t.text[:max(n, 0)], errno
	}
}

// openat is openat(2) without the allocation that a string costs. path ends
// with a 0 byte.
func openat(dir int, path *byte, flags int) (int, syscall.Errno) {
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(path)),
			uintptr(syscall.O_RDONLY|syscall.O_CLOEXEC|flags), 0, 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}

// number is the decimal number that b begins with, up to a blank, a newline or
// a 0 byte, and what follows that. There is none in "." and "..".
func number(b []byte) (n uint64, rest []byte, ok bool) {
	for i, c := range b {
		switch {
		case c >= '0' && c <= '9' && n < math.MaxUint64/10:
			n = 10*n + uint64(c-'0')
		case c == ' ' || c == '\n' || c == 0:
			return n, b[i+1:], i > 0
		default:
			return 0, nil, false
		}
	}
	return 0, nil, false
}
