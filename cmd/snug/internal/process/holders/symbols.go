// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// Names looks up calls, and keeps what it has found.
type Names struct {
	file  *gobin.File
	known map[uint64][]gobin.Frame
}

// NewNames returns the names of a program's calls.
func (r *Reader) NewNames() *Names { return &Names{r.file, map[uint64][]gobin.Frame{}} }

// at returns the frames at an address, innermost first; nil = unknown. The caller must not change
// them.
func (n *Names) at(pc uint64) []gobin.Frame {
	frames, ok := n.known[pc]
	if !ok {
		frames = n.file.Frames(nil, pc)
		n.known[pc] = frames
	}
	return frames
}

// Calls returns the frames of a group's calls as runtime/pprof shows them: without the wrappers
// that the compiler made.
func (n *Names) Calls(calls []uint64) []gobin.Frame {
	var out []gobin.Frame
	callee := ""
	for _, pc := range calls {
		for _, f := range n.at(pc) {
			if !f.Wrapper || shown(callee) {
				out = append(out, f)
			}
			callee = f.Function
		}
	}
	return out
}

// shown reports whether a wrapper that called a function is shown: it is if it panicked itself
// (runtime/traceback.go, elideWrapperCalling).
func shown(callee string) bool {
	switch callee {
	case "runtime.gopanic", "runtime.sigpanic", "runtime.panicwrap":
		return true
	}
	return false
}

// Site returns the frames of a site: each address is one call, and the last has those into which
// it was inlined. Innermost calls of the runtime are left out if others follow, as runtime/pprof
// does.
func (n *Names) Site(calls []uint64) []gobin.Frame {
	var out []gobin.Frame
	own := true // only calls of the runtime so far
	var hidden []gobin.Frame
	for i, pc := range calls {
		frames := n.at(pc)
		if len(frames) == 0 {
			continue
		}
		if i < len(calls)-1 {
			frames = frames[:1]
		}
		if own = own && ofRuntime(frames[0].Function); own {
			hidden = append(hidden, frames...)
			continue
		}
		out = append(out, frames...)
	}
	if len(out) == 0 {
		out = hidden
	}
	if n := len(out); n > 1 && out[n-1].Function == "runtime.goexit" {
		out = out[:n-1]
	}
	return out
}

func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/runtime/")
}

// Creator returns where goroutines were created. ok is false if nothing is known.
func (n *Names) Creator(pc uint64) (f gobin.Frame, ok bool) {
	if pc == 0 {
		return f, false
	}
	// The innermost function has the go statement. The runtime's own text names the one into which
	// it was inlined.
	frames := n.at(pc)
	if len(frames) == 0 {
		return f, false
	}
	return frames[0], true
}

// Start returns the first function of goroutines; "" = unknown.
func (n *Names) Start(pc uint64) string {
	name, _, _, _ := n.file.Func(pc)
	return name
}
