// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errLocked is the EPERM of mmap, which means another thing than that of
// perf_event_open: no more memory may be locked.
var errLocked = errors.New("no more memory may be locked")

// ring is the perf event of one thread, and the memory that the kernel writes
// its samples to.
type ring struct {
	fd   int
	mem  []byte // a page that tells how far the kernel is, then the ring; nil is no ring
	scan int    // the look that saw the thread last
}

// attributes ask for samples by CPU time of user code and, if so, the kernel.
// The chain of the kernel's own calls is never asked for. A cpu-clock event ticks
// by a timer of the thread's CPU time, with a fixed period (kernel/events/core.c,
// perf_swevent_init_hrtimer), so that samples times period is CPU time.
func attributes(rate int, kernel bool) unix.PerfEventAttr {
	a := unix.PerfEventAttr{
		Type:        unix.PERF_TYPE_SOFTWARE,
		Config:      unix.PERF_COUNT_SW_CPU_CLOCK,
		Size:        uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample:      uint64(rate),
		Sample_type: unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_CALLCHAIN,
		Bits: unix.PerfBitFreq | unix.PerfBitDisabled | unix.PerfBitExcludeHv |
			unix.PerfBitExcludeCallchainKernel | unix.PerfBitComm | unix.PerfBitCommExec,
	}
	if !kernel {
		a.Bits |= unix.PerfBitExcludeKernel
	}
	return a
}

// openRing opens an event, not enabled yet, with a ring of so many pages, a
// power of two, or fewer where memory is short.
func openRing(attr *unix.PerfEventAttr, tid, pages int) (*ring, error) {
	fd, err := unix.PerfEventOpen(attr, tid, -1, -1, unix.PERF_FLAG_FD_CLOEXEC)
	if err != nil {
		return nil, err
	}
	for {
		mem, err := unix.Mmap(fd, 0, (1+pages)*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err == nil {
			return &ring{fd: fd, mem: mem}, nil
		}
		if pages /= 2; pages == 0 {
			unix.Close(fd)
			if err == unix.EPERM {
				err = errLocked
			}
			return nil, err
		}
	}
}

func (r *ring) enable() {
	if r.mem != nil {
		// It fails for a thread that has ended, which has nothing to sample.
		unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
}

// drain hands over what is in the ring and frees its room. The kernel writes
// Data_head after the records, and reads Data_tail before it writes more.
func (r *ring) drain(to *reader, f func(record)) {
	if r.mem == nil {
		return
	}
	page := (*unix.PerfEventMmapPage)(unsafe.Pointer(&r.mem[0]))
	head := atomic.LoadUint64(&page.Data_head)
	tail := atomic.LoadUint64(&page.Data_tail)
	if head == tail {
		return
	}
	to.drain(r.mem[os.Getpagesize():], tail, head, f)
	atomic.StoreUint64(&page.Data_tail, head)
}

func (r *ring) close() {
	if r.mem == nil {
		return
	}
	unix.Munmap(r.mem)
	unix.Close(r.fd)
	r.mem = nil
}
