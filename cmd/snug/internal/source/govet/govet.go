// SPDX-License-Identifier: Apache-2.0

// Package govet runs the analyzers of package vet over packages: the go command loads
// them and runs snug as its vet tool, and what comes back is read here, and fixed.
package govet

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// Found is a finding in source, or in the go.mod or go.work of a program.
type Found struct {
	ID, File     string
	Line, Column int
	Message      string
	Fix          string // what the first fix does; "" = there is none
	Edits        []Edit // that fix; nil = it cannot be applied here
	Fixed        bool   // see Fix
}

// Edit replaces a part of a file.
type Edit struct {
	Filename string
	Start    int // in bytes, from the start of the file
	End      int
	New      string
}

// Run has the go command vet packages with tool, a snug. With an error there may be
// findings too: of the packages that compile.
func Run(ctx context.Context, tool string, patterns []string, tags string) ([]Found, error) {
	args := []string{"vet", "-vettool=" + tool, "-json", "-goline.silenced"}
	if tags != "" {
		args = append(args, "-tags="+tags)
	}
	out, err := goCommand(ctx, append(append(args, "--"), patterns...))
	if ctx.Err() != nil {
		return nil, Interrupted()
	}
	found, said, broken := read(out)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return nil, message.Failed("there is no go command, PATH", "install Go, or put its bin directory on PATH")
	case err != nil:
		return found, failure(ctx, said, err)
	}
	return found, broken
}

// Interrupted is what is said after Ctrl-C or SIGTERM.
func Interrupted() error {
	return &message.Failure{Code: message.ExitInterrupted, What: "interrupted", Hint: "no file was changed; run it again, or with fewer packages, which take less time"}
}

// goCommand runs the go command. An interrupt ends it too. Go 1.25 and older print what
// vet tools say on stderr, so that both are one text.
func goCommand(ctx context.Context, args []string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	return append(out.Bytes(), said.Bytes()...), err
}

// failure is why the go command failed, in the first of its words that say so, and what
// may help.
func failure(ctx context.Context, said string, err error) error {
	if with, err := goCommand(ctx, []string{"env", "GOVERSION"}); err == nil {
		if with := strings.TrimSpace(string(with)); newer(with) {
			return message.Failed(tooOld(with), "go install github.com/snug-go/snug/cmd/snug@latest with that version of Go")
		}
	}
	said = firstLine(said)
	if said == "" {
		said = message.Reason(err)
	}
	hint := "packages have to compile; go vet with the same packages shows every error"
	for _, h := range hints {
		if strings.Contains(said, h.words) {
			hint = h.hint
			break
		}
	}
	return message.Failed("cannot vet, "+said, hint)
}

// hints are what helps, by what the go command says.
var hints = []struct{ words, hint string }{
	{"GOCACHE is not defined", "set HOME, or GOCACHE to a directory that can be written"},
	{"module cache not found", "set HOME, or GOMODCACHE to a directory that can be written"},
	{"go.mod file not found", "run it in the directory of a module, below its go.mod"},
	{"does not contain main module", "run it in the directory of a module, below its go.mod"},
	{"flag provided but not defined", "the go command has to be that of Go 1.23 or later"},
	{"no packages to vet", "./... are those below this directory"},
}

// firstLine is the first line that says what is wrong.
func firstLine(said string) string {
	said = strings.ReplaceAll(said, "errors parsing go.mod:\n", "errors parsing go.mod: ")
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "go: "))
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "downloading") && !strings.HasPrefix(line, "warning: ") {
			return line
		}
	}
	return ""
}
