// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ThreadTime returns the CPU time of the calling thread: lock it first. 0 = unknown.
func ThreadTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// CPUTime returns the CPU time of this process. 0 = unknown.
func CPUTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(id, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// KeepStat lets Stat keep its file open, for callers that call it often.
func (p *Process) KeepStat() {
	if p.stat < 0 && p.dir >= 0 {
		if fd, err := p.open("stat"); err == nil {
			p.stat = fd
		}
	}
}

// Stat reads /proc/PID/stat. The error for a zombie is ErrGone.
func (p *Process) Stat() (Stat, error) {
	s, err := p.undated()
	var now unix.Timespec
	if err == nil && unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) == nil {
		s.Started = time.Now().Add(ticks(s.start) - time.Duration(now.Nano())).Round(0)
	}
	return s, err
}

// Still reports whether the process shows no activity since an earlier Stat, see [Stat.Still]. It is
// false if the process has ended.
func (p *Process) Still(before *Stat) bool {
	s, err := p.undated()
	return err == nil && s.Still(before)
}

// undated is Stat without Started.
func (p *Process) undated() (Stat, error) {
	var text []byte
	var err error
	if p.stat >= 0 {
		var b [maxStat]byte
		var n int
		// The kernel generates the content anew for each read from offset 0.
		if n, err = retry(func() (int, error) { return unix.Pread(p.stat, b[:], 0) }); err != nil {
			err = p.why("stat", err)
		}
		text = b[:max(n, 0)]
	} else {
		text, err = p.read("stat", maxStat)
	}
	if err != nil {
		return Stat{}, err
	}
	s, ok := parseStat(text, int64(os.Getpagesize()))
	if !ok {
		return Stat{}, fmt.Errorf("%s/%d/stat: malformed stat", p.root, p.pid)
	}
	if s.Zombie() {
		return Stat{}, p.gone()
	}
	return s, nil
}

// maxAsked bounds the threads whose CPUs are looked up. It is that of package limits, which counts in the same way.
const maxAsked = 1 << 14

// Affinity returns the number of existing CPUs that all threads of the process may use together: one
// thread may be pinned (sched_setaffinity(2)). before is the number of an earlier look, at which it looks
// at no other threads; 0 = there was none.
func (p *Process) Affinity(before int) (int, error) {
	count, err := p.affinity(before)
	if err != nil {
		return 0, err
	}
	// The call takes a number, so the result belongs to this process only if it still exists.
	if _, err := p.Stat(); err != nil {
		return 0, err
	}
	return count, nil
}

// StatAffinity is Stat and Affinity for one read of the file; cpus is 0 if Affinity has an error.
func (p *Process) StatAffinity(before int) (s Stat, cpus int, err error) {
	count, wrong := p.affinity(before)
	if s, err = p.Stat(); err == nil && wrong == nil {
		cpus = count
	}
	return s, cpus, err
}

// affinity is Affinity of the process that has the number now.
func (p *Process) affinity(before int) (int, error) {
	all := unix.NewCPUSet(maxCPUs)
	if err := unix.SchedGetaffinityDynamic(p.pid, all); err != nil {
		return 0, p.why("sched_getaffinity", err)
	}
	if n := all.Count(); before > 0 && n >= before {
		return n, nil
	}
	tids, err := p.tids()
	if err != nil {
		return 0, p.why("task", err)
	}
	one := unix.NewCPUSet(maxCPUs)
	for _, tid := range tids[:min(len(tids), maxAsked)] {
		if unix.SchedGetaffinityDynamic(tid, one) != nil {
			continue // it ended
		}
		for i := range all {
			all[i] |= one[i]
		}
		if before > 0 && all.Count() >= before {
			break
		}
	}
	return all.Count(), nil
}
