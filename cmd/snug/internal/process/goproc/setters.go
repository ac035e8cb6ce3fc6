// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// known are the modules that Exe names: what they do is known.
var known = []string{"go.uber.org/automaxprocs/", "github.com/KimMachineGun/automemlimit/", "github.com/snug-go/snug/"}

// OwnSetters are the functions of the program in a file that set GOMAXPROCS or GOMEMLIMIT
// where they are called, but for those of modules that Exe names. They are found by their
// instructions, in a stripped program too, which takes some 10 ms for 10 MB of code. It is
// empty for what is no Go program of a kind that snug can read.
func OwnSetters(path string) gobin.Setters {
	// As ReadExe: to open a device may do something.
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return gobin.Setters{}
	}
	f, err := open(path)
	if err != nil {
		return gobin.Setters{}
	}
	defer f.Close()
	bin, err := gobin.Open(f, info.Size())
	if err != nil {
		return gobin.Setters{}
	}
	found := bin.Setters()
	for _, list := range []*[]string{&found.GOMAXPROCS, &found.GOMEMLIMIT} {
		*list = slices.DeleteFunc(*list, func(name string) bool {
			// Where it was copied into the program's own tree (vendor/), a path stands before.
			return slices.ContainsFunc(known, func(module string) bool { return strings.Contains(name, module) })
		})
	}
	return found
}
