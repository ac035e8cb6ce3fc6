// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// interval is the time between scans, which drain the rings and find new threads. A
// thread is not sampled before a scan has found it.
const interval = 100 * time.Millisecond

// maxThreads bounds the open files and locked memory of a capture.
const maxThreads = 1 << 11

// Capture samples the CPU time of a process by perf events, one per thread, until
// the duration, the context or the process ends. It then returns the samples taken
// so far, without an error. It does not stop the process.
//
// It needs no privilege for a process of the same user. It samples time in the kernel if
// kernel.perf_event_paranoid is 1 or less, or with CAP_PERFMON. An error that is ErrDenied is a
// *DeniedError. If there is no such process, the error is os.ErrNotExist.
//
// Limits: Capture may miss threads that live less than 0.1 s, and misses threads for whose
// rings no memory can be locked (Raw.Unsampled). Raw.Accounted shows how much was missed.
func Capture(ctx context.Context, pid int, o Options) (*Raw, error) {
	c, err := newCapture(pid, o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	return c.run(ctx, o.Duration)
}

// capture is one process being sampled.
type capture struct {
	raw   Raw
	attr  unix.PerfEventAttr
	pages int // per ring

	// task is /proc/PID/task. An open handle refers to this process even if its pid is reused.
	task    int
	pidfd   int // -1 if the kernel has no pidfds
	threads map[int]*ring
	scan    int // number of scans

	reader  reader
	gather  *gather
	began   int64 // CPU time of the process, in ns
	latest  int64
	started time.Time
}

func newCapture(pid int, o Options) (*capture, error) {
	if pid <= 0 {
		return nil, fmt.Errorf("%d is not a process", pid)
	}
	dir := fmt.Sprintf("/proc/%d/task", pid)
	task, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, &os.PathError{Op: "open", Path: dir, Err: err})
	}
	pidfd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		pidfd = -1
	}
	if err == unix.EINVAL || err == unix.ENOENT {
		unix.Close(task)
		return nil, fmt.Errorf("%d is a thread, not a process", pid)
	}
	return &capture{
		raw:  Raw{PID: pid, Rate: allowedRate(o.rate()), Kernel: !o.UserOnly, Ended: Full},
		task: task, pidfd: pidfd,
		threads: map[int]*ring{},
		gather:  newGather(),
	}, nil
}

func (c *capture) close() {
	for tid := range c.threads {
		c.drop(tid)
	}
	unix.Close(c.task)
	if c.pidfd >= 0 {
		unix.Close(c.pidfd)
	}
}

func (c *capture) run(ctx context.Context, duration time.Duration) (*Raw, error) {
	if err := c.open(); err != nil {
		return nil, err
	}
	c.raw.Mappings = c.mappings()
	// Sampling and the clock start here.
	c.started = time.Now()
	var known bool
	c.began, known = cpuClock(c.raw.PID)
	c.latest = c.began
	for _, r := range c.threads {
		r.enable()
	}
	var over <-chan time.Time
	if duration > 0 {
		timer := time.NewTimer(duration)
		defer timer.Stop()
		over = timer.C
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	next := c.started
	for going := true; going; {
		select {
		case <-ctx.Done():
			going = false
		case <-over:
			going = false
		case <-tick.C:
		}
		c.clock()
		gone := c.gone()
		for _, r := range c.threads {
			c.drain(r)
		}
		switch {
		case c.reader.execed:
			c.raw.Ended, going = Execed, false
		case gone:
			c.raw.Ended, going = Exited, false
		case going && time.Now().After(next): // looking for threads takes a thirtieth of the time at most
			begin := time.Now()
			if _, err := c.rescan(true); err != nil {
				return nil, err
			}
			next = time.Now().Add(30*time.Since(begin) - interval)
		}
	}
	r := &c.raw
	r.Start, r.Duration = c.started, time.Since(c.started)
	if r.Ended == Full {
		r.Mappings = mergeMappings(r.Mappings, c.mappings())
	}
	r.Samples = c.gather.samples()
	r.Sampled = seconds(r.Samples)
	r.Lost = c.reader.lost + c.gather.lost
	r.Scheduled, r.ScheduledKnown = float64(c.latest-c.began)/1e9, known
	return r, nil
}

// open finds the existing threads. If sampling the kernel is denied, it samples user code only.
func (c *capture) open() error {
	tids, err := c.tids()
	if err != nil {
		return err
	}
	c.pages = ringPages(len(tids))
	c.attr = attributes(c.raw.Rate, c.raw.Kernel)
	denied, err := c.rescan(false)
	if denied != nil && c.raw.Kernel && len(c.threads) == 0 {
		c.raw.Kernel = false
		c.attr = attributes(c.raw.Rate, false)
		denied, err = c.rescan(false)
	}
	switch {
	case err != nil:
		return err
	case denied != nil && c.sampled() == 0:
		return c.denial(denied)
	}
	return nil
}

// sampled returns the number of threads being sampled.
func (c *capture) sampled() int {
	n := 0
	for _, r := range c.threads {
		if r.mem != nil {
			n++
		}
	}
	return n
}

// rescan opens new threads, enabled if requested, and closes ended ones. denied says why
// a thread could not be opened.
func (c *capture) rescan(enable bool) (denied, err error) {
	tids, err := c.tids()
	if err != nil {
		if c.gone() {
			return nil, nil // the next scan will see it
		}
		return nil, err
	}
	c.scan++
	if !enable {
		c.busiestFirst(tids)
	}
	for _, tid := range tids {
		if r := c.threads[tid]; r != nil {
			r.scan = c.scan
			continue
		}
		if len(c.threads) >= maxThreads {
			c.raw.Unsampled = max(c.raw.Unsampled, len(tids)-maxThreads)
			break
		}
		r, err := openRing(&c.attr, tid, c.pages)
		switch {
		case err == unix.ESRCH:
			continue // it has ended
		case len(c.threads) == 0 && (err == unix.EACCES || err == unix.EPERM):
			return err, nil
		case err != nil:
			// Recorded without a ring, so that it is not tried again.
			denied = err
			c.raw.Unsampled++
			r = &ring{fd: -1}
		default:
			c.raw.Threads++
		}
		r.scan = c.scan
		c.threads[tid] = r
		if enable {
			r.enable()
		}
	}
	for tid, r := range c.threads {
		if r.scan != c.scan {
			c.drain(r)
			c.drop(tid)
		}
	}
	return denied, nil
}

func (c *capture) drop(tid int) {
	c.threads[tid].close()
	delete(c.threads, tid)
}

// drain adds up the samples of a ring. It drops samples of other processes: a thread id
// may have been reused before it was opened.
func (c *capture) drain(r *ring) {
	r.drain(&c.reader, func(s record) {
		if int(s.pid) == c.raw.PID {
			c.gather.add(s)
		}
	})
}

// tids lists the threads of the process.
func (c *capture) tids() ([]int, error) {
	fd, err := unix.Openat(c.task, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("threads of process %d: %w", c.raw.PID, err)
	}
	dir := os.NewFile(uintptr(fd), "task")
	defer dir.Close()
	names, err := dir.Readdirnames(maxThreads + 2)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("threads of process %d: %w", c.raw.PID, err)
	}
	tids := make([]int, 0, len(names))
	for _, name := range names {
		if tid, err := strconv.Atoi(name); err == nil && tid > 0 {
			tids = append(tids, tid)
		}
	}
	if len(tids) == 0 {
		return nil, fmt.Errorf("threads of process %d: %w", c.raw.PID, os.ErrNotExist)
	}
	return tids, nil
}

// busiestFirst sorts threads by CPU time used, so that the busiest are sampled if not
// all can be. It does nothing for few threads.
func (c *capture) busiestFirst(tids []int) {
	if len(tids) <= 64 {
		return
	}
	used := make(map[int]uint64, len(tids))
	for _, tid := range tids {
		fd, err := unix.Openat(c.task, strconv.Itoa(tid)+"/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		var b [64]byte
		n, _ := unix.Read(fd, b[:])
		unix.Close(fd)
		run, _, _ := strings.Cut(string(b[:max(n, 0)]), " ")
		used[tid], _ = strconv.ParseUint(run, 10, 64) // 0 if unreadable
	}
	slices.SortStableFunc(tids, func(a, b int) int { return cmp.Compare(used[b], used[a]) })
}

// gone reports whether the process has ended; a zombie has.
func (c *capture) gone() bool {
	if c.pidfd < 0 {
		var st unix.Stat_t
		return unix.Fstatat(c.task, "../stat", &st, 0) != nil
	}
	p := []unix.PollFd{{Fd: int32(c.pidfd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

// clock records the CPU time so far, unless the process is gone.
func (c *capture) clock() {
	if now, ok := cpuClock(c.raw.PID); ok && now >= c.latest && !c.gone() {
		c.latest = now
	}
}

// cpuClock returns the CPU time of a process in nanoseconds, including ended threads,
// by the scheduler's clock, as in schedstat. Any process may read it for any other (man
// 3 clock_getcpuclockid; the clock id is made as in
// include/linux/posix-timers_types.h: MAKE_PROCESS_CPUCLOCK, CPUCLOCK_SCHED).
func cpuClock(pid int) (ns int64, ok bool) {
	const sched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|sched), &ts); err != nil {
		return 0, false
	}
	return ts.Nano(), true
}

// mappings returns the code mappings of the process; nil if they cannot be read.
func (c *capture) mappings() []Mapping {
	fd, err := unix.Openat(c.task, "../maps", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	f := os.NewFile(uintptr(fd), "maps")
	defer f.Close()
	return readMappings(f)
}

// allowedRate returns rate, capped by the kernel's maximum, which the kernel lowers on
// machines where sampling is slow.
func allowedRate(rate int) int {
	if limit, err := readNumber("/proc/sys/kernel/perf_event_max_sample_rate"); err == nil && limit > 0 {
		return min(rate, limit)
	}
	return rate
}

// ringPages returns the number of pages per ring for a number of threads. Without CAP_IPC_LOCK
// a user may lock perf_event_mlock_kb per CPU, and a small ring is better than none for some
// threads. One page holds 20 stacks of 20 calls, 0.2 s at the default rate.
func ringPages(threads int) int {
	pages := 8
	kb, err := readNumber("/proc/sys/kernel/perf_event_mlock_kb")
	if err != nil {
		kb = 516
	}
	budget := kb * runtime.NumCPU() * 1024 / os.Getpagesize()
	// Half is reserved for new threads and other users.
	for pages > 1 && threads*(pages+1)*2 > budget {
		pages /= 2
	}
	return pages
}

func readNumber(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(text)))
}
