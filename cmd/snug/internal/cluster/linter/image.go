// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/image"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

const imageHint = "--image NAME=FILE: NAME is the image as in the manifests, with or without registry and tag, or *; " +
	"FILE is its program (ELF, Mach-O or PE), an OCI layout or a docker save archive, compressed with gzip or not"

// readImages reads the programs of images.
func (l *Linter) readImages() error {
	l.programs = map[string]lint.Program{}
	seen := map[string]bool{}
	for _, f := range l.Images {
		name, file, ok := strings.Cut(f, "=")
		if !ok || name == "" || file == "" {
			return message.Usage("wrong value, --image "+message.Quote(f), imageHint)
		}
		if seen[name] {
			return message.Usage("an image is named twice, --image "+message.Quote(name), imageHint)
		}
		seen[name] = true
		if name != "*" && !l.hasImage(name) {
			l.Note("note: no container has this image, --image %s", name)
		}
		p, why, err := l.readImage(file)
		if err != nil {
			return message.Failed("cannot read, "+message.Reason(err)+", "+file, imageHint)
		}
		if why != "" {
			why += "name the program itself: --image " + finding.UTF8(name) + "=FILE"
			l.Unknown = append(l.Unknown, finding.Gap{Field: "program", File: finding.UTF8(file), Why: why})
			continue
		}
		l.programs[name] = p
	}
	return nil
}

// hasImage reports whether a container has an image of this name.
func (l *Linter) hasImage(name string) bool {
	for _, f := range l.Manifests() {
		for _, o := range f.Objects {
			for _, p := range o.Pods {
				for _, c := range p.Containers {
					if slices.Contains(lint.ImageNames(c.Image), name) {
						return true
					}
				}
			}
		}
	}
	return false
}

// starters are names of programs that start another program. Whether they are Go programs
// says nothing about that one.
var starters = []string{
	"ash", "bash", "busybox", "catatonit", "dash", "docker-init", "dumb-init", "env", "gosu", "sh", "su-exec", "tini", "tini-static",
}

// readImage reads the program of an image, or a file that is the program. why says why the
// program is unknown, and what to do instead; "" = it is known.
func (l *Linter) readImage(file string) (p lint.Program, why string, err error) {
	const so = ", so neither a program nor an image"
	f, err := image.Open(file)
	if errors.Is(err, image.ErrZstd) {
		return p, message.Reason(err) + "; unpack it with skopeo copy oci:DIR docker-archive:FILE, or ", nil
	}
	if errors.Is(err, image.ErrNone) {
		e, err := goproc.ReadExe(file) // the program itself
		switch {
		case err != nil || e.Native():
			return programOf(&e), "", err
		case strings.HasPrefix(e.What, "a script"):
			return p, e.What + ", which starts another program; ", nil
		case e.What == "a directory":
			return p, "", errors.New("a directory without an index.json, so not an OCI layout")
		}
		return p, "", errors.New(e.What + so)
	}
	if err != nil {
		return p, "", err
	}
	defer f.Close()
	if f.Platforms > 1 {
		l.Note("note: an image for %d platforms, %s is checked, %s", f.Platforms, f.Platform, file)
	}
	if name := path.Base(f.Path); slices.Contains(starters, name) {
		return p, "an image that starts " + name + ", which starts another program; ", nil
	}
	e, err := goproc.ReadExeAt(f)
	switch {
	case err != nil || e.Native():
		return programOf(&e), "", err
	case strings.HasPrefix(e.What, "a script"):
		return p, "an image that starts " + e.What + ", which starts another program; ", nil
	}
	return p, "", errors.New("an image whose program " + f.Path + " is " + e.What)
}

// programOf returns the facts of a program that rules use.
func programOf(e *goproc.Exe) lint.Program {
	p := lint.Program{Version: e.GoVersion, Automaxprocs: e.Automaxprocs, Automemlimit: e.Automemlimit}
	p.State = podpatch.NotGo
	if e.IsGo {
		p.State, p.Go = podpatch.IsGo, plan.Go{Minor: e.Minor, Blind: !e.ContainerAware()}
	}
	return p
}
