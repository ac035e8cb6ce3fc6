// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// cpuLimit reads the CPU limit of one group: quota and period in microseconds,
// quota 0 for none. The root group has no such file, and so no limit.
//
//	cpu.max            v2: "150000 100000", "max 100000"
//	cpu.cfs_quota_us   v1: "150000", -1 for none
//	cpu.cfs_period_us  v1: "100000"
func cpuLimit(fsys fs.FS, dir string, v1 bool) (quota, period int64, file string, err error) {
	var text, second []byte
	var q cgroup.Quota
	if v1 {
		file = path.Join(dir, "cpu.cfs_quota_us")
		if text, err = readFile(fsys, file); err == nil {
			second, _ = readFile(fsys, path.Join(dir, "cpu.cfs_period_us")) // a quota without a period is garbage, below
			q = cgroup.CFSQuota(text, second)
		}
	} else {
		file = path.Join(dir, "cpu.max")
		text, err = readFile(fsys, file)
		q = cgroup.CPUMax(text)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return 0, 0, file, nil
	}
	if err != nil {
		return 0, 0, file, err
	}
	switch _, state := q.Cores(); state {
	case cgroup.None:
		return 0, q.Period, file, nil
	case cgroup.Known:
		return q.Micros, q.Period, file, nil
	}
	return 0, 0, file, fmt.Errorf("%s: not a CPU limit: %q", file, strings.TrimSpace(string(text)+string(second)))
}

// cpuBurst reads the burst of one group in microseconds, 0 for none or if the kernel
// does not support it.
//
//	cpu.max.burst     v2: "20000"
//	cpu.cfs_burst_us  v1: "20000"
func cpuBurst(fsys fs.FS, dir string, v1 bool) (burst int64, file string, err error) {
	if v1 {
		return number(fsys, path.Join(dir, "cpu.cfs_burst_us"))
	}
	return number(fsys, path.Join(dir, "cpu.max.burst"))
}

// Bounds of the CPU weight of a group (sched_group_set_shares). An ordinary process
// has 1024 on v1 and 100 on v2.
const (
	maxWeight            = 10000
	minShares, maxShares = 2, 1 << 18
)

// weightText returns a CPU weight in the kernel's units, and its file.
func weightText(weight int, v1 bool) (file, text string) {
	if v1 {
		return "cpu.shares", strconv.Itoa(min(max(weight*1024/100, minShares), maxShares))
	}
	return "cpu.weight", strconv.Itoa(weight)
}

// checkWeight returns a *ProofError if a group has another CPU weight.
func checkWeight(fsys fs.FS, dir string, weight int, v1 bool) error {
	name, want := weightText(weight, v1)
	got, err := readText(fsys, path.Join(dir, name))
	if err == nil && got != want {
		err = &ProofError{fmt.Sprintf("%s: CPU weight %s instead of %s", path.Join(dir, name), got, want)}
	}
	return err
}

// number reads the number in a file; a missing file is 0.
func number(fsys fs.FS, file string) (int64, string, error) {
	text, err := readText(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, file, nil
	}
	if err != nil {
		return 0, file, err
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, file, fmt.Errorf("%s: not a number: %q", file, text)
	}
	return n, file, nil
}

// memoryLimit reads the memory limit of one group in bytes, 0 for none.
func memoryLimit(fsys fs.FS, dir string, v1 bool) (limit int64, file string, err error) {
	file = path.Join(dir, "memory.max")
	if v1 {
		file = path.Join(dir, "memory.limit_in_bytes")
	}
	text, err := readFile(fsys, file)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, file, nil
	}
	if err != nil {
		return 0, file, err
	}
	n, state := cgroup.Bytes(text)
	if state == cgroup.Unknown {
		return 0, file, fmt.Errorf("%s: not a memory limit: %q", file, strings.TrimSpace(string(text)))
	}
	return n, file, nil
}

// tightestCPU returns the smallest CPU limit of a group's levels; quota is 0 if no
// level has one.
func tightestCPU(fsys fs.FS, levels []string, v1 bool) (quota, period int64, file string, err error) {
	for _, dir := range levels {
		q, p, f, err := cpuLimit(fsys, dir, v1)
		if err != nil {
			return 0, 0, "", err
		}
		if q > 0 && (quota == 0 || float64(q)/float64(p) < float64(quota)/float64(period)) {
			quota, period, file = q, p, f
		}
	}
	return quota, period, file, nil
}

// unread returns an error if a file of some level could not be read, or no level is
// visible: the limit may then be tighter, and nothing is proved. A mount that does not
// show all it could is no error: the visible limits hold.
func unread(l *limits.Limits, field string, state limits.State) error {
	for _, g := range l.Gaps {
		name := path.Base(g.File)
		file := strings.HasPrefix(name, "cpu.") || strings.HasPrefix(name, "memory.")
		if g.Field == field && (state == limits.Unknown || file) {
			return fmt.Errorf("%s: %s: %s", g.File, field, g.Why)
		}
	}
	return nil
}

// The v2 files that limit a process. The new group must be below every group of the
// caller that sets one of them. systemd gives every unit a pids.max by default, a new
// scope too, so scopes are compared by sizeFiles.
var (
	sizeFiles = []string{
		"cpu.max", "memory.max", "memory.high", "memory.swap.max", "memory.swap.high", "memory.zswap.max", "cpuset.cpus",
		"cpuset.mems",
	}
	limitFiles = append([]string{"pids.max", "io.max", "hugetlb.2MB.max", "hugetlb.1GB.max"}, sizeFiles...)
)

// limitOf returns the first of the named files that limits a v2 group, or "". An
// unreadable file counts as a limit.
func limitOf(fsys fs.FS, dir string, files []string) string {
	for _, name := range files {
		file := path.Join(dir, name)
		text, err := readText(fsys, file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || text != "" && text != "max" && !strings.HasPrefix(text, "max ") {
			return file
		}
	}
	return ""
}

// shedError is a place for the group where a limit of the caller would not hold.
type shedError struct{ file string }

func (e *shedError) Error() string { return e.file + ": the caller's own limit would not hold there" }
