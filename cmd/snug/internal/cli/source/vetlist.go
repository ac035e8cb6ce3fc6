// SPDX-License-Identifier: Apache-2.0

package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/analysis"

	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// goCommand asks the go command about packages.
type goCommand struct {
	ctx  context.Context
	tags string
}

// goPackage is what the go command says of a package. Source: go help list.
type goPackage struct {
	Dir, ImportPath, Name string
	Standard              bool
	GoFiles, CgoFiles     []string // below Dir
	Module                *analysis.Module
	Export                string // the file with its types; "" where none was asked for
	Error                 *goError
	DepsErrors            []goError // of what it imports

	vetSource // see take
}

type goError struct{ Pos, Err string }

const listFields = "-json=Dir,ImportPath,Name,Standard,GoFiles,CgoFiles,Module,Export,Error,DepsErrors"

// list is go list with one more flag. What is wrong with one package is in its Error.
func (g *goCommand) list(flag string, patterns []string) ([]*goPackage, error) {
	args := []string{"list", "-e", flag, listFields}
	if g.tags != "" {
		args = append(args, "-tags="+g.tags)
	}
	out, said, err := g.run(append(append(args, "--"), patterns...))
	if err != nil {
		return nil, listFailure(said, err)
	}
	var all []*goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := &goPackage{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, message.Failed("cannot vet, the go command gives no answer that can be read: "+firstLine(err.Error()), "go version has to say go1.23 or later")
		}
		all = append(all, p)
	}
	if len(all) == 0 {
		return nil, message.Failed("cannot vet, no package, "+strings.Join(patterns, " "), "./... are those below this directory")
	}
	return all, nil
}

// run runs the go command. An interrupt ends it too.
func (g *goCommand) run(args []string) (stdout []byte, stderr string, err error) {
	cmd := exec.CommandContext(g.ctx, "go", args...)
	cmd.Cancel = func() error {
		if cmd.Process.Signal(os.Interrupt) != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 5 * time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err = cmd.Run()
	if g.ctx.Err() != nil {
		err = vetInterrupted()
	}
	return out.Bytes(), said.String(), err
}

// vetInterrupted is what is said after Ctrl-C or SIGTERM.
func vetInterrupted() error {
	return &message.Failure{Code: message.ExitInterrupted, What: "interrupted", Hint: "no file was changed; run it again, or with fewer packages, which take less time"}
}

// listFailure is why the go command failed, in the first of its words that say so.
func listFailure(said string, err error) error {
	var f *message.Failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, exec.ErrNotFound):
		return message.Failed("there is no go command, PATH", "install Go, or put its bin directory on PATH")
	}
	said = strings.ReplaceAll(said, "errors parsing go.mod:\n", "errors parsing go.mod: ")
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "go: downloading") {
			return vetFailure(line)
		}
	}
	return vetFailure(message.Reason(err))
}

// failure is why a package cannot be had.
func (p *goPackage) failure() error { return vetFailure(firstLine(p.Error.Err)) }

// vetFailure is what the go command says, and what may help.
func vetFailure(said string) error {
	said = strings.TrimPrefix(said, "go: ")
	hint := "go list with the same packages says more"
	switch {
	case strings.Contains(said, "GOCACHE is not defined"):
		hint = "set HOME, or GOCACHE to a directory that can be written"
	case strings.Contains(said, "module cache not found"):
		hint = "set HOME, or GOMODCACHE to a directory that can be written"
	case strings.Contains(said, "go.mod file not found"), strings.Contains(said, "does not contain main module"):
		hint = "run it in the directory of a module, below its go.mod"
	case strings.Contains(said, "flag provided but not defined"), strings.Contains(said, "invalid value"):
		hint = "the go command has to be that of Go 1.23 or later"
	}
	return message.Failed("cannot vet, "+said, hint)
}

// newer is what to say when the go command is of a newer release than the one that snug
// was built with; nil when it is not.
func (g *goCommand) newer() error {
	out, _, err := g.run([]string{"env", "GOVERSION"})
	if with := strings.TrimSpace(string(out)); err == nil && newerGo(with) {
		return message.Failed(builtWith(with), "go install github.com/snug-go/snug/cmd/snug@latest with that version of Go")
	}
	return nil
}

// chunks parts paths into command lines that every system takes.
func chunks(paths map[string]bool) [][]string {
	most := 1 << 20
	if runtime.GOOS == "windows" {
		most = 24 << 10
	}
	var all [][]string
	room := 0
	for _, p := range slices.Sorted(maps.Keys(paths)) {
		if room -= len(p) + 1; room < 0 {
			room = most
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], p)
	}
	return all
}

// firstLine is the first line of a text that says something.
func firstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return line
		}
	}
	return text
}
