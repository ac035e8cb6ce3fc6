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

// Others counts the other processes that run this program in the cgroup whose memory limit decides
// for l, up to 16. Processes in another PID namespace, or of another user, cannot be seen. It opens
// no file of another process, which would hang on a file system that does not respond.
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

// Sharers returns the PIDs of the processes in the cgroup whose memory limit decides for l, as
// this PID namespace numbers them: "0" is one outside it.
func Sharers(l *limits.Limits) []string {
	file := l.Memory.SoftSource.File
	slash := cgroup.Slash(file)
	if slash < 0 || file == cgroup.HostMemory {
		return nil
	}
	// As in package limits, opening must not block, whatever the file is, and os.Open would
	// start the network poller.
	fd, err := syscall.Open(file[:slash]+"/cgroup.procs", syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	var buf [4096]byte
	n, _ := syscall.Read(fd, buf[:])
	syscall.Close(fd)
	return strings.Fields(string(buf[:max(n, 0)]))
}
