// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/snug-go/snug/internal/plan"
)

// resident returns this process's resident memory in bytes, or 0 if it was never as large as the
// smallest GOMEMLIMIT. The peak (getrusage(2)) is cheap to read, but too high if a large process
// became this one by exec; resident then reads the second field of /proc/self/statm, in pages
// (proc_pid_statm(5)). If that fails it returns a huge number.
func resident() int64 {
	const unknown = 1 << 62
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err == nil && int64(ru.Maxrss)<<10 < plan.MinValue {
		return 0
	}
	fd, err := syscall.Open("/proc/self/statm", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return unknown
	}
	var buf [128]byte
	n, _ := syscall.Read(fd, buf[:])
	syscall.Close(fd)
	_, rest, _ := strings.Cut(string(buf[:max(n, 0)]), " ")
	pages, _, _ := strings.Cut(rest, " ")
	size, err := strconv.ParseInt(pages, 10, 64)
	if err != nil {
		return unknown
	}
	return size * int64(os.Getpagesize())
}
