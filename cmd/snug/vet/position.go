// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/token"
	"path/filepath"
	"strings"
)

// Position returns the position in the source file itself. It follows //line directives only in
// files that cgo makes of source: elsewhere they name files that need not exist, such as a grammar
// on the machine of its author.
func Position(fset *token.FileSet, pos token.Pos) token.Position {
	at := fset.PositionFor(pos, false)
	if madeByCgo(at.Filename) {
		return fset.Position(pos)
	}
	return at
}

// madeByCgo reports whether a file is output of cgo: x.cgo1.go and _cgo_gotypes.go in a directory of
// the go command, or a file of its build cache, whose name is a hash.
func madeByCgo(name string) bool {
	return strings.HasSuffix(name, ".cgo1.go") || filepath.Base(name) == "_cgo_gotypes.go" || filepath.Ext(name) == ""
}
