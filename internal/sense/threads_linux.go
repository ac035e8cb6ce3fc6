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

// maxKept is the maximum number of thread files to keep open; they also use at most 1/keptShare of
// the process's descriptors (RLIMIT_NOFILE). Reading an open file costs a third of opening it
// again, but the program needs descriptors too.
const (
	maxKept   = 64
	keptShare = 32
)

// mayKeep returns the number of files to keep open here.
func mayKeep() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return int(min(uint64(l.Cur)/keptShare, maxKept))
}

// threads sums up how long the threads of a process have waited for a CPU.
type threads struct {
	path string   // /proc/self/task, 0-terminated
	dir  int      // path, open; -1 if not open
	list []thread // the threads of the last reading, by tid
	turn uint32   // counts the readings
	kept int      // number of list entries with an open file
	may  int      // maximum of kept
	sum  uint64   // nanoseconds waited
	ran  bool     // the kernel counts; if it does not, every field is 0

	entries []byte // buffer for directory entries
	name    []byte // TID/schedstat, 0-terminated
	text    []byte // the file's content
}

// A thread holds the last reading of one thread.
type thread struct {
	tid  uint32
	turn uint32 // the last reading that found it
	wait uint64 // nanoseconds
	fd   int    // its schedstat, open; -1 if not open
}

func (t *threads) init(dir string) { t.path, t.dir, t.may = dir+"\x00", -1, mayKeep() }

func (t *threads) close() {
	for i := range t.list {
		t.closeFile(&t.list[i])
	}
	t.closeDir()
}

func (t *threads) closeFile(th *thread) {
	if th.fd >= 0 {
		syscall.Close(th.fd)
		th.fd = -1
		t.kept--
	}
}

func (t *threads) closeDir() {
	if t.dir >= 0 {
		syscall.Close(t.dir)
		t.dir = -1
	}
}

// read returns the sum so far, in seconds. It is NaN if a live thread cannot be read; its wait is
// added when it can be read again.
func (t *threads) read() float64 {
	t.turn++
	complete := t.readAll()
	kept := t.list[:0]
	for i := range t.list {
		if t.list[i].turn != t.turn && complete {
			t.closeFile(&t.list[i]) // it ended
			continue
		}
		kept = append(kept, t.list[i])
	}
	t.list = kept
	if !complete || !t.ran {
		return math.NaN()
	}
	return float64(t.sum) / 1e9
}

// count returns the number of threads in the last reading.
func (t *threads) count() int { return len(t.list) }

// readAll reads every thread, and reports whether it could.
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
		t.closeDir()
		return false
	}
	complete, next := true, 0
	for {
		n, err := syscall.Getdents(t.dir, t.entries)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			t.closeDir()
			return false
		case n <= 0:
			return complete
		}
		for b := t.entries[:n]; len(b) > nameAt; {
			size := int(*(*uint16)(unsafe.Pointer(&b[unsafe.Offsetof(syscall.Dirent{}.Reclen)])))
			if size <= nameAt || size > len(b) {
				break
			}
			if tid, _, ok := number(b[nameAt:size]); ok {
				next = t.find(uint32(tid), next)
				if !t.look(&t.list[next]) {
					complete = false
				}
				next++
			}
			b = b[size:]
		}
	}
}

// nameAt is the offset of the name in an entry of getdents64(2).
const nameAt = int(unsafe.Offsetof(syscall.Dirent{}.Name))

// find returns the index of a thread in the list, and inserts a new one. Threads mostly come in
// the order of the list, so next is a good guess.
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

// look adds a thread's wait since its last reading. It returns true if it could be read, or if the
// thread has ended. TIDs are reused: one with a shorter wait than before is another thread.
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

// schedstat reads a thread's schedstat: nanoseconds run, nanoseconds waited, number of runs.
func (t *threads) schedstat(th *thread) ([]byte, syscall.Errno) {
	if th.fd >= 0 {
		text, errno := t.pread(th.fd)
		if errno != syscall.ESRCH {
			return text, errno
		}
		t.closeFile(th)
		th.wait = 0 // if the TID appears again, it is another thread
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

// openat is openat(2) without the allocation for a string. path is 0-terminated.
func openat(dir int, path *byte, flags int) (int, syscall.Errno) {
	for {
		fd, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(dir), uintptr(unsafe.Pointer(path)),
			uintptr(syscall.O_RDONLY|syscall.O_CLOEXEC|flags), 0, 0, 0)
		if errno != syscall.EINTR {
			return int(fd), errno
		}
	}
}

// number parses the decimal number at the start of b, up to a blank, a newline or a 0 byte, and
// returns the rest. "." and ".." have none.
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
