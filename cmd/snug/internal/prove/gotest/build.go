// SPDX-License-Identifier: Apache-2.0

package gotest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Built is a test program as go test would start it.
type Built struct {
	Args []string // the program and its arguments
	Dir  string   // the directory of the package
	Env  []string
}

// BuildError reports a go test that started no benchmark, or several programs.
type BuildError struct {
	What string
	Cure string
}

func (e *BuildError) Error() string { return e.What }

// The arguments: snug go-test-program FILE PROGRAM [ARG...].
const childArg = "go-test-program"

// Build runs a go test command with this program as the one that starts what it built
// (-exec). So the go command itself decides about flags, directory and environment. The
// program is kept in dir. self is an executable that calls ChildMain; messages of the go
// command go to log. env are variables besides this process's, such as another GOOS.
func Build(ctx context.Context, self string, args []string, dir string, log io.Writer, env ...string) (*Built, error) {
	list := filepath.Join(dir, "started")
	at := 2
	if len(args) > 2 { // -C must be the first flag
		switch flag := strings.TrimPrefix(args[2], "-"); {
		case flag == "C" || flag == "-C":
			at = min(4, len(args))
		case strings.HasPrefix(flag, "C=") || strings.HasPrefix(flag, "-C="):
			at = 3
		}
	}
	cmd := exec.CommandContext(ctx, args[0],
		slices.Concat(args[1:at], []string{"-exec", quoted(self) + " " + childArg + " " + quoted(list)}, args[at:])...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var said bytes.Buffer // "ok PACKAGE" of programs that did nothing
	cmd.Stdout, cmd.Stderr, cmd.Env = &said, log, append(os.Environ(), env...)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		log.Write(said.Bytes())
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, &BuildError{"go test could not build the benchmarks",
				"its messages are above; the same command without snug must work first"}
		}
		return nil, &BuildError{"cannot run " + args[0] + ": " + err.Error(),
			"snug builds with the go command; or build elsewhere (go test -c), and measure ./PACKAGE.test -test.bench REGEXP"}
	}
	data, err := os.ReadFile(list)
	os.Remove(list) // it has the environment
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	lines := slices.Collect(bytes.Lines(data))
	switch {
	case len(lines) == 0:
		return nil, &BuildError{"go test started no test program: " + firstLine(said.String()),
			"name a package that has tests, and leave out -c, -n and -list"}
	case len(lines) > 1:
		return nil, &BuildError{fmt.Sprintf("go test started %d test programs, and a run is one", len(lines)),
			"name one package: go test -bench REGEXP ./PACKAGE"}
	}
	b := new(Built)
	if err := json.Unmarshal(lines[0], b); err != nil {
		return nil, err
	}
	return b, nil
}

// ChildMain keeps the test program that go test starts, instead of running it, if this
// process was started for that, and then does not return. Otherwise it does nothing.
func ChildMain() {
	if len(os.Args) < 4 || os.Args[1] != childArg {
		return
	}
	if err := keep(os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "snug: cannot keep the test program:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// keep copies a test program, because go test removes it, and notes how it was started.
func keep(list string, args []string) error {
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	b := Built{Dir: dir, Env: os.Environ()}
	for _, a := range args[1:] {
		switch flag, _, _ := strings.Cut(a, "="); {
		case flag == "-test.testlogfile" || flag == "-test.gocoverdir": // in a directory that go test removes
		case a == "-test.v=test2json": // of go test -json
			b.Args = append(b.Args, "-test.v=true")
		default:
			b.Args = append(b.Args, a)
		}
	}
	name := filepath.Join(filepath.Dir(list), filepath.Base(args[0]))
	b.Args = append([]string{name}, b.Args...)
	if err := copyFile(name, args[0]); err != nil {
		return err
	}
	line, err := json.Marshal(b)
	if err != nil {
		return err
	}
	// Programs of several packages may be started at the same time.
	f, err := os.OpenFile(list, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// quoted quotes a word as -exec splits them: there is no escape in quotes.
func quoted(s string) string {
	if strings.ContainsAny(s, " \t\n\"") {
		return "'" + s + "'"
	}
	if strings.Contains(s, "'") {
		return `"` + s + `"`
	}
	return s
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if line == "" {
		return "it printed nothing"
	}
	return line
}
