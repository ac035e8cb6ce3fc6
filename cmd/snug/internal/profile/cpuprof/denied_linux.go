// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// denial returns the likely reason why a system call was denied.
func (c *capture) denial(err error) error {
	d := &DeniedError{PID: c.raw.PID, Err: err, Reason: ByOther}
	level, lerr := readNumber("/proc/sys/kernel/perf_event_paranoid")
	d.Level, d.LevelKnown = level, lerr == nil
	switch err {
	case unix.ENOSYS, unix.ENODEV, unix.EOPNOTSUPP, unix.ENOENT:
		d.Reason = ByKernel
	case unix.EMFILE, unix.ENFILE, unix.ENOMEM, errLocked:
		d.Reason = ByLimit
	case unix.EACCES, unix.EPERM:
		perfmon, filtered := self()
		switch {
		case errors.Is(lerr, os.ErrNotExist):
			d.Reason = ByKernel
		case d.LevelKnown && level > 2 && !perfmon:
			d.Reason = ByLevel
		case err == unix.EPERM && filtered:
			d.Reason = BySeccomp
		case err == unix.EACCES:
			d.Reason = ByOwner
		}
	}
	return d
}

// self reports, from /proc/self/status (man 5 proc_pid_status), whether this process
// has CAP_PERFMON or CAP_SYS_ADMIN, and whether it has a seccomp filter.
func self() (perfmon, filtered bool) {
	text, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		return false, false
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch name {
		case "CapEff":
			caps, err := strconv.ParseUint(value, 16, 64)
			perfmon = err == nil && caps&(1<<unix.CAP_PERFMON|1<<unix.CAP_SYS_ADMIN) != 0
		case "Seccomp":
			filtered = value == "2"
		}
	}
	return perfmon, filtered
}
