// SPDX-License-Identifier: Apache-2.0

package vm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/fit/vm/wire"
)

// errSilent means that the guest's first line did not come in time.
var errSilent = errors.New("the guest did not start")

// qemu runs the emulator args[0] until it ends and returns the output of its first serial port. If
// wire.FirstLine is not in it after silence (0 = no limit), it kills the emulator and returns
// errSilent.
func qemu(ctx context.Context, args []string, silence time.Duration) (console string, err error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return "", fmt.Errorf("%w: install the Debian packages of e2e/packages.txt", err)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stdout := &serial{started: make(chan struct{})}
	if silence > 0 {
		alarm := time.AfterFunc(silence, func() {
			select {
			case <-stdout.started:
			default:
				cancel(errSilent)
			}
		})
		defer alarm.Stop()
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		// The kernel sends Pdeathsig when the thread that started the child ends. A locked thread
		// ends only with the process.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		cmd := exec.CommandContext(ctx, path, args[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		var stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = stdout, &stderr
		err = cmd.Run()
		if err != nil {
			err = errors.Join(context.Cause(ctx), err, errors.New(strings.TrimSpace(stderr.String())))
		}
	}()
	<-done
	return strings.ReplaceAll(stdout.text.String(), "\r\n", "\n"), err
}

// serial is the output of a serial port. started is closed once wire.FirstLine is in it.
type serial struct {
	text    bytes.Buffer
	started chan struct{}
	found   bool
}

func (s *serial) Write(b []byte) (int, error) {
	s.text.Write(b)
	if !s.found && bytes.Contains(s.text.Bytes(), []byte(wire.FirstLine)) {
		s.found = true
		close(s.started)
	}
	return len(b), nil
}
