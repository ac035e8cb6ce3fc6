// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
)

// Bounds on what one run renders.
const (
	maxRendered  = 2000
	renderWithin = time.Minute // each
)

// renderAll renders the charts and kustomizations that were found, each with its own values. What fails is unknown,
// and does not hide the others. helm template fetches nothing: a chart whose dependencies are missing fails. A
// kustomization that names something remote is left out, because kustomize would fetch it.
func (l *Linter) renderAll() {
	u := &l.unrendered
	u.done, u.outputs, u.failed = map[string]bool{}, map[string]bool{}, map[string]string{}
	left := maxRendered
	render := func(dir, prefix, name string, args ...string) {
		if left--; left < 0 {
			u.failed[dir] = "more than " + strconv.Itoa(maxRendered) + " charts and kustomizations in one run"
			return
		}
		if slices.ContainsFunc(l.out, func(path string) bool {
			inside, err := filepath.Rel(dir, path)
			return err == nil && filepath.IsLocal(inside)
		}) {
			u.failed[dir] = envfiles.LinkOut
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), renderWithin)
		defer cancel()
		stdout, said, err := output(ctx, name, args)
		switch {
		case errors.Is(err, exec.ErrNotFound):
			u.failed[dir] = name + " is not in PATH"
		case stdout.full:
			u.failed[dir] = "the output of " + name + " has " + manifest.ErrTooLarge.Error()
		case strings.Contains(said, "helm dependency build"):
			u.failed[dir] = "dependencies are missing, and snug fetches none (helm dependency build does)"
		case err != nil:
			u.failed[dir] = name + " failed: " + finding.UTF8(klog.ReplaceAllString(lastWords(said, err), ""))
		default:
			path := prefix + ":" + dir
			u.done[dir], u.outputs[path] = true, true
			l.Sources = append(l.Sources, lintSource{Path: path, Manifest: l.batch.Parse(path, stdout.Bytes())})
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(u.charts)) {
		render(dir, "helm", "helm", "template", named(dir))
	}
	tool := []string{"kustomize", "build"}
	if _, err := exec.LookPath("kustomize"); err != nil {
		tool = []string{"kubectl", "kustomize"}
	}
	for _, dir := range u.kustomizations {
		if remote(dir, 20) {
			u.failed[dir] = "it names something remote, which is not fetched"
			continue
		}
		render(dir, "kustomize", tool[0], tool[1], named(dir))
	}
}

// named returns a directory such that no tool takes it for a flag, or a chart for one of a repository.
func named(dir string) string {
	if filepath.IsAbs(dir) || strings.HasPrefix(dir, ".") {
		return dir
	}
	return "." + string(filepath.Separator) + dir
}

var (
	farAway = regexp.MustCompile(`://|[?&]ref=|git@|(?m)^\s*-\s*["']?(?:github|gitlab|bitbucket)\.[a-z]+/|` +
		`(?m)^["']?helmCharts`)
	words   = regexp.MustCompile(`[^\s\[\]{},"']+`)
	klog    = regexp.MustCompile(`^[EF][0-9]{4} \S+ +[0-9]+ \S+\] ("command failed" err=)?`) // before what kubectl says
	remarks = regexp.MustCompile(`(?m)(?:^|\s)#.*$`)
)

// remote reports whether a kustomization, or one that it names, may name something remote; depth bounds how far it
// looks.
func remote(dir string, depth int) bool {
	for _, name := range kustomizationFiles {
		text, err := envfiles.Read(context.Background(), filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		text = remarks.ReplaceAllString(text, "")
		if err != nil || depth == 0 || farAway.MatchString(text) {
			return true
		}
		for _, word := range words.FindAllString(text, -1) {
			of := filepath.Join(dir, word)
			info, err := os.Stat(of)
			other := err == nil && info.IsDir() && filepath.Clean(of) != filepath.Clean(dir)
			if other && remote(of, depth-1) {
				return true
			}
		}
	}
	return false
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
	command := name + " " + strings.Join(args, " ")
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return message.Failed(name+": not found in PATH",
			"install it, or pipe in its output from elsewhere: "+command+" | snug check -")
	case stdout.full:
		return message.Failed("cannot read the output of "+name+": "+manifest.ErrTooLarge.Error(),
			"check its parts one by one")
	case err != nil:
		return message.Failed(of+": "+name+" failed: "+lastWords(said, err), command+" says more")
	}
	l.Inputs = append(l.Inputs, flag+" "+of)
	path := name + ":" + of
	l.Sources = append(l.Sources, lintSource{Path: path, Named: true, Manifest: l.batch.Parse(path, stdout.Bytes())})
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

// gaps returns the gaps to report for what was not rendered. What has the same reason is one gap.
func (u *unrendered) gaps() []finding.Gap {
	var all []finding.Gap
	add := func(dirs []string, one, many, flag string) {
		same := map[string][]string{}
		for _, dir := range dirs {
			if !u.done[dir] {
				kind, _, _ := strings.Cut(u.failed[dir], " failed: ") // each failure has words of its own
				same[kind] = append(same[kind], dir)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(same)) {
			dirs := same[kind]
			why := u.failed[dirs[0]]
			if len(dirs) > 1 && why != kind {
				why += ", the first of several"
			}
			at := finding.UTF8(dirs[0])
			said := one + "; to check its output: snug check " + flag + " " + message.Quote(at)
			if len(dirs) > 1 {
				at = finding.UTF8(common(dirs))
				said = strconv.Itoa(len(dirs)) + " " + many + "; to check their output: snug check --render " +
					message.Quote(at)
			}
			if why != "" {
				said, _, _ = strings.Cut(said, ";")
				said = why + ": " + said
			}
			all = append(all, finding.Gap{Field: finding.GapTemplates, File: at, Why: said})
		}
	}
	add(slices.Sorted(maps.Keys(u.charts)), "a chart: its templates and values are not manifests",
		"charts: their templates and values are not manifests", "--helm")
	add(u.kustomizations, "a kustomization: its files do not show what it patches and generates",
		"kustomizations: their files do not show what they patch and generate", "--kustomize")
	return all
}

// common returns the directory that holds all of dirs, which are not empty.
func common(dirs []string) string {
	dir := filepath.Dir(dirs[0])
	for slices.ContainsFunc(dirs, func(d string) bool { return !within(d, map[string]bool{dir: true}) }) {
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return dir
}

// origin returns where in the source of a template a finding of its output is, if that is certain: exactly one line of
// the source is the line of the output. Column is in bytes, from 1.
func (l *Linter) origin(f *lint.Found) (file string, at manifest.Pos, ok bool) {
	chart, of := strings.CutPrefix(f.Object.File().Name, "helm:")
	_, path, inside := strings.Cut(f.Object.Source, "/")
	if !of || !inside || !filepath.IsLocal(path) {
		return "", manifest.Pos{}, false
	}
	file = filepath.Join(chart, filepath.FromSlash(path))
	if l.templates == nil {
		l.templates = map[string][]string{}
	}
	lines, known := l.templates[file]
	if !known {
		text, _ := envfiles.Read(context.Background(), file)
		lines = strings.Split(text, "\n")
		l.templates[file] = lines
	}
	line := f.Object.File().Line(f.At.Line)
	want := strings.TrimSpace(line)
	for i, have := range lines {
		if want != "" && strings.TrimSpace(have) == want {
			if ok {
				return "", manifest.Pos{}, false
			}
			moved := strings.Index(have, want) - strings.Index(line, want)
			ok, at = true, manifest.Pos{Line: i + 1, Column: max(1, f.At.Column+moved)}
		}
	}
	return file, at, ok
}
