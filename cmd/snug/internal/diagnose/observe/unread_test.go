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
		want Skip
	}{
		{nil, Skip{}},
		{proc.ErrGone, Skip{}},
		{fmt.Errorf("%w, pid 1", proc.ErrNone), Skip{}},
		{&fs.PathError{Op: "read", Path: "/proc/1/stat", Err: syscall.ENOENT}, Skip{}},
		{&fs.PathError{Op: "read", Path: "/proc/1/stat", Err: syscall.ESRCH}, Skip{}},
		{&fs.PathError{Op: "read", Path: "/proc/1/exe", Err: syscall.EIO}, Skip{"cannot be read: " + syscall.EIO.Error(), true}},
		{fmt.Errorf("%w, so it is unknown whether Go built it", syscall.EIO), Skip{"cannot be read: " + syscall.EIO.Error(), true}},
		{proc.ErrTooMuch, Skip{Why: proc.ErrTooMuch.Error()}},
		{errors.New("malformed"), Skip{}},
	} {
		if got := Unread(c.err); got != c.want {
			t.Errorf("%v: %v, want %v", c.err, got, c.want)
		}
	}
}
