// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"context"
	"io"
	"path"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/profile/heldprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// heldFile is what a program wrote about what it holds: memory or goroutines, the other is nil.
type heldFile struct {
	target, name string
	profile      *profile.Profile // nil: printed goroutines
	heap         *heldprof.Heap
	goroutines   *heldprof.Goroutines
}

// heldIn returns what a profile says of what a program holds; nil if it is another profile.
func heldIn(target, name string, p *profile.Profile) *heldFile {
	t := &heldFile{target: target, name: name, profile: p}
	if h, ok := heldprof.HeapOf(p); ok {
		t.heap = h
		return t
	}
	if g, ok := heldprof.GoroutinesOf(p); ok {
		t.goroutines = g
		return t
	}
	return nil
}

// maxPrinted bounds printed goroutines, in bytes.
const maxPrinted = 512 << 20

// printed reads the goroutines that the runtime prints.
func printed(src *bounded.Source, name string) (*heldFile, error) {
	rest := &io.LimitedReader{R: src, N: maxPrinted + 1}
	g, err := heldprof.ParseDump(rest)
	if err == nil && rest.N == 0 {
		err = bounded.ErrTooMuch
	}
	if err != nil {
		return nil, examine.InputFailure(examine.InSource(err, src))
	}
	return &heldFile{target: finding.UTF8(src.Name), name: name, goroutines: g}, nil
}

// readHeld reads a profile of the memory, or of the goroutines, from a file or an address.
func readHeld(ctx context.Context, name string, heap bool) (*heldFile, error) {
	what, other := "goroutine", "heap"
	if heap {
		what, other = other, what
	}
	name = examine.ProfileAddress(name, what)
	src, err := examine.OpenInput(ctx, name, 0)
	if err != nil {
		return nil, examine.InputFailure(err)
	}
	defer src.Close()
	head, err := src.Head()
	if err != nil {
		return nil, examine.InputFailure(err)
	}
	var t *heldFile
	switch kind := bounded.Sniff(head); {
	case kind == bounded.Profile:
		p, err := cpuprof.Read(src)
		if err != nil {
			return nil, examine.InputFailure(examine.InSource(err, src))
		}
		t = heldIn(finding.UTF8(src.Name), name, p)
	case !heap && (kind == bounded.Goroutines || kind == bounded.Text || kind == bounded.RuntimeLog):
		if t, err = printed(src, name); err != nil {
			return nil, err
		}
		if len(t.goroutines.Groups) == 0 {
			return nil, message.Failed(src.Name+": no printed goroutine in it",
				"use /debug/pprof/goroutine as it is or with ?debug=2, or what the program printed when it ended")
		}
	}
	if t == nil || heap != (t.heap != nil) {
		hint := "use /debug/pprof/" + what + " without ?debug=1, or what runtime/pprof wrote"
		if t != nil {
			hint = "it is a " + other + " profile: leave the flag out"
		}
		return nil, message.Failed(src.Name+": not a "+what+" profile", hint)
	}
	return t, nil
}

// asText reports whether a text is a profile in the form of ?debug=1.
func asText(head []byte) bool {
	return bounded.Sniff(head) == bounded.HeapText || bytes.HasPrefix(head, []byte("goroutine profile: total "))
}

// byProgram is the source of what a program wrote itself.
const byProgram = "written by the program"

// answer prints what was read and writes the requested files.
func (t *heldFile) answer(u *ui.UI, file, html string) error {
	next := ""
	if t.profile != nil {
		next = "go tool pprof -top " + message.Quote(t.name)
	}
	if h := t.heap; h != nil {
		d := heapDocument(&finding.Heap{Target: t.target, Next: next, Source: byProgram, Rate: h.Rate}, h.Holders)
		return heaped(u, d, t.profile, file, html)
	}
	g := t.goroutines
	d := &finding.Goroutines{
		Head: finding.NewHead(finding.KindGoroutines), Target: t.target, Next: next, Source: byProgram, Stacks: len(g.Groups),
		States: []finding.GoroutineState{}, Groups: []finding.GoroutineGroup{},
	}
	states := map[string]int{}
	for i := range g.Groups {
		x := &g.Groups[i]
		d.Total += x.Count
		states[x.State] += x.Count
		if i >= maxHolders {
			continue
		}
		group := finding.GoroutineGroup{Count: x.Count, State: finding.UTF8(x.State), Stack: stack(x.Calls), Cut: x.Cut,
			IDs: x.IDs}
		if len(x.Calls) > 0 {
			group.Start = finding.UTF8(x.Calls[len(x.Calls)-1].Function)
		}
		if x.IDs == nil {
			group.IDs = []uint64{}
		}
		if x.Creator.Function != "" {
			group.Creator = new(callOf(x.Creator))
		}
		d.Groups = append(d.Groups, group)
	}
	if g.Known {
		d.States = byCount(states)
	}
	p := t.profile
	if p == nil {
		p = g.Profile(path.Base(t.target))
	}
	return listed(u, d, p, file, html)
}
