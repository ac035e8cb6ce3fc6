// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strconv"

	"github.com/snug-go/snug/internal/cgroup"
)

// The mask of one thread is not the process's: a program may pin its threads, and Go runs the first
// goroutine that is pinned on the main thread. So the CPUs of a process are what all its threads may
// use together. The others are looked at only if some threads have fewer CPUs than the process had
// at the last read, and only until they have not. At every 32nd poll they are looked at if some have
// fewer than the process ever had: its other threads may have got them back.

// sought returns the number of CPUs at which no other thread need be looked at.
func (r *reader) sought(polls uint) int {
	if polls%rescan == 0 {
		return max(r.cpus, r.most)
	}
	return r.cpus
}

// ownCPUs returns the CPUs of the calling process.
func (r *reader) ownCPUs(polls uint) Value[int] {
	set := r.set
	if set == nil {
		set = new(cgroup.CPUs)
		r.set, r.cpus = set, runtime.NumCPU() // those of all threads when it started
		r.most = r.cpus
	}
	*set = cgroup.CPUs{}
	main, this := addThread(set, os.Getpid()), addThread(set, 0)
	n := set.Count()
	if main == 0 || this == 0 {
		return Value[int]{}
	}
	if want := r.sought(polls); n < want {
		err := errSealed
		if !r.lone {
			err = r.tree.list("/proc/self/task", func(name string, _ uint64) bool {
				if tid, err := strconv.Atoi(name); err == nil {
					addThread(set, tid)
				}
				return set.Count() < want
			})
			r.lone = isRefused(err)
		}
		all := set.Count()
		if err != nil && main+this != 2*n { // they cannot be looked at, and these two differ
			all = r.cpus
		}
		n = all
	}
	r.cpus, r.most = n, max(r.most, n)
	return Of(n)
}

// The most threads of another process to look at in one read: by a system call, 0.5 us each, and by
// reading a file, 25 us. The second thread of a Go program is the runtime's monitor, which no code of
// the program pins.
const (
	maxThreads   = 1 << 14
	maxReadFiles = 16
)

// cpusOf returns the CPUs of another process, or of one in a saved tree.
func (h *Handle) cpusOf() Value[int] {
	var set cgroup.CPUs
	status := h.status.now(&h.reader)
	calls := h.calls && status != nil && addThread(&set, h.pid) > 0
	if !calls && !set.AddAllowed(status) {
		return Value[int]{}
	}
	if h.cpus == 0 {
		h.cpus = math.MaxInt
	}
	n := set.Count()
	if want := h.sought(h.polls); n < want {
		if n = h.otherCPUs(set, calls, want); n == 0 {
			return Value[int]{}
		}
	}
	h.cpus, h.most = n, max(h.most, n)
	return Of(n)
}

// otherCPUs adds the CPUs of the other threads to those of the main thread. It returns 0 if they are
// unknown. Its copy of the set is on the heap; the usual poll allocates nothing.
func (h *Handle) otherCPUs(set cgroup.CPUs, calls bool, want int) int {
	left := maxThreads
	if !calls {
		left = maxReadFiles
	}
	err := h.tree.list(h.proc+"/task", func(tid string, _ uint64) bool {
		if left--; calls {
			if n, err := strconv.Atoi(tid); err == nil {
				addThread(&set, n)
			}
		} else {
			text, _ := h.files.opener.read(h.proc+"/task/"+tid+"/status", h.buf, true)
			set.AddAllowed(text)
		}
		return left > 0 && set.Count() < want
	})
	if err != nil && !isNotExist(err) {
		if h.cpus != math.MaxInt {
			return h.cpus
		}
		h.status.err = errors.New(h.proc + "/task cannot be listed: " + errText(err))
		return 0
	}
	return set.Count()
}
