// SPDX-License-Identifier: Apache-2.0

// Package linter lints the files and charts that a user names: it reads them, runs
// the rules of package lint, writes safe fixes, and returns the document.
package linter

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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
	Render          bool                             // render charts and kustomizations in directories, by helm and kustomize
	Runes           bool                             // columns count code points, not bytes
	Tree            bool                             // directories hold source: read Dockerfiles and .env files too, but no testdata
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
		return message.Usage("nothing to check", "name files or directories, or - for stdin; or use --helm CHART or --kustomize DIR")
	}
	for i, a := range args {
		if a == "-" && slices.Contains(args[:i], a) {
			return message.Usage("-: stdin is named twice", "it can be read once")
		}
		l.Inputs = append(l.Inputs, finding.UTF8(a))
		if a == "-" {
			file, err := l.batch.Read("-", l.In, 0)
			if err != nil {
				return message.Failed("cannot read stdin: "+err.Error(), "pipe manifests in: helm template ./chart | snug check -")
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
		l.Sources = append(l.Sources, lintSource{Path: a, Named: true, root: filepath.Dir(a), writable: info.Mode().IsRegular()})
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
			l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapFindings, File: finding.UTF8(path), Why: message.Reason(err)})
			return nil
		}
		if entries++; entries > maxWalked || files >= maxManifests {
			l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapFindings, File: finding.UTF8(dir), Why: "too many files; the rest is not looked at"})
			return fs.SkipAll
		}
		name := d.Name()
		if d.IsDir() {
			if path != dir && (strings.HasPrefix(name, ".") || name == "vendor" || name == "node_modules" || l.Tree && name == "testdata") {
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
		}
		return nil
	})
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
		l.Unknown = append(l.Unknown, finding.Gap{Field: finding.GapFindings, File: finding.UTF8(s.Path), Why: why})
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
	r, err := untrusted.Open(context.Background(), s.Path, untrusted.Limits{Bytes: manifest.MaxBytes, Unpacked: manifest.MaxBytes})
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

// runKustomize runs kustomize, or kubectl, which has it built in.
func (l *Linter) runKustomize() error {
	dir := l.Kustomize
	if _, err := exec.LookPath("kustomize"); err != nil {
		if _, err := exec.LookPath("kubectl"); err == nil {
			return l.tool("--kustomize", dir, "kubectl", "kustomize", dir)
		}
	}
	return l.tool("--kustomize", dir, "kustomize", "build", dir)
}

// tool runs one of the user's programs and adds its output.
func (l *Linter) tool(flag, of, name string, args ...string) error {
	if strings.HasPrefix(of, "-") {
		return message.Usage(flag+" "+message.Quote(of)+": wrong value", "name a chart or a directory")
	}
	stdout, said, err := output(context.Background(), name, args)
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return message.Failed(name+": not found in PATH", "install it, or pipe in its output from elsewhere: "+name+" "+strings.Join(args, " ")+" | snug check -")
	case stdout.full:
		return message.Failed("cannot read the output of "+name+": "+manifest.ErrTooLarge.Error(), "check its parts one by one")
	case err != nil:
		return message.Failed(of+": "+name+" failed: "+lastWords(said, err), name+" "+strings.Join(args, " ")+" says more")
	}
	l.Inputs = append(l.Inputs, flag+" "+of)
	l.Sources = append(l.Sources, lintSource{Path: name + ":" + of, Named: true, Manifest: l.batch.Parse(name+":"+of, stdout.Bytes())})
	return nil
}

// output runs one of the user's programs, and returns what it prints and says.
func output(ctx context.Context, name string, args []string) (stdout *limited, said string, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	stdout = new(limited)
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = stdout, &stderr
	if ctx.Done() != nil {
		cmd.WaitDelay = time.Second // for the output of what it leaves behind
	}
	err = cmd.Run()
	return stdout, stderr.String(), err
}

// limited keeps the output of a tool, up to the maximum size of a file.
type limited struct {
	bytes.Buffer
	full bool
}

func (b *limited) Write(p []byte) (int, error) {
	if b.Len()+len(p) > manifest.MaxBytes {
		b.full = true
		return 0, manifest.ErrTooLarge
	}
	return b.Buffer.Write(p)
}

// lastWords returns why a tool failed: the first line of its stderr that begins with
// "error", else the last line, else err.
func lastWords(said string, err error) string {
	last := message.Reason(err)
	for line := range strings.Lines(said) {
		if line = strings.TrimSpace(line); line != "" {
			last = line
			if strings.HasPrefix(strings.ToLower(line), "error") {
				break
			}
		}
	}
	return strings.TrimSuffix(last, ".")
}

// Unread returns the error for files that could not be read; template sources do not count.
func Unread(gaps []finding.Gap) error {
	gaps = slices.DeleteFunc(slices.Clone(gaps), func(g finding.Gap) bool { return g.Field != finding.GapFindings })
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
