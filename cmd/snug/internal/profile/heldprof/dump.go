// SPDX-License-Identifier: Apache-2.0

package heldprof

import (
	"bufio"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// header is the first line of a goroutine (runtime/traceback.go, goroutineheader):
//
//	goroutine 18 [chan receive, 5 minutes, locked to thread]:
//	goroutine 18 gp=0xc000006c40 m=nil [select (no cases)]:
var header = lazy(`^goroutine ([0-9]{1,20}) (?:gp=[^\[\]]* )?\[([^\[\]]+)\].*:$`)

// place is the second line of a call: a file, a line and an offset.
var place = lazy(`^\t(.+):([0-9]{1,9})(?: \+0x[0-9a-f]+)?(?: .*)?$`)

// lazy returns an expression that is compiled when it is first used, and not at the start of every command.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

// createdBy begins the go statement, which is at the end of a stack.
const createdBy = "created by "

// ParseDump reads goroutines from the text that the runtime prints. Other lines, such as those of a log before
// it, are left out. Without a goroutine in it the result has no groups.
//
//	goroutine 18 [chan receive]:
//	main.worker(0xc000012345, {0x5a0e28, 0x3})
//		/src/main.go:12 +0x25
//	created by main.main in goroutine 1
//		/src/main.go:31 +0x5b
//
// The error is one of reading, or of a line above 1 MiB.
func ParseDump(r io.Reader) (*Goroutines, error) {
	d := dump{b: groups{at: map[string]int{}}}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		d.line(strings.TrimSuffix(lines.Text(), "\r"))
	}
	d.end()
	return &Goroutines{Groups: d.b.sorted(), Known: true}, lines.Err()
}

// dump is a dump as far as it was read.
type dump struct {
	b    groups
	now  *Group // nil outside of a goroutine
	last *Call  // waits for its place
}

func (d *dump) line(text string) {
	if m := header().FindStringSubmatch(text); m != nil {
		d.end()
		id, _ := strconv.ParseUint(m[1], 10, 64)
		if id == 0 {
			return // the stack of the runtime's own thread
		}
		state, _, _ := strings.Cut(m[2], ", ")
		d.now = &Group{Count: 1, State: state, IDs: []uint64{id}}
		return
	}
	if d.now == nil {
		return
	}
	if m := place().FindStringSubmatch(text); m != nil {
		if d.last != nil {
			d.last.File = m[1]
			d.last.Line, _ = strconv.Atoi(m[2])
			d.last = nil
		}
		return
	}
	d.last = nil
	switch name, creator := strings.CutPrefix(text, createdBy); {
	case text == "":
		d.end()
	case strings.HasPrefix(text, "...") && strings.HasSuffix(text, "frames elided..."):
		d.now.Cut = true
	case creator:
		name, _, _ = strings.Cut(name, " in goroutine ")
		d.now.Creator = Call{Function: name}
		d.last = &d.now.Creator
	default:
		// The arguments are in the last parentheses; a method's receiver is in others before them.
		open := strings.LastIndexByte(text, '(')
		if open <= 0 || !strings.HasSuffix(text, ")") || strings.ContainsAny(text[:open], " \t") &&
			!strings.Contains(text[:open], "[") {
			return // not a call, for example a register or a message
		}
		if len(d.now.Calls) == maxCalls {
			d.now.Cut = true
			return
		}
		d.now.Calls = append(d.now.Calls, Call{Function: text[:open]})
		d.last = &d.now.Calls[len(d.now.Calls)-1]
	}
}

// maxCalls bounds the calls of a goroutine; the runtime prints 100 unless it is changed.
const maxCalls = 1000

func (d *dump) end() {
	if d.now != nil {
		d.b.add(*d.now)
	}
	d.now, d.last = nil, nil
}
