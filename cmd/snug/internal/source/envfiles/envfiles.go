// SPDX-License-Identifier: Apache-2.0

// Package envfiles reads the variables that the runtime of Go knows (GOMAXPROCS,
// GOMEMLIMIT, GOGC, GODEBUG) from files that lie beside source: Dockerfiles, systemd
// units, .env and compose files. Nothing else of these files is kept, as they may hold
// secrets. The files are other people's: a setting that cannot be read as they mean it is
// left out, one that something else fills in later is unknown, and a file that cannot be
// read at all is said.
package envfiles

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// Setting is one variable in a file.
type Setting struct {
	Line        int // from 1
	Name, Value string
	Unknown     bool // something else fills the value in later
	// Stage counts from 1 what begins anew with a FROM, a service or a section: settings
	// of different stages are of different processes.
	Stage   int
	Ignores []string // ids that a comment on the line above silences, with a reason
}

// The limits of what is read: a file of settings is small, and a tree is somebody's
// checkout.
const (
	mostBytes   = 256 << 10
	mostEntries = 200_000
	mostFiles   = 5_000
)

// Kind is how a file is read.
type Kind int

const (
	None Kind = iota
	Dockerfile
	Unit    // of systemd
	Dotenv  // lines of NAME=VALUE
	Compose // YAML, of which only lines that set a variable are understood
)

// KindOf is how a file of that name is read; None when it is not.
func KindOf(name string) Kind {
	lower := strings.ToLower(name)
	switch {
	case lower == "dockerfile", strings.HasPrefix(lower, "dockerfile."), strings.HasSuffix(lower, ".dockerfile"),
		lower == "containerfile", strings.HasPrefix(lower, "containerfile."):
		if strings.HasSuffix(lower, ".go") || strings.HasSuffix(lower, ".md") || strings.HasSuffix(lower, ".dockerignore") {
			return None
		}
		return Dockerfile
	case strings.HasSuffix(lower, ".service"):
		return Unit
	case lower == ".env", strings.HasPrefix(lower, ".env."), strings.HasSuffix(lower, ".env"):
		return Dotenv
	case strings.HasSuffix(lower, ".yml"), strings.HasSuffix(lower, ".yaml"):
		base := strings.TrimSuffix(strings.TrimSuffix(lower, ".yml"), ".yaml")
		if base == "compose" || strings.HasPrefix(base, "compose.") || strings.HasPrefix(base, "docker-compose") {
			return Compose
		}
	}
	return None
}

// Parse reads a file of a kind. A text that is none, or too long to be one of settings,
// has none.
func Parse(kind Kind, text string) []Setting {
	if unfit(text) != nil {
		return nil
	}
	text = strings.TrimPrefix(text, "\ufeff") // a byte order mark, as editors on Windows write it
	switch kind {
	case Dockerfile:
		return dockerfile(text)
	case Unit:
		return unit(text)
	case Dotenv:
		return dotenv(text)
	case Compose:
		return compose(text)
	}
	return nil
}

// Found is a setting that does harm.
type Found struct {
	File string
	Line int
	vet.Problem
}

// Judge says what is wrong with the settings of a file.
func Judge(kind Kind, settings []Setting) []Found {
	last, bounded := 0, map[int]bool{}
	for _, s := range settings {
		last = max(last, s.Stage)
		if s.Name == "GOMEMLIMIT" && (s.Unknown || s.Value != "off" && s.Value != "") {
			bounded[s.Stage] = true
		}
	}
	var found []Found
	for _, s := range settings {
		if s.Unknown {
			continue
		}
		problems := vet.Knob(s.Name, s.Value)
		// Only the last stage of a Dockerfile is what runs; in the others it is the
		// compiler, which is done before the heap is large.
		if s.Name == "GOGC" && s.Value == "off" && !bounded[s.Stage] && (kind != Dockerfile || s.Stage == last) {
			problems = append(problems, vet.Problem{ID: "gogc-off-alone", Text: "GOGC=off without a GOMEMLIMIT beside it: nothing is ever collected, and the heap grows until the process is killed"})
		}
		for _, p := range problems {
			if !slices.Contains(s.Ignores, p.ID) {
				found = append(found, Found{Line: s.Line, Problem: p})
			}
		}
	}
	return found
}

// Skipped is a file or directory that was not read, or not to its end.
type Skipped struct {
	File string
	Why  string // without a full stop
}

// Scan judges the files in a directory, and with deep in those below it, as far as they
// belong to the same Go module and are neither hidden, vendored nor test data. It never
// waits for a file: what is none, such as a pipe, is skipped. A directory that is not
// there has no files. It stops when ctx ends.
func Scan(ctx context.Context, dir string, deep bool) (found []Found, skipped []Skipped) {
	skip := func(path, why string) { skipped = append(skipped, Skipped{path, why}) }
	entries, files := 0, 0
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			if path != dir || !errors.Is(err, fs.ErrNotExist) {
				skip(path, because(err))
			}
			return nil
		}
		if entries++; entries > mostEntries || files > mostFiles {
			skip(dir, fmt.Sprintf("more than %d files of settings or %d entries below it: the rest was not looked at", mostFiles, mostEntries))
			return fs.SkipAll
		}
		if d.IsDir() {
			if path != dir && (!deep || foreign(path, d.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		kind := KindOf(d.Name())
		if kind == None {
			return nil
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil // a link to a directory
		}
		files++
		text, err := Read(ctx, path)
		if err != nil {
			skip(path, because(err))
			return nil
		}
		for _, f := range Judge(kind, Parse(kind, text)) {
			f.File = path
			found = append(found, f)
		}
		return nil
	})
	return found, skipped
}

// foreign tells whether a directory is none of the module's own, as the go command sees
// it with "...".
func foreign(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "vendor" || name == "testdata" || name == "node_modules" {
		return true
	}
	_, err := os.Lstat(filepath.Join(path, "go.mod"))
	return err == nil
}

// Read is a file's text. Pipes and devices are refused before they are opened, and so are
// files of more than 256 KiB and such that are no text.
func Read(ctx context.Context, path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("no plain file")
	}
	f, err := bounded.Open(ctx, path, bounded.Limits{Bytes: mostBytes, Unpacked: mostBytes})
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		return "", err
	}
	return string(text), unfit(string(text))
}

// unfit is why a text cannot be a file of settings; nil when it can.
func unfit(text string) error {
	switch {
	case len(text) > mostBytes:
		return fmt.Errorf("more than %d KiB", mostBytes>>10)
	case strings.ContainsRune(text, 0):
		return errors.New("it holds a NUL byte, so it is no text in UTF-8")
	}
	return nil
}

// because is an error without the path, which stands beside it.
func because(err error) string {
	if of := errors.Unwrap(err); of != nil {
		return because(of)
	}
	return err.Error()
}

// knob tells whether a variable is one that the runtime reads.
func knob(name string) bool {
	return name == "GOMAXPROCS" || name == "GOMEMLIMIT" || name == "GOGC" || name == "GODEBUG"
}

// ignored is the id that a comment, without its mark, silences; nil when it is none.
func ignored(comment string) []string {
	if id, reason, ok := vet.Ignore(strings.TrimSpace(comment)); ok && reason {
		return []string{id}
	}
	return nil
}
