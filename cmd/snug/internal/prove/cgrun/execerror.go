// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// ExecError is a command that could not be executed.
type ExecError struct {
	Name string // as it was given
	Code int    // CodeNotFound or CodeCannotExec
	Err  error
	// Interpreter is the program that failed, if it is not the command itself: that
	// of its #! line, or the dynamic loader it was built for.
	Interpreter string
}

func (e *ExecError) Error() string {
	what := "command"
	if e.Interpreter != "" {
		what = "interpreter of " + e.Name
	}
	if e.Code == CodeNotFound {
		return fmt.Sprintf("%s: %s not found: %v", e.culprit(), what, e.Err)
	}
	return fmt.Sprintf("%s: %s cannot be executed: %v", e.culprit(), what, e.Err)
}

func (e *ExecError) culprit() string {
	if e.Interpreter == "" {
		return e.Name
	}
	if strings.HasSuffix(e.Interpreter, "\r") {
		return fmt.Sprintf("%q", e.Interpreter)
	}
	return e.Interpreter
}

func (e *ExecError) Unwrap() error { return e.Err }

// Hint returns what helps against the error, or "".
func (e *ExecError) Hint() string {
	switch {
	case strings.HasSuffix(e.Interpreter, "\r"):
		return "the #! line ends in a carriage return: give the script Unix line ends"
	case e.Interpreter != "" && e.Code == CodeNotFound:
		return "install that program, or correct the script's #! line; for a binary, take one built for this system's C " +
			"library"
	case errors.Is(e.Err, syscall.EISDIR):
		return "name a program; this is a directory"
	case errors.Is(e.Err, syscall.EACCES):
		return "make it executable (chmod +x); if it is, see whether it is on a noexec mount or below a directory that " +
			"this user cannot search"
	case errors.Is(e.Err, syscall.ENOEXEC):
		return "a script needs a first line such as #!/bin/sh, and a binary has to be built for this kind of machine"
	case errors.Is(e.Err, syscall.ELOOP):
		return "its symbolic links form a loop: link it to a real file"
	case errors.Is(e.Err, syscall.E2BIG):
		return "make the arguments or the environment shorter"
	case errors.Is(e.Err, syscall.ETXTBSY):
		return "it is open for writing: start it after it is closed"
	}
	return ""
}

// ExecFailed returns the *ExecError of a command: execve(2) returned err for file,
// the file of name. A relative file is relative to dir ("": the current directory).
// The kernel's error may be about another file; then Interpreter names it.
func ExecFailed(name, file, dir string, err error) error {
	e := &ExecError{Name: name, Code: CodeCannotExec, Err: err}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		e.Code = CodeNotFound
	}
	at := func(file string) string {
		if filepath.IsAbs(file) {
			return file
		}
		return filepath.Join(dir, file)
	}
	info, statErr := os.Stat(at(file))
	if statErr == nil && !info.Mode().IsRegular() && err == syscall.EACCES {
		if e.Err = errors.New("a special file is never executable"); info.IsDir() {
			e.Err = syscall.EISDIR
		}
	}
	interpreter := interpreterOf(at(file))
	if interpreter == "" {
		return e
	}
	// The interpreter is at fault only if a look at it gives the same error.
	info, statErr = os.Stat(at(interpreter))
	missing := e.Code == CodeNotFound && statErr != nil
	denied := errors.Is(err, fs.ErrPermission) &&
		(errors.Is(statErr, fs.ErrPermission) || statErr == nil && (info.IsDir() || info.Mode()&0o111 == 0))
	if missing || denied {
		e.Interpreter = interpreter
	}
	return e
}

// interpreterOf returns the program that the kernel starts for a file: that of a
// script's #! line, the loader of a dynamic ELF program, or "".
func interpreterOf(file string) string {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	f, err := os.Open(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 256)).ReadString('\n') // execve(2): BINPRM_BUF_SIZE
	if rest, ok := strings.CutPrefix(line, "#!"); ok {
		rest = strings.Trim(rest, " \t\n")
		if end := strings.IndexAny(rest, " \t"); end >= 0 {
			rest = rest[:end]
		}
		return rest
	}
	exe, err := gobin.ReadHeaders(f)
	if err != nil {
		return ""
	}
	for _, p := range exe.Programs {
		if p.Type == gobin.SegmentLoader {
			text, _ := io.ReadAll(io.NewSectionReader(f, int64(min(p.Off, 1<<62)), int64(min(p.Filesz, 4096))))
			return strings.TrimRight(string(text), "\x00")
		}
	}
	return ""
}
