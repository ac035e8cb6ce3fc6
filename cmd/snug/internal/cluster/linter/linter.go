// SPDX-License-Identifier: Apache-2.0

// Package linter lints the files and charts that a user names: it reads them, runs
// the rules of package lint, writes safe fixes, and returns the document.
package linter

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// Linter is one run of snug lint.
type Linter struct {
	Options
	Inputs   []string
	Sources  []lintSource
	Unknown  []finding.Gap
	result   lint.Result
	fixed    []lint.Found
	refused  map[lintKey]string // fixes that are left out, and why
	tries    int                // left to find out which fix to leave out
	unfixed  []string           // files that could not be written, and why
	batch    manifest.Batch
	writable map[string]bool // by path; set by Document

	out        []string // links out of the directories
	unrendered unrendered
	templates  map[string][]string // lines of sources of templates
}

// lintSource is one file, or the output of a tool.
type lintSource struct {
	Path     string
	Named    bool           // by the user, not found in a directory
	root     string         // the directory that is checked; "" = the working directory
	writable bool           // it can be fixed
	packed   bool           // compressed with gzip
	Manifest *manifest.File // nil for drop-ins, which are part of their unit
	kind     envfiles.Kind  // of a file that is not a manifest
	text     []byte         // of a unit
	settings []envfiles.Found
	err      error
}

// Bounds on what is read in directories.
const (
	maxWalked    = 500_000
	maxManifests = 100_000
)

// Options configure a Linter.
type Options struct {
	In              io.Reader                        // the input "-"
	Note            func(format string, args ...any) // prints a note at once
	Titles          map[string]string                // by id
	Mend            bool                             // write safe fixes
	Helm, Kustomize string                           // a chart, a directory, for the tool of that name; "" = none
	Render          bool                             // render charts and kustomizations in directories
	Runes           bool                             // columns count code points, not bytes
	// Tree says that directories hold source: Dockerfiles and .env files are read too, but no testdata.
	Tree bool
}

// New returns a linter.
func New(o Options) *Linter { return &Linter{Options: o, batch: manifest.Batch{Frugal: true}} }

// Gather runs the tools and reads the files and directories in args.
func (l *Linter) Gather(args []string) error {
	if l.Helm != "" {
		if err := l.tool("--helm", l.Helm, "helm", "template", l.Helm); err != nil {
			return err
		}
	}
	if l.Kustomize != "" {
		if err := l.runKustomize(); err != nil {
			return err
		}
	}
	if len(args) == 0 && len(l.Sources) == 0 && !l.Tree {
		return message.Usage("nothing to check",
			"name files or directories, or - for stdin; or use --helm CHART or --kustomize DIR")
	}
	for i, a := range args {
		if a == "-" && slices.Contains(args[:i], a) {
			return message.Usage("-: stdin is named twice", "it can be read once")
		}
		l.Inputs = append(l.Inputs, finding.UTF8(a))
		if a == "-" {
			file, err := l.batch.Read("-", l.In, 0)
			if err != nil {
				return message.Failed("cannot read stdin: "+err.Error(),
					"pipe manifests in: helm template ./chart | snug check -")
			}
			l.Sources = append(l.Sources, lintSource{Path: "-", Named: true, Manifest: file})
			continue
		}
		info, err := os.Stat(a)
		if err != nil {
			return message.Failed("cannot read "+a+": "+message.Reason(err), "name a file, a directory, or - for stdin")
		}
		if info.IsDir() {
			l.walk(a)
			continue
		}
		source := lintSource{Path: a, Named: true, root: filepath.Dir(a), writable: info.Mode().IsRegular()}
		l.Sources = append(l.Sources, source)
	}
	return l.read()
}

// Followed returns a directory such that filepath.WalkDir enters it even if it is a link.
func Followed(dir string) string {
	if info, err := os.Lstat(dir); err == nil && info.Mode()&os.ModeSymlink != 0 {
		return dir + string(filepath.Separator)
	}
	return dir
}

// walk adds the files below a directory that may be manifests.
func (l *Linter) walk(dir string) {
	entries, files := 0, 0
	dir = Followed(dir)
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			l.unread(path, message.Reason(err))
			return nil
		}
		if entries++; entries > maxWalked || files >= maxManifests {
			l.unread(dir, "too many files; the rest is not looked at")
			return fs.SkipAll
		}
		name := d.Name()
		if d.IsDir() {
			foreign := name == "vendor" || name == "node_modules" || l.Tree && name == "testdata"
			if path != dir && (strings.HasPrefix(name, ".") || foreign) {
				return fs.SkipDir
			}
			return nil
		}
		kind := kindOf(path)
		yes := kind == envfiles.Unit || l.Tree && kind != envfiles.None
		switch strings.ToLower(filepath.Ext(name)) {
		case ".yaml", ".yml", ".json":
			yes = true
		}
		switch {
		case d.Type()&fs.ModeSymlink != 0 && envfiles.Out(dir, path):
			if l.out = append(l.out, path); yes {
				l.isOut(path)
			}
		case yes && d.Type().IsRegular():
			files++
			l.Sources = append(l.Sources, lintSource{Path: path, root: dir, writable: true})
		case yes && !strings.HasPrefix(name, "."): // Emacs has a dangling link beside a file that it edits
			if _, err := os.Stat(path); err != nil {
				l.unread(path, message.Reason(err))
			} else if d.Type()&fs.ModeSymlink == 0 {
				l.unread(path, "not a regular file")
			}
		}
		return nil
	})
}

// unread notes what could not be read.
func (l *Linter) unread(path, why string) {
	l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapFindings, File: finding.UTF8(path), Why: why})
}

// isOut notes a file that is not read because a link leads out of what is checked.
func (l *Linter) isOut(path string) {
	l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapKnobs, File: finding.UTF8(path), Why: envfiles.LinkOut})
}

// read reads all files, in parallel on all Ps.
func (l *Linter) read() error {
	// A file may be named itself and be in a named directory.
	seen := map[string]bool{}
	l.Sources = slices.DeleteFunc(l.Sources, func(s lintSource) bool {
		path := filepath.Clean(s.Path)
		again := seen[path]
		seen[path] = true
		return again
	})
	next := make(chan *lintSource)
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for s := range next {
				s.read(&l.batch)
			}
		})
	}
	for i := range l.Sources {
		if s := &l.Sources[i]; s.Manifest == nil {
			next <- s
		}
	}
	close(next)
	all.Wait()
	l.batch.Release()
	for i := range l.Sources {
		s := &l.Sources[i]
		if s.err == nil {
			continue
		}
		why := strings.TrimPrefix(message.Reason(s.err), s.Path+": ")
		if s.Named {
			return message.Failed("cannot read "+s.Path+": "+why, "name a file, a directory, or - for stdin")
		}
		l.unread(s.Path, why)
	}
	l.units()
	l.envFiles()
	l.tools()
	if l.Render {
		l.renderAll()
	}
	return nil
}

// kindOf returns the kind of a file that is not a manifest, None for others. Compose files
// are read like manifests.
func kindOf(path string) envfiles.Kind {
	if manifest.DropIn(path) != "" {
		return envfiles.Unit
	}
	if kind := envfiles.KindOf(filepath.Base(path)); kind != envfiles.Compose {
		return kind
	}
	return envfiles.None
}

func (s *lintSource) read(batch *manifest.Batch) {
	if s.kind = kindOf(s.Path); s.kind != envfiles.None {
		text, err := envfiles.Read(context.Background(), s.Path)
		if s.err = err; err == nil && s.kind == envfiles.Unit {
			s.text, s.writable = []byte(text), false
		} else if err == nil {
			s.settings = envfiles.Judge(s.kind, envfiles.Parse(s.kind, text))
		}
		return
	}
	bounds := untrusted.Limits{Bytes: manifest.MaxBytes, Unpacked: manifest.MaxBytes}
	r, err := untrusted.Open(context.Background(), s.Path, bounds)
	if err != nil {
		s.err = err
		return
	}
	defer r.Close()
	size := int64(0)
	if info, err := os.Stat(s.Path); err == nil && !r.Packed {
		size = info.Size()
	}
	if s.Manifest, s.err = batch.Read(s.Path, r, size); r.Packed {
		s.packed, s.writable = true, false
	}
}

// Unread returns the error for files that could not be read; template sources do not count.
func Unread(gaps []finding.Gap) error {
	read := func(g finding.Gap) bool { return g.Field != finding.GapFindings }
	gaps = slices.DeleteFunc(slices.Clone(gaps), read)
	if len(gaps) == 0 {
		return nil
	}
	rest := ", or name the files to check; the rest has been looked at"
	hint := "mend it" + rest
	if n := len(gaps) - 1; n > 0 {
		hint = strconv.Itoa(n) + " more could not be read, see above; mend them" + rest
	}
	return message.Failed("cannot read "+gaps[0].File+": "+gaps[0].Why, hint)
}

// units merges units and their drop-ins.
func (l *Linter) units() {
	type unit struct {
		base    *lintSource
		dropIns []*lintSource
	}
	byPath, byRoot, byName := map[string]*unit{}, map[string]*unit{}, map[string][]*unit{}
	var all []*unit
	for i := range l.Sources {
		if s := &l.Sources[i]; s.text != nil && manifest.DropIn(s.Path) == "" {
			u := &unit{base: s}
			name := filepath.Base(s.Path)
			byPath[filepath.Clean(s.Path)], byName[name] = u, append(byName[name], u)
			if root, ok := manifest.SystemRoot(s.Path); ok {
				byRoot[filepath.Join(root, name)] = u
			}
			all = append(all, u)
		}
	}
	alone := map[string]*unit{}
	for i := range l.Sources {
		s := &l.Sources[i]
		name := manifest.DropIn(s.Path)
		if s.text == nil || name == "" {
			continue
		}
		// The unit is beside the drop-in's directory; or in the same file system tree, such as
		// a unit in usr/lib/systemd/system with a drop-in in etc/systemd/system; or the only
		// unit of that name.
		path := filepath.Join(filepath.Dir(filepath.Dir(s.Path)), name)
		u := byPath[path]
		if root, ok := manifest.SystemRoot(s.Path); u == nil && ok {
			u = byRoot[filepath.Join(root, name)]
		}
		if u == nil && len(byName[name]) == 1 {
			u = byName[name][0]
		}
		if u == nil {
			if u = alone[path]; u == nil {
				u = &unit{}
				alone[path], all = u, append(all, u)
			}
		}
		u.dropIns = append(u.dropIns, s)
	}
	for _, u := range all {
		slices.SortStableFunc(u.dropIns, func(a, b *lintSource) int {
			return cmp.Compare(filepath.Base(a.Path), filepath.Base(b.Path))
		})
		parts := u.dropIns
		if u.base != nil {
			parts = append([]*lintSource{u.base}, parts...)
		}
		var texts []manifest.Text
		for _, s := range parts {
			texts = append(texts, manifest.Text{Name: s.Path, Text: s.text})
		}
		parts[0].Manifest = manifest.ParseUnit(texts...)
	}
}

// envFiles reads the env files of services. The variables of a file that cannot be read are
// unknown.
func (l *Linter) envFiles() {
	at, tried := map[string]int{}, map[string]bool{}
	for i := range l.Sources {
		at[filepath.Clean(l.Sources[i].Path)] = i
	}
	for i := 0; i < len(l.Sources); i++ {
		f := l.Sources[i].Manifest
		if f == nil {
			continue
		}
		for _, path := range f.EnvFiles() {
			n, known := at[path]
			if tried[path] || len(tried) >= maxManifests || known && !l.Sources[n].mayBeVariables() {
				continue
			}
			tried[path] = true
			root := l.Sources[i].root
			if system, ok := manifest.SystemRoot(l.Sources[i].Path); ok {
				root = system
			}
			if envfiles.Out(root, path) {
				l.isOut(path)
				continue
			}
			text, err := envfiles.Read(context.Background(), path)
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
					l.unread(path, strings.TrimPrefix(message.Reason(err), path+": "))
				}
				continue
			}
			file := manifest.ParseEnvFile(manifest.Text{Name: path, Text: []byte(text)})
			if known {
				l.Sources[n].settings, l.Sources[n].Manifest, l.Sources[n].writable = nil, file, false
				continue
			}
			l.Sources = append(l.Sources, lintSource{Path: path, kind: envfiles.Dotenv, Manifest: file})
		}
	}
}

// mayBeVariables reports whether a file that has been read may be an env file: it was not
// recognized as anything else.
func (s *lintSource) mayBeVariables() bool {
	switch s.kind {
	case envfiles.Dotenv:
		return true
	case envfiles.None:
		return s.Manifest == nil || s.Manifest.Found == 0 && len(s.Manifest.Objects) == 0
	}
	return false
}
