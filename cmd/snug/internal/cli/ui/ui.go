// SPDX-License-Identifier: Apache-2.0

// Package ui prints answers, notes and errors for all commands. It does not depend on any
// command.
package ui

// The printing rules, all of them:
//
//   - stdout holds the answer and nothing else: one document, as text or, with
//     --json, as one line of JSON. Package report renders it, and it is written
//     at once, so that a failure leaves no partial answer.
//   - stderr holds everything else. Every line begins with "snug:", in lower case
//     and without a full stop.
//   - A failure is up to two lines: "snug: error: what, where" and, if there is a
//     fix, "snug: hint: the fix". What a check found is no failure of snug, so its line has no
//     "error:".
//   - No width: the output to a pipe and to a terminal has the same text. On a terminal, or
//     with --color always, words that say how bad something is are coloured. Long work shows
//     its progress on a terminal in a line of stderr that is overwritten, and elsewhere an
//     experiment prints a line once a minute.
//   - A reader that closes the pipe (head) is not a failure: the rest is dropped.
//   - Text from elsewhere (files, variables) is escaped if it could control a
//     terminal or is not UTF-8, and cut if it is long. message.Typed quotes what
//     the user typed.

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// UI holds the streams and the state that commands print with.
type UI struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	JSON     bool       // --json was given
	Program  string     // name of the program, such as "snug"
	Command  string     // command that ran, such as "snug top"
	Brief    bool       // -h was given: print a short help
	Helped   error      // error of writing a help text, which the flag library drops
	printing sync.Mutex // held while writing to Err; servers write from several goroutines
	shown    bool       // a status line is on the terminal
	reported time.Time  // when the status was last a line of its own
	color    string     // value of --color; "" = never
	answered bool       // something was written to stdout
}

// JSONFlag adds --json to the flags of a command. Every command that prints an answer has it.
func (u *UI) JSONFlag(flags *pflag.FlagSet) {
	flags.BoolVar(&u.JSON, "json", false, "answer with one JSON document")
}

// AsksJSON reports whether a command that has --json is asked for JSON by its arguments, as the
// flag library reads them: --json, --json=true, --json=0, and the last one wins. It is for an error
// in other flags, at which the library stops; otherwise is what it has read until then.
func AsksJSON(flags *pflag.FlagSet, args []string, otherwise bool) bool {
	if flags.Lookup("json") == nil {
		return otherwise
	}
	for _, a := range args {
		if a == "--" {
			break
		}
		name, value, has := strings.Cut(a, "=")
		if name != "--json" {
			continue
		}
		if !has {
			value = "true"
		}
		if json, err := strconv.ParseBool(value); err == nil {
			otherwise = json
		}
	}
	return otherwise
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
	if !u.JSON && u.coloured(u.Out) {
		return u.Write([]byte(paint(b.String())))
	}
	return u.Write(b.Bytes())
}

// Write writes an answer to stdout. A closed pipe is not an error.
func (u *UI) Write(answer []byte) error {
	u.answered = true
	_, err := u.Out.Write(answer)
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return message.Failed("cannot write the answer: "+message.Reason(err),
		"free some space where stdout goes, or redirect it elsewhere")
}

// Status shows on a terminal what is being done; "" removes it.
func (u *UI) Status(text string) {
	u.printing.Lock()
	defer u.printing.Unlock()
	u.status(text)
}

// status is Status for a caller that holds u.printing.
func (u *UI) status(text string) {
	if f, ok := u.Err.(*os.File); !ok || !terminal(f) {
		u.report(text)
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

// reportEvery is how often the status appears where it has no line of its own.
const reportEvery = time.Minute

// report prints the status as a line of its own, once a minute: a log shows that snug is
// alive, and is not filled.
func (u *UI) report(text string) {
	now := time.Now()
	switch {
	case text == "":
	case u.reported.IsZero():
		u.reported = now
	case now.Sub(u.reported) >= reportEvery:
		u.reported = now
		fmt.Fprintln(u.Err, "snug: "+message.Clean(text))
	}
}

// terminal reports whether a file is a character device, such as a terminal.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// Note prints one line to stderr.
func (u *UI) Note(format string, args ...any) {
	u.printing.Lock()
	defer u.printing.Unlock()
	u.status("")
	line := message.Clean(finding.UTF8(fmt.Sprintf(format, args...)))
	if u.coloured(u.Err) {
		line = paintLine(line)
	}
	fmt.Fprintln(u.Err, "snug: "+line)
}

// Complain prints an error and returns its exit code.
func (u *UI) Complain(err error) int {
	f := &message.Failure{Code: message.ExitFailed, What: err.Error()}
	errors.As(err, &f)
	if f.What == "" {
		return f.Code // the answer shows it
	}
	what, hint := f.What, f.Hint
	if f.Code == message.ExitInterrupted {
		what = u.Command + ": " + what
		hint = cmp.Or(hint, "there is no answer yet; run it again")
	}
	kind := "error: "
	if f.Code == message.ExitFinding {
		kind = "check: "
	}
	u.Note("%s%s", kind, message.Cut(what, MaxLine))
	if hint != "" {
		u.Note("hint: %s", message.Cut(hint, MaxLine))
	}
	if u.JSON && !u.answered {
		d := &finding.Error{Head: finding.NewHead(finding.KindError), Command: u.Command, Code: f.Code}
		d.Error, d.Hint = finding.UTF8(message.Cut(what, MaxLine)), finding.UTF8(message.Cut(hint, MaxLine))
		_ = u.Answer(d) // the error is what matters
	}
	return f.Code
}

// UntilInterrupted returns a context that ends on Ctrl-C or SIGTERM. A second signal ends
// snug.
func UntilInterrupted() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// MaxLine bounds a line of an error or a hint, in bytes.
const MaxLine = 2000
