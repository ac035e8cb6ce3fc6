// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

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
		return Stat{}, fmt.Errorf("malformed stat, %s/%d/stat", p.root, p.pid)
	}
	if s.Zombie() {
		return Stat{}, p.gone()
	}
	return s, nil
}

// Affinity returns the number of existing CPUs that all threads of the process may use together: one
// thread may be pinned (sched_setaffinity(2)). It looks at the other threads if the main thread has
// fewer CPUs than the process had before.
func (p *Process) Affinity() (int, error) {
	count, err := p.affinity()
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
func (p *Process) StatAffinity() (s Stat, cpus int, err error) {
	count, wrong := p.affinity()
	if s, err = p.Stat(); err == nil && wrong == nil {
		cpus = count
	}
	return s, cpus, err
}

// The most threads whose CPUs are looked up at one read: by a system call, and by reading a file.
const (
	maxAsked = 4096
	maxRead  = 16
)

// affinity is Affinity of the process that has the number now.
func (p *Process) affinity() (int, error) {
	if p.root != root {
		return p.allowed()
	}
	var few unix.CPUSet
	if err := unix.SchedGetaffinity(p.pid, &few); err == unix.EINVAL { // this kernel supports more CPUs than that
		set := unix.NewCPUSet(maxCPUs)
		if err := unix.SchedGetaffinityDynamic(p.pid, set); err != nil {
			return 0, p.why("sched_getaffinity", err)
		}
		return set.Count(), nil
	} else if err != nil {
		return 0, p.why("sched_getaffinity", err)
	}
	for _, tid := range p.toAsk(few.Count(), maxAsked) {
		var one unix.CPUSet
		if unix.SchedGetaffinity(tid, &one) == nil {
			for i := range few {
				few[i] |= one[i]
			}
		}
		if p.cpus != 0 && few.Count() >= p.cpus {
			break
		}
	}
	p.cpus = few.Count()
	return p.cpus, nil
}

// toAsk returns the threads whose CPUs are to be added to those of the main thread, at most a number:
// none if it has as many CPUs as the process had before.
func (p *Process) toAsk(cpus, most int) []int {
	if cpus >= p.cpus && (p.cpus != 0 || cpus >= runtime.NumCPU()) {
		return nil
	}
	tids, _ := p.tids()
	return tids[:min(len(tids), most)]
}

// allowed is affinity by status files, which have no call: the largest number of any thread. The
// runtime's monitor, which is never pinned, has that of the process.
func (p *Process) allowed() (int, error) {
	s, err := p.Status()
	if err == nil && s.CPUs == 0 {
		err = fmt.Errorf("%w, %s/%d/status Cpus_allowed_list", ErrNone, p.root, p.pid)
	}
	if err != nil {
		return 0, err
	}
	for _, tid := range p.toAsk(s.CPUs, maxRead) {
		if text, err := p.read("task/"+strconv.Itoa(tid)+"/status", maxStatus); err == nil {
			one, _ := parseStatus(text)
			s.CPUs = max(s.CPUs, one.CPUs)
		}
	}
	p.cpus = s.CPUs
	return p.cpus, nil
}
