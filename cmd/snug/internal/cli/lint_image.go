// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"os"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/kube/image"
	"github.com/snug-go/snug/cmd/snug/internal/kube/lint"
	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

const imageHint = "--image NAME=FILE: the image as manifests name it, with or without its registry and tag, or *; and its program, OCI layout or docker save archive"

// readImages finds out what programs images have.
func readImages(flags []string) (map[string]lint.Program, error) {
	all := map[string]lint.Program{}
	for _, f := range flags {
		name, file, ok := strings.Cut(f, "=")
		if !ok || name == "" || file == "" {
			return nil, usage("wrong value, --image "+shellQuote(f), imageHint)
		}
		p, err := readImage(file)
		if err != nil {
			return nil, failed("cannot read, "+reason(err)+", "+file, imageHint)
		}
		all[name] = p
	}
	return all, nil
}

// readImage looks at the program of an image, or at a file that is the program.
func readImage(file string) (lint.Program, error) {
	temp, err := os.CreateTemp("", "snug-image-*")
	if err != nil {
		return lint.Program{}, err
	}
	defer os.Remove(temp.Name())
	defer temp.Close()
	from := temp.Name()
	if _, err = image.Program(file, temp); errors.Is(err, image.ErrNone) {
		from, err = file, nil // the program itself
	}
	if err != nil {
		return lint.Program{}, err
	}
	e, err := goproc.ReadExe(from)
	if err != nil {
		return lint.Program{}, err
	}
	switch {
	case e.IsGo:
	case e.What == "a directory":
		return lint.Program{}, errors.New("a directory without an index.json, so no OCI layout")
	case strings.HasPrefix(e.What, "a script"):
		// It starts who knows what.
		return lint.Program{}, nil
	}
	return programOf(&e), nil
}

// programOf is what rules want to know of a program.
func programOf(e *goproc.Exe) lint.Program {
	p := lint.Program{Version: e.GoVersion, Automaxprocs: e.Automaxprocs, Automemlimit: e.Automemlimit}
	p.State = podpatch.NotGo
	if e.IsGo {
		p.State, p.Go = podpatch.IsGo, plan.Go{Minor: e.Minor, Blind: !e.ContainerAware()}
	}
	return p
}
