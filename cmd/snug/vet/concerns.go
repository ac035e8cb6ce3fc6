// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"go/constant"
	"go/token"
	"go/types"
)

// marks are the words without one of which no analyzer but ballast and goline has
// anything to say of a file.
var marks = [][]byte{
	[]byte("NumCPU"), []byte("GOMAXPROCS"), []byte("GOMEMLIMIT"), []byte("GOGC"), []byte("GODEBUG"),
	[]byte("SetGCPercent"), []byte("SetMemoryLimit"), []byte("ReadMemStats"), []byte("gctuner"),
	[]byte(maxprocsPath), []byte(memlimitPath), []byte("snug:ignore"),
}

// Concerns tells whether there may be something to find in a Go file, by its text alone. A
// package none of whose files it is true for needs no types: nothing can be found in it
// but the go line of its module, for which the clauses before the first declaration and
// the name of the package are enough.
func Concerns(text []byte) bool {
	for _, m := range marks {
		if bytes.Contains(text, m) {
			return true
		}
	}
	return setsOther(text) || makesLarge(text)
}

// setsOther tells whether a variable of the environment is set by a name that is not
// written there: a constant of another package may be that of a knob.
func setsOther(text []byte) bool {
	for {
		_, after, ok := bytes.Cut(text, []byte(".Setenv("))
		if !ok {
			return false
		}
		if name := bytes.TrimLeft(after, " \t\r\n"); len(name) > 0 && name[0] != '"' && name[0] != '`' {
			return true
		}
		text = after
	}
}

// makesLarge tells whether a slice of bytes is made that may be a ballast: one that is
// assigned to what is declared elsewhere, or made in a file that keeps something alive.
func makesLarge(text []byte) bool {
	keeps := bytes.Contains(text, []byte("KeepAlive"))
	for {
		before, after, ok := bytes.Cut(text, []byte("make([]"))
		if !ok {
			return false
		}
		text = after
		for _, elem := range bytesOf {
			args, ok := bytes.CutPrefix(after, []byte(elem+","))
			if ok && (keeps || assigns(before)) && large(args) {
				return true
			}
		}
	}
}

// assigns tells whether a text ends in an assignment to what is declared elsewhere.
func assigns(before []byte) bool {
	before = bytes.TrimRight(before, " \t\r\n(")
	return bytes.HasSuffix(before, []byte("=")) && !bytes.HasSuffix(before, []byte(":=")) || bytes.HasSuffix(before, []byte(","))
}

// mostArgs is where the arguments of a make that is looked at end, in bytes.
const mostArgs = 4 << 10

// large tells whether the last of the arguments that a text begins with may be a number
// from which on a slice is a ballast.
func large(args []byte) bool {
	args = args[:min(len(args), mostArgs)]
	depth, from, to := 0, 0, -1
	for i := 0; i < len(args) && to < 0; i++ {
		switch args[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				to = i
			}
		case ',':
			if depth == 0 {
				from = i + 1
			}
		}
	}
	if to < 0 {
		return false
	}
	size := args[from:to]
	if bytes.Contains(size, []byte("len(")) || bytes.Contains(size, []byte("cap(")) {
		return false // of no constant, or of a short one
	}
	v, err := types.Eval(token.NewFileSet(), nil, token.NoPos, string(size))
	if err != nil || v.Value == nil {
		return true // names, that may be of constants
	}
	n, exact := constant.Int64Val(constant.ToInt(v.Value))
	return exact && n >= leastBallast
}
