// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// errLocked is the EPERM of mmap, which unlike that of perf_event_open means that no
// more memory can be locked.
var errLocked = errors.New("no more memory can be locked")

// ring is the perf event of one thread, with the memory to which the kernel writes its samples.
type ring struct {
	fd   int
	mem  []byte // the control page, then the ring; nil = no ring
	scan int    // the last scan that saw the thread
}

// attributes returns an event that samples the CPU time of user code and, if requested,
// of the kernel, but never the kernel's own call chain. A cpu-clock event uses a timer on
// the thread's CPU time with a fixed period (kernel/events/core.c,
// perf_swevent_init_hrtimer), so samples times period is CPU time.
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

// openRing opens an event, not yet enabled, with a ring of pages pages, a power of
// two, or fewer if memory is short.
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
		// This fails for an ended thread, which has nothing to sample.
		unix.IoctlSetInt(r.fd, unix.PERF_EVENT_IOC_ENABLE, 0)
	}
}

// drain passes on the contents of the ring and frees its room. The kernel writes
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
