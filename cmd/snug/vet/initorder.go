// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var initorderAnalyzer = &analysis.Analyzer{
	Name:     "initorder",
	Doc:      "report GOMAXPROCS read while packages are initialised, before the program sets it",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      initOrder,
}

// setters are calls that set GOMAXPROCS, apart from runtime.GOMAXPROCS.
var setters = []string{maxprocsPath + "/maxprocs.Set", snugPath + ".Fit", snugPath + ".Watch",
	snugPath + "/adapt.Watch"}

// sideEffects are packages that set GOMAXPROCS when they are initialised.
var sideEffects = []string{maxprocsPath, snugPath + "/auto", snugPath + "/adapt/auto"}

func initOrder(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	var early []site // reads at package level and in init
	for _, at := range s.calls["runtime.GOMAXPROCS"] {
		if f := at.function(); s.reads(at.call()) && once(at) && (f == nil || f.Name.Name == "init") && !s.setsAgain(at) {
			early = append(early, at)
		}
	}
	if len(early) == 0 {
		return nil, nil
	}
	set := s.setLater()
	var unknown string
	if set == "" {
		unknown = s.setElsewhere()
	}
	for _, at := range early {
		switch {
		case set != "":
			s.report(at.node, "init-order",
				"GOMAXPROCS is read while the package is initialised, before "+set+
					" sets it: the program keeps the old value; read it when it is used")
		case unknown != "":
			s.report(at.node, "init-order-unknown",
				"GOMAXPROCS is read while the package is initialised, but "+unknown+
					", which the module requires, sets it and may be initialised later: import it here too, or read GOMAXPROCS when "+
					"it is used")
		}
	}
	return nil, nil
}

// setsAgain reports whether GOMAXPROCS is set to a number, for example the default of a
// flag.
func (s *source) setsAgain(at site) bool {
	return slices.ContainsFunc(s.arrivals(at, false).places, func(p site) bool {
		call := argument(p)
		return call != nil && s.callee(call) == "runtime.GOMAXPROCS"
	})
}

// setLater returns the call by which a function of this package other than init sets
// GOMAXPROCS, or "". The call runs after the package is initialised.
func (s *source) setLater() string {
	for _, at := range s.calls["runtime.GOMAXPROCS"] {
		if f := at.function(); f != nil && f.Name.Name != "init" && !s.reads(at.call()) {
			return "runtime.GOMAXPROCS in " + f.Name.Name
		}
	}
	for _, name := range setters {
		for _, at := range s.calls[name] {
			if f := at.function(); f != nil && f.Name.Name != "init" {
				return name[strings.LastIndexByte(name, '/')+1:] + " in " + f.Name.Name
			}
		}
	}
	return ""
}

// setElsewhere returns a package that sets GOMAXPROCS when it is initialised and whose
// module the go.mod of this package requires. The order in which packages that do not
// depend on each other are initialised depends on the whole program. It returns "" if
// there is no such module; if this package imports the package, which then comes first;
// and if this package imports other packages of its own module, one of which may import
// it.
func (s *source) setElsewhere() string {
	own := s.pass.Module
	if own == nil || s.imports(own.Path) || s.imports(sideEffects...) {
		return ""
	}
	_, mod, _ := s.module()
	if mod == nil {
		return ""
	}
	if mod.requires[maxprocsPath] {
		return maxprocsPath
	}
	if mod.requires[snugPath] {
		return snugPath + "/auto"
	}
	return ""
}
