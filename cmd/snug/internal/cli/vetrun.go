// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// placed is a finding in source, and the edits that would mend it.
type placed struct {
	finding.Mistake
	edits []vetEdit
}

// vetPackages has the go command run snug over packages. With an error there may be
// findings too: of the packages that could be looked at.
func vetPackages(patterns []string, tags string) ([]placed, error) {
	self, err := ownPath()
	if err != nil {
		return nil, failed("cannot find its own program, "+reason(err), "go vet -vettool=PATH-OF-SNUG "+strings.Join(patterns, " "))
	}
	args := []string{"vet", "-vettool=" + self, "-json"}
	if tags != "" {
		args = append(args, "-tags="+tags)
	}
	cmd := exec.Command("go", append(append(args, "--"), patterns...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if errors.Is(err, exec.ErrNotFound) {
		return nil, failed("there is no go command, PATH", "install Go, or put its bin directory on PATH")
	}
	// Up to Go 1.24 the go command hands on what tools print with its own messages.
	documents, rest := split(stdout.Bytes())
	more, said := split(stderr.Bytes())
	found := gather(append(documents, more...))
	if err != nil {
		return found, vetFailure(rest+said, err)
	}
	return found, nil
}

// ownPath is the program as it was called, so that the one that the go command starts has
// the same name; else the file that is run.
func ownPath() (string, error) {
	if path, err := exec.LookPath(os.Args[0]); err == nil {
		return filepath.Abs(path)
	}
	return os.Executable()
}

// split parts JSON documents, which begin and end with a brace alone at the start of a
// line, from other lines.
func split(out []byte) (documents [][]byte, rest string) {
	var other strings.Builder
	var document []byte
	for line := range bytes.Lines(out) {
		bare := string(bytes.TrimRight(line, "\r\n"))
		switch {
		case document == nil && bare == "{}":
		case document == nil && bare == "{":
			document = slices.Clone(line)
		case document == nil:
			other.Write(line)
		default:
			document = append(document, line...)
			if bare == "}" {
				documents, document = append(documents, document), nil
			}
		}
	}
	return documents, other.String()
}

// gather reads what vet tools print with -json. The same place is reported again for a
// package with its tests, and a go.mod for every program of its module.
func gather(documents [][]byte) []placed {
	var all []placed
	seen := map[string]bool{}
	for _, text := range documents {
		var tree map[string]map[string]json.RawMessage
		if json.Unmarshal(text, &tree) != nil {
			continue
		}
		for _, id := range slices.Sorted(maps.Keys(tree)) {
			for _, by := range slices.Sorted(maps.Keys(tree[id])) {
				var found []vetDiagnostic
				if json.Unmarshal(tree[id][by], &found) != nil {
					continue
				}
				for _, d := range found {
					key := d.Posn + " " + d.Category
					if file, line, column, ok := position(d.Posn); ok && !seen[key] {
						seen[key] = true
						p := placed{Mistake: mistake(d.Category, file, line, &column, d.Message)}
						if len(d.Fixes) > 0 {
							p.Fix, p.Fixable, p.edits = d.Fixes[0].Message, true, d.Fixes[0].Edits
						}
						all = append(all, p)
					}
				}
			}
		}
	}
	return all
}

var posn = regexp.MustCompile(`^(.+):(\d+):(\d+)$`)

// position reads "file:line:column".
func position(text string) (file string, line, column int, ok bool) {
	m := posn.FindStringSubmatch(text)
	if m == nil {
		return "", 0, 0, false
	}
	line, err := strconv.Atoi(m[2])
	column, err2 := strconv.Atoi(m[3])
	return m[1], line, column, err == nil && err2 == nil
}

// vetFailure is why the go command failed, in the first of its words that say so.
func vetFailure(said string, err error) error {
	hint := "go vet with the same packages says more"
	said = strings.ReplaceAll(said, "errors parsing go.mod:\n", "errors parsing go.mod: ")
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(line)
		if text, ok := strings.CutPrefix(line, "snug: error: "); ok {
			return failed(text, "go install github.com/snug-go/snug/cmd/snug@latest with that version of Go")
		}
		if line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "go: downloading") {
			continue
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "vet: "), "go: ")
		if regexp.MustCompile(`\.go:\d+`).MatchString(line) {
			hint = "packages have to compile; go build shows every error"
		}
		return failed("go vet failed, "+line, hint)
	}
	return failed("go vet failed, "+reason(err), hint)
}
