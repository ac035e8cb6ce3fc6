// SPDX-License-Identifier: Apache-2.0

// Package daemon runs servers beside a test or a program: they end with it.
package daemon

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// Process is a program that runs until it is killed.
type Process struct {
	Name string // of the program
	File string // its output

	done   chan struct{} // closed when it was reaped
	err    error         // how it ended, after done
	handle *os.Process
}

// Start starts a program as Run does, until the test ends.
func Start(t testing.TB, dir, path string, args ...string) *Process {
	t.Helper()
	p, err := Run(dir, path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Run starts a program, with its output in a file of dir. It dies with this process.
func Run(dir, path string, args ...string) (*Process, error) {
	p := &Process{Name: filepath.Base(path), done: make(chan struct{})}
	p.File = filepath.Join(dir, p.Name+".log")
	out, err := os.Create(p.File)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer close(p.done)
		// The signal comes at the death of the thread that started the process
		// (man 2 prctl, PR_SET_PDEATHSIG), so it has to live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.handle = cmd.Process
	return p, nil
}

// Kill ends the process and waits until it is gone.
func (p *Process) Kill() {
	_ = p.handle.Kill()
	<-p.done
}

// Signal sends the process a signal, which it may not heed.
func (p *Process) Signal(s os.Signal) error { return p.handle.Signal(s) }

// Pid is the process's id.
func (p *Process) Pid() int { return p.handle.Pid }

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended is nil while the process runs.
func (p *Process) Ended() error {
	select {
	case <-p.done:
		if p.err == nil {
			return fmt.Errorf("exit status 0")
		}
		return p.err
	default:
		return nil
	}
}

// idle are lines that nobody needs after a failure: of Kubernetes' commands, and of
// containerd and Prometheus.
var idle = regexp.MustCompile(`^I[0-9]{4} |^(time|ts)=\S+ .*\blevel=(info|debug) `)

// Log is the last of what the process wrote, but for what it did as it should.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.File)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !idle.MatchString(line) {
			b.WriteString(line)
		}
	}
	return tail(b.String(), 8000)
}

// tail is at most the last n bytes of text.
func tail(text string, n int) string {
	return text[max(0, len(text)-n):]
}
