// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"errors"
	"os"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// known lists the modules that Exe reports by name.
var known = []string{"go.uber.org/automaxprocs/", "github.com/KimMachineGun/automemlimit/", "github.com/snug-go/snug/"}

// OwnSetters returns the functions of a program that set GOMAXPROCS or GOMEMLIMIT when called,
// except those of modules that Exe reports. It finds them by their instructions, in a stripped
// program too, in some 10 ms for 10 MB of code. The result is empty if the file is not a Go
// program that snug can read.
func OwnSetters(path string) (found gobin.Setters, err error) {
	err = inspect(path, func(bin *gobin.File) { found = bin.Setters() })
	for _, list := range []*[]string{&found.GOMAXPROCS, &found.GOMEMLIMIT} {
		*list = slices.DeleteFunc(*list, func(name string) bool {
			// A copy in the program's own tree (vendor/) has a path before the name.
			return slices.ContainsFunc(known, func(module string) bool { return strings.Contains(name, module) })
		})
	}
	return found, err
}

// FitsItself reports whether a program imports snug/auto or snug/adapt/auto, which do at start what
// `snug run` would. It is false if snug cannot read the file.
func FitsItself(path string) (yes bool) {
	_ = inspect(path, func(bin *gobin.File) {
		yes = bin.Has("github.com/snug-go/snug/", "auto.init.0", "adapt/auto.init.0")
	})
	return yes
}

// inspect calls look with an executable, unless it is not a Go program that snug can read. The error is one of opening
// or reading it.
func inspect(path string, look func(*gobin.File)) error {
	// Stat before opening, as in ReadExe: opening a device may have an effect.
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return err
	}
	f, err := open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	bin, err := gobin.Open(f, info.Size())
	if errors.Is(err, gobin.ErrNotGo) || errors.Is(err, gobin.ErrUnsupported) {
		return nil
	}
	if err == nil {
		look(bin)
		err = bin.Err()
	}
	return err
}
