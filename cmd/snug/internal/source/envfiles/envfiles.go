// SPDX-License-Identifier: Apache-2.0

// Package envfiles reads the variables of the Go runtime (GOMAXPROCS, GOMEMLIMIT, GOGC, GODEBUG)
// from files beside source: Dockerfiles, systemd units, .env and compose files. It keeps nothing
// else of these files, because they may hold secrets. A setting whose meaning is not certain is
// left out, a setting that is filled in later is unknown, and a file that cannot be read is
// reported.
package envfiles

import (
	"context"
	"errors"
	"fmt"
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
	Unknown     bool // the value is filled in later
	// Stage counts from 1. A FROM, a service or a section begins a new stage: settings of
	// different stages belong to different processes.
	Stage   int
	Final   bool     // in a Dockerfile: it holds in the image that is made
	Ignores []string // ids that a comment on the line above silences, with a reason
}

// Bounds on what is read: a file of settings is small, but a tree may be any checkout.
const (
	maxBytes   = 256 << 10
	maxEntries = 200_000
	maxFiles   = 5_000
)

// Kind is the format of a file.
type Kind int

const (
	None Kind = iota
	Dockerfile
	Unit    // systemd unit
	Dotenv  // lines of NAME=VALUE
	Compose // YAML; only lines that set a variable are read
)

// KindOf returns the format of a file by its name; None = not read.
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

// Parse returns the settings in a file. A text that is not of this kind, or too long, has none.
func Parse(kind Kind, text string) []Setting {
	if unfit(text) != nil {
		return nil
	}
	text = strings.TrimPrefix(text, "\ufeff") // byte order mark, written by editors on Windows
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

// Found is a harmful setting.
type Found struct {
	File string
	Line int
	ID   string // of a vet.Check
	Text string // one sentence, without a full stop
	Fix  string // what to do; "" if that is unclear
}

// Judge returns the harmful settings of a file.
func Judge(kind Kind, settings []Setting) []Found {
	// lasts reports whether a setting is in force in the end: in a Dockerfile that of the image that it
	// makes, without later ones of the same name.
	lasts := func(i int) bool {
		if kind != Dockerfile {
			return true
		}
		return settings[i].Final && !slices.ContainsFunc(settings[i+1:],
			func(s Setting) bool { return s.Final && s.Name == settings[i].Name })
	}
	bounded := map[int]bool{} // by stage; those of one image are 0
	stageOf := func(s *Setting) int {
		if s.Final {
			return 0
		}
		return s.Stage
	}
	for i := range settings {
		if s := &settings[i]; s.Name == "GOMEMLIMIT" && (s.Unknown || s.Value != "off" && s.Value != "") {
			bounded[stageOf(s)] = true
		}
	}
	var found []Found
	for i := range settings {
		s := &settings[i]
		if s.Unknown {
			continue
		}
		problems := vet.Knob(s.Name, s.Value)
		// The other stages of a Dockerfile run the compiler, which ends before the heap is large.
		if s.Name == "GOGC" && s.Value == "off" && !bounded[stageOf(s)] && lasts(i) {
			problems = append(problems, vet.Problem{ID: "gogc-off-alone",
				Text: "GOGC=off without a GOMEMLIMIT: garbage is never collected, and the heap grows until the process is killed"})
		}
		// An ENV of the image holds in every container, whatever its CPU limit.
		constant := s.Name == "GOMAXPROCS" && kind == Dockerfile && lasts(i) && s.Value != "" && s.Value != "1" &&
			len(problems) == 0
		if constant {
			problems = append(problems, vet.Problem{ID: "gomaxprocs-constant", Text: "GOMAXPROCS=" + s.Value +
				" is the same in every container of this image, whatever its CPU quota"})
		}
		for _, p := range problems {
			if slices.Contains(s.Ignores, p.ID) {
				continue
			}
			f := Found{Line: s.Line, ID: p.ID, Text: p.Text}
			switch {
			case p.Fix != "":
				f.Fix = "write " + p.Fix
			case constant:
				// Not an edit: the image does not say which Go built the program.
				f.Fix = "delete GOMAXPROCS from this ENV; start a program built with Go before 1.26, " +
					"or whose go line is older than 1.25, with snug run"
			}
			found = append(found, f)
		}
	}
	return found
}

// Skipped is a file or directory that was not read completely.
type Skipped struct {
	File string
	Why  string // without a full stop
	Out  bool   // a link leads out of the directory
}

// Scan judges the files in a directory. With deep it also judges those in directories below that
// belong to the same Go module and are not hidden, vendored or test data. It skips what is not a
// regular file, such as a pipe, so it never blocks. A missing directory has no files. Scan stops
// when ctx ends.
func Scan(ctx context.Context, dir string, deep bool) (found []Found, skipped []Skipped) {
	skip := func(path, why string) { skipped = append(skipped, Skipped{path, why, why == LinkOut}) }
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
		if entries++; entries > maxEntries || files > maxFiles {
			skip(dir, fmt.Sprintf("more than %d files of settings or %d entries below it: the rest was not read",
				maxFiles, maxEntries))
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
		if d.Type()&fs.ModeSymlink != 0 && Out(dir, path) {
			skip(path, LinkOut)
			return nil
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

// foreign reports whether a directory does not belong to the module, by the rules of the go
// command for "...".
func foreign(path, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "vendor" || name == "testdata" ||
		name == "node_modules" {
		return true
	}
	_, err := os.Lstat(filepath.Join(path, "go.mod"))
	return err == nil
}

// LinkOut is why a file is not read: another's tree must not show what is beside it.
const LinkOut = "a link leads out of the directory that is checked"

// Out reports whether the links of a path lead out of a directory.
func Out(dir, path string) bool {
	var real [2]string
	for i, name := range []string{dir, path} {
		name, err := filepath.Abs(name)
		if err == nil {
			real[i], err = filepath.EvalSymlinks(name)
		}
		if err != nil {
			return false // there is nothing to read
		}
	}
	inside, err := filepath.Rel(real[0], real[1])
	return err != nil || !filepath.IsLocal(inside)
}

// Read returns the text of a file. It refuses pipes and devices before opening them, and also
// files of more than 256 KiB and files that are not text.
func Read(ctx context.Context, path string) (string, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	f, err := bounded.Open(ctx, path, bounded.Limits{Bytes: maxBytes, Unpacked: maxBytes})
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := f.All()
	if err != nil {
		return "", err
	}
	return string(text), unfit(string(text))
}

// unfit returns why a text cannot be a file of settings; nil = it can.
func unfit(text string) error {
	switch {
	case len(text) > maxBytes:
		return fmt.Errorf("more than %d KiB", maxBytes>>10)
	case strings.ContainsRune(text, 0):
		return errors.New("it holds a NUL byte, so it is not UTF-8 text")
	}
	return nil
}

// because returns an error without the path, which is shown beside it.
func because(err error) string {
	if of := errors.Unwrap(err); of != nil {
		return because(of)
	}
	return err.Error()
}

// knob reports whether the runtime reads a variable.
func knob(name string) bool {
	return name == "GOMAXPROCS" || name == "GOMEMLIMIT" || name == "GOGC" || name == "GODEBUG"
}

// ignored returns the ids that a comment, without its comment mark, silences; nil = none.
func ignored(comment string) []string {
	if id, reason, ok := vet.Ignore(strings.TrimSpace(comment)); ok && reason {
		return []string{id}
	}
	return nil
}
