// SPDX-License-Identifier: Apache-2.0

// Package ui is how commands speak. It knows no command.
package ui

// The printing rules, all of them:
//
//   - stdout is the answer and nothing else: one document, as text or, with
//     --json, as one line of JSON. It is rendered by package report and written
//     at once, so that a failure leaves no half of it behind.
//   - stderr is the talk. Every line begins with "snug:", in lower case and
//     without a full stop.
//   - A failure is two lines: "snug: error: what, where" and, where there is a
//     cure, "snug: hint: the cure".
//   - No colour, no width: the output of a pipe and of a terminal are the same,
//     and NO_COLOR has nothing to switch off. One exception: on a terminal, long
//     work shows its progress in a line of stderr that is written over.
//   - A reader that goes away (head) is no failure: the rest is dropped.
//   - Other people's text (files, variables) is escaped where it would act on
//     a terminal or is no text, and cut where it is long. What was typed is
//     quoted by typed.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// UI is where commands answer and talk.
type UI struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	JSON     bool       // --json was given
	Command  string     // that was run, as in "snug top"
	Helped   error      // of writing a help text, which the flag library drops
	talking  sync.Mutex // servers say something from several goroutines
	shown    bool       // a status line stands on the terminal
}

// JSONFlag gives a command --json. Every command that answers has it.
func (u *UI) JSONFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&u.JSON, "json", false, "answer with one JSON document")
}

// Answer prints a document.
func (u *UI) Answer(d finding.Document) error {
	var b bytes.Buffer
	render := text.Write
	if u.JSON {
		render = report.JSON
	}
	if err := render(&b, d); err != nil {
		return err
	}
	return u.Write(b.Bytes())
}

// Write puts an answer on stdout.
func (u *UI) Write(answer []byte) error {
	_, err := u.Out.Write(answer)
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return message.Failed("cannot write the answer, "+message.Reason(err), "free some room where stdout leads, or send it elsewhere")
}

// Status shows what is being done, on a terminal; "" takes it away.
func (u *UI) Status(text string) {
	u.talking.Lock()
	defer u.talking.Unlock()
	u.doing(text)
}

// doing is Status for who talks already.
func (u *UI) doing(text string) {
	if f, ok := u.Err.(*os.File); !ok || !terminal(f) {
		return
	}
	if text == "" {
		if u.shown {
			fmt.Fprint(u.Err, "\r\x1b[K")
		}
		u.shown = false
		return
	}
	u.shown = true
	fmt.Fprint(u.Err, "\r\x1b[Ksnug: "+message.Clean(text))
}

// terminal reports whether a file is one, or at least no pipe and no file.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Note is one line of talk.
func (u *UI) Note(format string, args ...any) {
	u.talking.Lock()
	defer u.talking.Unlock()
	u.doing("")
	fmt.Fprintln(u.Err, "snug: "+message.Clean(finding.UTF8(fmt.Sprintf(format, args...))))
}

// Complain shows an error and returns its exit code.
func (u *UI) Complain(err error) int {
	f := &message.Failure{Code: message.ExitFailed, What: err.Error()}
	errors.As(err, &f)
	if f.What == "" {
		return f.Code // the answer has said it
	}
	what, hint := f.What, f.Hint
	if f.Code == message.ExitInterrupted {
		what += ", " + u.Command
		hint = cmp.Or(hint, "it had no answer yet; run it again")
	}
	u.Note("error: %s", message.Cut(what, MostTalk))
	if hint != "" {
		u.Note("hint: %s", message.Cut(hint, MostTalk))
	}
	return f.Code
}

// UntilInterrupted is a context that ends with Ctrl-C or SIGTERM; a second one ends
// snug.
func UntilInterrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

const (
	// MostTalk is how long a line of an error or a hint gets, in bytes.
	MostTalk = 2000
)

// Build is what the Go toolchain wrote into this binary.
func Build() *finding.Build {
	d := &finding.Build{
		Head:    finding.NewHead(finding.KindVersion),
		Version: "devel",
		Go:      runtime.Version(),
		OS:      runtime.GOOS,
		Arch:    runtime.GOARCH,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		d.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			d.Commit = &s.Value
		case "vcs.modified":
			d.Changed = s.Value == "true"
		}
	}
	return d
}
