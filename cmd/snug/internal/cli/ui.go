// SPDX-License-Identifier: Apache-2.0

package cli

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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Exit codes. Those of `snug run` are its own: see run.go.
const (
	exitFine        = 0
	exitFailed      = 1   // snug failed
	exitUsage       = 2   // it was used wrongly
	exitFinding     = 3   // what was asked to be fine is not
	exitInterrupted = 130 // Ctrl-C or SIGTERM, as a shell would say it
)

// failure is an error as it is shown: what went wrong and where, the cure, and
// the exit code.
type failure struct {
	code       int
	what, hint string
}

func (f *failure) Error() string { return f.what }

// failed is a failure of snug itself, or of what it looked at.
func failed(what, hint string) error { return &failure{exitFailed, what, hint} }

// usage is a command line that cannot be followed.
func usage(what, hint string) error { return &failure{exitUsage, what, hint} }

// ui is where commands answer and talk.
type ui struct {
	in       io.Reader
	out, err io.Writer
	getenv   func(string) string
	json     bool       // --json was given
	command  string     // that was run, as in "snug top"
	helped   error      // of writing a help text, which the flag library drops
	talking  sync.Mutex // servers say something from several goroutines
	shown    bool       // a status line stands on the terminal
}

// jsonFlag gives a command --json. Every command that answers has it.
func (u *ui) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&u.json, "json", false, "answer with one JSON document")
}

// answer prints a document.
func (u *ui) answer(d finding.Document) error {
	var b bytes.Buffer
	render := report.Text
	if u.json {
		render = report.JSON
	}
	if err := render(&b, d); err != nil {
		return err
	}
	return u.write(b.Bytes())
}

// write puts an answer on stdout.
func (u *ui) write(answer []byte) error {
	_, err := u.out.Write(answer)
	if err == nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return failed("cannot write the answer, "+reason(err), "free some room where stdout leads, or send it elsewhere")
}

// status shows what is being done, on a terminal; "" takes it away.
func (u *ui) status(text string) {
	u.talking.Lock()
	defer u.talking.Unlock()
	u.doing(text)
}

// doing is status for who talks already.
func (u *ui) doing(text string) {
	if f, ok := u.err.(*os.File); !ok || !terminal(f) {
		return
	}
	if text == "" {
		if u.shown {
			fmt.Fprint(u.err, "\r\x1b[K")
		}
		u.shown = false
		return
	}
	u.shown = true
	fmt.Fprint(u.err, "\r\x1b[Ksnug: "+report.Clean(text))
}

// terminal reports whether a file is one, or at least no pipe and no file.
func terminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// note is one line of talk.
func (u *ui) note(format string, args ...any) {
	u.talking.Lock()
	defer u.talking.Unlock()
	u.doing("")
	fmt.Fprintln(u.err, "snug: "+report.Clean(utf8Only(fmt.Sprintf(format, args...))))
}

// complain shows an error and returns its exit code.
func (u *ui) complain(err error) int {
	f := &failure{code: exitFailed, what: err.Error()}
	errors.As(err, &f)
	if f.what == "" {
		return f.code // the answer has said it
	}
	what, hint := f.what, f.hint
	if f.code == exitInterrupted {
		what += ", " + u.command
		hint = cmp.Or(hint, "it had no answer yet; run it again")
	}
	u.note("error: %s", cut(what, mostTalk))
	if hint != "" {
		u.note("hint: %s", cut(hint, mostTalk))
	}
	return f.code
}

// counted is a number of things: 1 run, 2 runs.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return strconv.Itoa(n) + " " + thing
}

// reason is an error without the path and the operation that the message of a
// path error repeats.
func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	case errors.Is(err, fs.ErrPermission):
		return "permission denied"
	}
	return err.Error()
}
