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
)

// qemu runs the emulator args[0] until it ends and returns the output of its first serial port.
func qemu(ctx context.Context, args []string) (console string, err error) {
	path, err := exec.LookPath(args[0])
	if err != nil {
		return "", fmt.Errorf("%w: install the Debian packages of e2e/packages.txt", err)
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
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		err = cmd.Run()
		console = strings.ReplaceAll(stdout.String(), "\r\n", "\n")
		if err != nil {
			err = errors.Join(err, errors.New(strings.TrimSpace(stderr.String())))
		}
	}()
	<-done
	return console, err
}
