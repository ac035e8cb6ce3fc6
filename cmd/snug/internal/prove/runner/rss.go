// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"path"
	"strconv"
	"strings"
)

// rss returns the largest resident set of the program, or of a child that it has waited
// for, in bytes, once it has ended; nil is unknown.
//
// getrusage(2) alone does not know it, see [cgrun.Exit]. VmHWM of proc_pid_status(5) is of the
// program alone, but must be read while it lives, and does not include its children.
func (p *process) rss() *int64 {
	if n := p.exit.MaxRSSBytes; n > 0 {
		return &n
	}
	return p.largest
}

// sampleRSS records the largest resident set of a program that is about to be stopped.
func (p *process) sampleRSS() {
	if n := highWater(strconv.Itoa(p.child.PID())); n > 0 {
		p.largest = &n
	}
}

// highWater returns the largest resident set of a process so far, in bytes; 0 if it
// cannot be read.
func highWater(pid string) int64 {
	return kibibytes(read(path.Join("/proc", pid, "status")), "VmHWM:")
}

// kibibytes returns the number of a line such as "MemTotal:  16384 kB", in bytes; 0 if
// there is none.
func kibibytes(text, key string) int64 {
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) >= 2 && f[0] == key {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
