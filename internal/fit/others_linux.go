// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

// Others counts the processes that run this program too, in the cgroup whose memory limit
// decides for l: 16 at most. Those in another pid namespace, or of another user, cannot be
// seen. No file of another process is opened: on a file system that has stopped answering
// that would hang.
func Others(l *limits.Limits) (n int) {
	sharers := Sharers(l)
	if len(sharers) == 0 {
		return 0
	}
	var own, other [512]byte
	me, err := syscall.Readlink("/proc/self/exe", own[:])
	if err != nil {
		return 0
	}
	for _, pid := range sharers {
		if n < most && pid != strconv.Itoa(os.Getpid()) {
			at, err := syscall.Readlink("/proc/"+pid+"/exe", other[:])
			if err == nil && string(other[:at]) == string(own[:me]) {
				n++
			}
		}
	}
	return n
}

const most = 16

// Sharers are the numbers of the processes in the cgroup whose memory limit decides for l,
// as this pid namespace has them: "0" is one outside.
func Sharers(l *limits.Limits) []string {
	file := l.Memory.SoftSource.File
	slash := strings.LastIndexByte(file, '/')
	if slash < 0 || file == cgroup.HostMemory {
		return nil
	}
	// As package limits: whatever stands in the file's place, it must not wait, and os.Open
	// would start the network poller.
	fd, err := syscall.Open(file[:slash]+"/cgroup.procs", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var buf [4096]byte
	n, _ := syscall.Read(fd, buf[:])
	syscall.Close(fd)
	return strings.Fields(string(buf[:max(n, 0)]))
}
