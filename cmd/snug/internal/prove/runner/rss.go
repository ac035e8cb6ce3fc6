// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"path"
	"strconv"
	"strings"
)

// counted is how far the kernel's two counts of one resident set may be apart:
// each CPU counts some pages on its own (percpu_counter, include/linux/mm.h).
const counted = 1 << 20

// rss is the largest resident set of the program or of a child that it has waited
// for, in bytes, once it has ended; nil when that cannot be told.
//
// getrusage(2) alone does not tell it. execve(2) notes the largest set of the
// memory that it gives up (exec_mmap in fs/exec.c), which is that of
// snug where a process is started by vfork(2), as Go does: no program comes out
// below snug. VmHWM of proc_pid_status(5) is of the program alone, but has to be
// read while it lives, and says nothing of its children.
func (p *process) rss() *int64 {
	if n := p.exit.MaxRSSBytes; n > p.inherited+counted && p.inherited > 0 {
		return &n
	}
	return p.largest
}

// look notes the largest resident set of a program that is about to be ended.
func (p *process) look() {
	if n := highWater(strconv.Itoa(p.child.PID())); n > 0 {
		p.largest = &n
	}
}

// rss is the sum of their largest resident sets; nil when one is not known.
func (ps processes) rss() *int64 {
	sum := new(int64)
	for _, p := range ps {
		add(&sum, p.rss())
	}
	return sum
}

// highWater is the largest resident set so far of a process, in bytes; 0 when it
// cannot be read.
func highWater(pid string) int64 {
	return kibibytes(read(path.Join("/proc", pid, "status")), "VmHWM:")
}

// kibibytes returns the number of a line such as "MemTotal:  16384 kB", in bytes;
// 0 when there is none.
func kibibytes(text, key string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
