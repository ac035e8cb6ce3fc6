// SPDX-License-Identifier: Apache-2.0

// Package daemon runs servers that end with the test or program that started them, and finds addresses for them.
package daemon

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// FreeAddresses returns n different addresses on loopback, HOST:PORT, on which nothing listens.
func FreeAddresses(n int) ([]string, error) {
	var all []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // each is held until all are found, so that they differ
		all = append(all, l.Addr().String())
	}
	return all, nil
}

// Process is a program that runs until it is killed.
type Process struct {
	Name string // of the executable
	File string // receives its output

	done   chan struct{} // closed after Wait
	err    error         // exit error, valid after done
	handle *os.Process
}

// Start starts a program with Run and kills it when the test ends.
func Start(t testing.TB, dir, path string, args ...string) *Process {
	t.Helper()
	p, err := Run(dir, path, args...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// Run starts a program and writes its output to a file in dir. The program dies with this process.
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
		// The kernel sends the signal when the thread that started the process dies (man 2 prctl,
		// PR_SET_PDEATHSIG), so this thread must live until the end.
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

// Kill kills the process and waits for it.
func (p *Process) Kill() {
	_ = p.handle.Kill()
	<-p.done
}

// Signal sends the process a signal.
func (p *Process) Signal(s os.Signal) error { return p.handle.Signal(s) }

// Pid returns the process id.
func (p *Process) Pid() int { return p.handle.Pid }

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Ended returns how the process ended; nil = it still runs.
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

// idle matches lines of no use after a failure: info and debug lines of Kubernetes' commands,
// containerd and Prometheus.
var idle = regexp.MustCompile(`^I[0-9]{4} |^(time|ts)=\S+ .*\blevel=(info|debug) `)

// Log returns the end of the output, without idle lines.
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

// tail returns at most the last n bytes of text.
func tail(text string, n int) string {
	return text[max(0, len(text)-n):]
}
