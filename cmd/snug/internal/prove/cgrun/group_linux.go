// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/internal/cgroup"
)

// A group is a cgroup made for a command: one directory on v2, one per hierarchy on v1.
// A command without a group of its own has no parts.
type group struct {
	name     string
	parts    []part
	want     want       // the limits to write; on v1 the quota is clamped if the parent allows less
	locks    []*os.File // of the directories
	scope    bool       // made by systemd, which also removes it
	warnings []string

	clampedBy string    // file of the limit above that clamped the quota, "" if none did
	guard     *watchdog // ends it with snug; nil = not yet

	// For a command without a group of its own:
	ungrouped bool
	shared    []part       // the groups of snug and the command, if their counters are needed
	before    Usage        // their counters before the start
	processes processGroup // the command's own, if it has one
}

// makeGroup makes the directories of an attempt and writes the limits. After an error
// no directory is left.
func makeGroup(a attempt, w want, name string) (g *group, err error) {
	g = &group{name: name, want: w}
	defer func() {
		if err != nil {
			g.rmdir()
			g.release()
			g = nil
		}
	}()
	for _, p := range a.parts {
		lock, err := makeDir(p)
		if err != nil {
			if p.optional {
				continue
			}
			return g, err
		}
		g.parts, g.locks = append(g.parts, p), append(g.locks, lock)
		if err := g.limit(p); err != nil {
			if p.optional {
				continue
			}
			return g, err
		}
	}
	return g, nil
}

// limit writes the limits of a part, and reads them back.
func (g *group) limit(p part) error {
	if p.has("cpuset") && p.v1 {
		// A new v1 cpuset is empty and takes no process.
		for _, name := range []string{"cpuset.cpus", "cpuset.mems"} {
			text, err := os.ReadFile(path.Join(p.parent, name))
			if err != nil {
				return err
			}
			if err := write(p.dir, name, strings.TrimSpace(string(text))); err != nil {
				return err
			}
		}
	}
	if p.has("cpu") && g.want.quota > 0 {
		if err := g.limitCPU(p); err != nil {
			return err
		}
	}
	if p.has("cpu") && g.want.weight > 0 {
		name, text := weightText(g.want.weight, p.v1)
		if err := write(p.dir, name, text); err != nil {
			return err
		}
		if err := checkWeight(os.DirFS("/"), p.dir, g.want.weight, p.v1); err != nil {
			return err
		}
	}
	if p.has("memory") && g.want.memory > 0 {
		return g.limitMemory(p)
	}
	return nil
}

func (g *group) limitCPU(p part) error {
	fsys := os.DirFS("/")
	if !p.v1 {
		if err := write(p.dir, "cpu.max", fmt.Sprintf("%d %d", g.want.quota, g.want.period)); err != nil {
			return err
		}
	} else {
		// v1 refuses a ratio above the parent's (EINVAL), so the parent's is the
		// maximum. A new group has no quota, so the period can be written first.
		quota, period, file, err := tightestCPU(fsys, parents(p), true)
		if err != nil {
			return err
		}
		if quota > 0 && float64(quota)/float64(period) < float64(g.want.quota)/float64(g.want.period) {
			g.want.quota = max(minQuotaMicros, int64(float64(g.want.period)*float64(quota)/float64(period)))
			g.clampedBy = file
		}
		if err := write(p.dir, "cpu.cfs_period_us", strconv.FormatInt(g.want.period, 10)); err != nil {
			return err
		}
		if err := write(p.dir, "cpu.cfs_quota_us", strconv.FormatInt(g.want.quota, 10)); err != nil {
			return err
		}
	}
	quota, period, file, err := cpuLimit(fsys, p.dir, p.v1)
	if err == nil && (quota != g.want.quota || period != g.want.period) {
		err = &ProofError{fmt.Sprintf("%s: wrote quota %d of %d µs and read back %d of %d", file, g.want.quota,
			g.want.period,
			quota, period)}
	}
	return err
}

func (g *group) limitMemory(p part) error {
	bytes := strconv.FormatInt(g.want.memory, 10)
	if p.v1 {
		// Before 5.11 groups made below ours escape the limit without it.
		_ = write(p.dir, "memory.use_hierarchy", "1")
		if err := write(p.dir, "memory.limit_in_bytes", bytes); err != nil {
			return err
		}
		g.denySwap(write(p.dir, "memory.memsw.limit_in_bytes", bytes))
	} else {
		if err := write(p.dir, "memory.max", bytes); err != nil {
			return err
		}
		g.denySwap(write(p.dir, "memory.swap.max", "0"))
	}
	got, file, err := memoryLimit(os.DirFS("/"), p.dir, p.v1)
	if err == nil && !rounded(got, g.want.memory) {
		err = &ProofError{fmt.Sprintf("%s: wrote a memory limit of %d bytes and read back %d", file, g.want.memory, got)}
	}
	return err
}

// denySwap adds a warning if swap could not be denied and the machine has swap.
func (g *group) denySwap(err error) {
	if err == nil {
		return
	}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil && info.Totalswap == 0 {
		return
	}
	g.warnings = append(g.warnings, fmt.Sprintf("memory above the limit may be swapped out instead of failing: %v", err))
}

// rounded reports whether got is asked, rounded down to pages of at most 64 KiB.
func rounded(got, asked int64) bool { return got <= asked && asked-got < 64<<10 }

// parents returns the directories above a part that are groups.
func parents(p part) []string {
	var list []string
	for d := p.parent; d != "/"; d = path.Dir(d) {
		if _, err := os.Stat(path.Join(d, "cgroup.procs")); err != nil {
			break
		}
		list = append(list, d)
	}
	return list
}

// write writes an existing file of a group that snug made: O_CREATE would turn a
// missing kernel feature into a misleading permission error.
func write(dir, name, text string) error {
	f, err := os.OpenFile(path.Join(dir, name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// usage reads the group's counters.
func (g *group) usage() Usage {
	if g.ungrouped {
		return usage(os.DirFS("/"), g.shared).since(g.before)
	}
	return usage(os.DirFS("/"), g.parts)
}

// pids returns the processes in the group and in the groups below it.
func (g *group) pids() []int {
	seen := map[int]bool{}
	var list []int
	add := func(pids []int) {
		for _, pid := range pids {
			if pid > 0 && pid != os.Getpid() && !seen[pid] {
				seen[pid] = true
				list = append(list, pid)
			}
		}
	}
	for _, p := range g.parts {
		add(pidsBelow(p.dir))
	}
	add(g.processes.pids())
	return list
}

// pidsBelow returns the processes of a group and of the groups below it. Processes of
// other pid namespaces appear as 0.
func pidsBelow(dir string) []int {
	var list []int
	for _, d := range groupsBelow(dir) {
		text, err := os.ReadFile(path.Join(d, "cgroup.procs"))
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				list = append(list, pid)
			}
		}
	}
	return list
}

// groupsBelow returns dir and the groups below it, children before parents.
func groupsBelow(dir string) []string {
	var list []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, groupsBelow(path.Join(dir, e.Name()))...)
		}
	}
	return append(list, dir)
}

// leftoverGrace is the time in which processes that outlive the command may end by
// themselves, like the last members of a pipeline.
const leftoverGrace = 100 * time.Millisecond

// clear ends the processes left in the group after its command, as a container
// ends with its first process, and returns how many processes it killed.
func (g *group) clear() (killed int) {
	wait := time.Millisecond
	for start := time.Now(); time.Since(start) < leftoverGrace; time.Sleep(wait) {
		if len(g.pids()) == 0 {
			return 0
		}
		wait = min(2*wait, 20*time.Millisecond)
	}
	return g.end()
}

// end kills the processes in the group and returns their number.
func (g *group) end() (killed int) {
	seen := map[int]bool{}
	for range 200 { // a fork can be quicker than a round, which lasts 5 ms or more
		left := g.pids()
		if len(left) == 0 {
			break
		}
		atOnce := g.killAll()
		for _, pid := range left {
			if (atOnce || g.kill(pid)) && !seen[pid] {
				seen[pid] = true
				killed++
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	return killed
}

// killAll kills all processes in the group if it has a v2 part and the kernel has
// cgroup.kill (since Linux 5.14), which no fork escapes. Every process of the command
// is in every part, unless it had the privilege to move.
func (g *group) killAll() bool {
	for _, p := range g.parts {
		if !p.v1 && !g.scope && write(p.dir, "cgroup.kill", "1") == nil {
			return true
		}
	}
	return false
}

// kill kills a process if it is in this group. It opens the descriptor before that
// check, so that it never kills a reused pid.
func (g *group) kill(pid int) bool {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	if g.processes.has(pid) {
		return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return false
	}
	for _, p := range g.parts {
		controller := ""
		if p.v1 {
			controller = p.controllers[0]
		}
		h, err := findGroup(string(text), controller)
		if err != nil {
			continue
		}
		if _, ok := cgroup.Below(h.path, p.group); ok {
			return unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0) == nil
		}
	}
	return false
}

// remove removes the group and the groups below it. It tries for 2 s, because the kernel may need a
// moment after the last process has ended.
func (g *group) remove() error {
	defer g.release()
	var err error
	wait := time.Millisecond
	for start := time.Now(); time.Since(start) < 2*time.Second; time.Sleep(wait) {
		if err = g.rmdir(); err == nil {
			g.guard.stop()
			return nil
		}
		wait = min(2*wait, 50*time.Millisecond)
	}
	return err // the watchdog or a later run removes the rest
}

// release gives up the locks.
func (g *group) release() {
	for _, lock := range g.locks {
		lock.Close()
	}
	g.locks = nil
}

func (g *group) rmdir() error {
	var errs []error
	for _, p := range g.parts {
		if g.scope {
			if _, err := os.Stat(p.dir); err == nil {
				errs = append(errs, fmt.Errorf("%s: systemd has not removed its scope", p.dir))
			}
			continue
		}
		for _, dir := range groupsBelow(p.dir) {
			if err := unix.Rmdir(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, &fs.PathError{Op: "rmdir", Path: dir, Err: err})
			}
		}
	}
	return errors.Join(errs...)
}
