// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// A program that has put the terminal into raw mode cannot restore it after a fatal error
// of the runtime or after SIGKILL. So snug top is two processes. The parent waits; its
// child has the screen. However the child ends, the parent restores the terminal, and only
// then does the shell continue. The child ends when the parent does.

// livePipe is the child's end of a pipe that the parent holds open.
const livePipe = 3

// endWithin is how long the child may take to close the screen after a signal, or when the parent has
// ended.
const endWithin = 2 * time.Second

// killAfter is how long the child has to end after SIGTERM.
const killAfter = 3 * time.Second

// resetScreen undoes what a full-screen program may have set: alternate keypad, colours,
// no wrapping, hidden cursor, the alternate screen. Source: xterm's ctlseqs.
const resetScreen = "\x1b[?1l\x1b>\x1b[m\x1b[?7h\x1b[?25h\x1b[?1049l"

// topLive shows the live view on the terminal.
func topLive(u *ui.UI, o *topOptions) error {
	if f, ok := u.Out.(*os.File); !ok || !ui.IsTerminal(f) {
		return message.Failed("stdout: not a terminal", "snug ps prints a list, snug top --batch one look after the other")
	}
	if t := u.Getenv("TERM"); t == "" || t == "dumb" {
		return message.Failed("TERM="+message.Quote(t)+": a terminal without a cursor",
			"snug top --batch prints one look after the other")
	}
	if o.attended {
		return topScreen(u, o)
	}
	// Report errors that need no screen before there is one.
	w, err := top.NewWatcher(o.words, false)
	if err != nil {
		return err
	}
	if len(o.words) > 0 {
		_, err = w.First()
	}
	w.Close()
	if err != nil {
		return err
	}
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return message.Failed("/dev/tty: no terminal: "+message.Reason(err),
			"snug top --batch prints one look after the other")
	}
	defer tty.Close()
	found, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		return message.Failed("/dev/tty: not a terminal", "snug top --batch prints one look after the other")
	}
	state, stderr, err := attend(o)
	if err != nil {
		return message.Failed("cannot start a process: "+message.Reason(err), "snug top --batch needs none")
	}
	if state.Exited() && (state.ExitCode() == message.ExitFine || state.ExitCode() == message.ExitFailed) {
		u.Err.Write(stderr)
		if state.ExitCode() == message.ExitFine {
			return nil
		}
		return &message.Failure{Code: message.ExitFailed}
	}
	_, _ = tty.WriteString(resetScreen)
	_ = unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETSW, found)
	u.Err.Write(stderr)
	return message.Failed("the view ended unexpectedly: "+state.String(), "snug top --batch needs no screen")
}

// attend runs the child to its end and returns the start of what it wrote to stderr.
func attend(o *topOptions) (*os.ProcessState, []byte, error) {
	args := []string{"top", "--attended", "--interval", o.interval.String(), "--sort", o.sort, "--"}
	cmd := exec.Command("/proc/self/exe", append(args, o.words...)...)
	cmd.Args[0] = "snug"
	var stderr head
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, &stderr
	childEnd, parentEnd, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer parentEnd.Close()
	cmd.ExtraFiles = []*os.File{childEnd}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer signal.Stop(signals)
	err = cmd.Start()
	childEnd.Close()
	if err != nil {
		return nil, nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var late <-chan time.Time
	for {
		select {
		case <-signals:
			_ = cmd.Process.Signal(syscall.SIGTERM)
			if late == nil {
				late = time.After(killAfter)
			}
		case <-late:
			_ = cmd.Process.Kill()
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) && cmd.ProcessState == nil {
				return nil, nil, err
			}
			return cmd.ProcessState, stderr.bytes(), nil
		}
	}
}

// orphaned returns a context that ends when the parent does, or on a signal. The process ends soon
// after, whatever keeps the screen from closing.
func orphaned() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		// Nobody writes to the pipe. The read returns when the parent has closed its end.
		_, _ = os.NewFile(livePipe, "pipe").Read(make([]byte, 1))
		cancel()
	}()
	context.AfterFunc(ctx, func() {
		time.AfterFunc(endWithin, func() { os.Exit(message.ExitFailed) })
	})
	return ctx, func() { cancel(); stop() }
}

// head keeps the first maxStderr bytes that are written to it.
type head struct {
	mu sync.Mutex
	b  []byte
}

// maxStderr is how many bytes of a crash are kept. The runtime prints the goroutines that
// matter first.
const maxStderr = 64 << 10

func (h *head) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.b = append(h.b, b[:min(len(b), maxStderr-len(h.b))]...)
	return len(b), nil
}

func (h *head) bytes() []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	return bytes.Clone(h.b)
}

var _ io.Writer = (*head)(nil)
