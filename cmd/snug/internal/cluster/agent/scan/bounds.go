// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"github.com/snug-go/snug/limits"
)

// bounds are what an agent allows itself, so that it lives in its memory limit beside any number of processes.
type bounds struct {
	files int   // open for processes and groups; others are opened for each look
	heap  int64 // GOMEMLIMIT of the agent; 0 = unset
	// processes is how many Go processes may be known; 0 = no bound.
	processes int
}

// fileBytes is the kernel's memory for an open file of procfs or cgroupfs: a page for its text, its inode and its names. Measured
// were 4.5 to 4.9 KiB.
const fileBytes = 5 << 10

// processBytes is the part of that GOMEMLIMIT for a process alone in its container: what is kept of both, of the last two documents, the text of
// the metrics, and what a scan and its answers leave to collect.
const processBytes = 56 << 10

// The shares of the memory limit, in percent. What is left is for the program's own pages, and for what the kernel keeps of
// files that are closed.
const filesShare, heapShare = 20, 55

// boundsOf returns the bounds for a memory limit in bytes, 0 = none or unknown, where no more than files may be open.
func boundsOf(limit int64, files int) bounds {
	if limit <= 0 {
		return bounds{files: files}
	}
	heap := limit / 100 * heapShare
	return bounds{files: int(min(int64(files), limit/100*filesShare/fileBytes)), heap: heap, processes: int(heap/processBytes) + 1}
}

// ownMemory reads the memory of the agent's own container.
type ownMemory struct {
	h           *limits.Handle
	used, limit int64 // as last read
}

// read returns the bytes in use that the kernel cannot reclaim, and the limit; 0 = none, or never known. What cannot be read
// is as it was: reads fail where memory is short, and no limit would lift all bounds then.
func (m *ownMemory) read() (used, limit int64) {
	if m.h == nil {
		m.h, _ = limits.Open(limits.Process{})
	}
	if l, err := m.h.Read(limits.Unreclaimable); err == nil {
		m.take(&l.Memory)
	}
	return m.used, m.limit
}

func (m *ownMemory) take(now *limits.Memory) {
	if used, ok := now.Unreclaimable.Get(); ok {
		m.used = used
		if own := ownBytes(); own > 0 {
			m.used = min(used, own) // with v1 the kernel counts caches of closed files, which it can reclaim
		}
	}
	if limit, _ := now.Hard.Get(); now.Hard.State != limits.Unknown {
		m.limit = limit
	}
}

func (m *ownMemory) close() { m.h.Close() }
