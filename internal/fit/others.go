// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"os"
	"strconv"
	"strings"

	"github.com/snug-go/snug/limits"
)

// Others counts the Go processes in the cgroup whose memory limit decides for l, this
// process and pid left out. It looks at 64 processes at most. Those in another pid
// namespace, or of another user, cannot be seen.
func Others(l *limits.Limits, pid int) (n int) {
	file := l.Memory.SoftSource.File
	slash := strings.LastIndexByte(file, '/')
	if slash < 0 || file == limits.HostMemory {
		return 0
	}
	var buf [4096]byte
	procs := strings.Fields(head(file[:slash]+"/cgroup.procs", &buf))
	for _, p := range procs[:min(len(procs), 64)] {
		if p != strconv.Itoa(os.Getpid()) && p != strconv.Itoa(pid) && strings.Contains(head("/proc/"+p+"/exe", &buf), goNote) {
			n++
		}
	}
	return n
}

// goNote is within the first page of every program that the go command has linked: a
// note of type 4 that Go owns, its build ID (cmd/internal/buildid, elfGoNote;
// little-endian).
const goNote = "\x04\x00\x00\x00Go\x00\x00"

// head is what a file begins with.
func head(name string, buf *[4096]byte) string {
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	n, _ := f.Read(buf[:])
	return string(buf[:n])
}
