// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestUnread: a failed read does not make a process one that is not Go, and an ended one is none.
func TestUnread(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{nil, ""},
		{proc.ErrGone, ""},
		{fmt.Errorf("%w, pid 1", proc.ErrNone), ""},
		{&fs.PathError{Op: "read", Path: "/proc/1/stat", Err: syscall.ENOENT}, ""},
		{&fs.PathError{Op: "read", Path: "/proc/1/stat", Err: syscall.ESRCH}, ""},
		{&fs.PathError{Op: "read", Path: "/proc/1/exe", Err: syscall.EIO}, "cannot be read: " + syscall.EIO.Error()},
		{fmt.Errorf("%w, so it is unknown whether Go built it", syscall.EIO), "cannot be read: " + syscall.EIO.Error()},
		{proc.ErrTooMuch, proc.ErrTooMuch.Error()},
		{errors.New("malformed"), ""},
	} {
		if got := Unread(c.err); got != c.want {
			t.Errorf("%v: %q, want %q", c.err, got, c.want)
		}
	}
}
