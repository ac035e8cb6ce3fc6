// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strconv"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/holders"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/profile/heldprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// alone refuses flags of CPU profiles beside those of the memory and the goroutines.
func alone(cmd *cobra.Command, args []string, both bool) error {
	if len(args) > 1 {
		return message.Usage(cmd.CommandPath()+": several targets", "--heap and --goroutines read one")
	}
	if both {
		return message.Usage("--heap and --goroutines together", "write one of them")
	}
	for _, name := range []string{"duration", "rate", "merge", "share"} {
		if cmd.Flags().Changed(name) {
			return message.Usage("--"+name+" is for CPU time", "leave it out: memory and goroutines are read once")
		}
	}
	return nil
}

// holdings answers what holds the memory of a target, or what its goroutines do.
func holdings(ctx context.Context, u *ui.UI, name string, heap bool, file, html string) error {
	s, err := one(name)
	if err != nil {
		return err
	}
	if s.PID == 0 {
		t, err := readHeld(ctx, s.Name, heap)
		if err != nil {
			return err
		}
		return t.answer(u, file, html)
	}
	pid := s.PID
	p, err := proc.Open(pid)
	if err != nil {
		return examine.LookFailure(strconv.Itoa(pid), err)
	}
	defer p.Close()
	target, program := process(p), p.First().Name
	if exe, _, err := p.Exe(); err == nil {
		program = path.Base(exe)
	}
	r, err := holders.OpenProcess(p, proc.NewBudget(ctx, holders.Budget, nil))
	if err != nil {
		return holdingFailure(pid, err)
	}
	defer r.Close()
	n := r.NewNames()
	if heap {
		h, err := r.Heap()
		if err == nil {
			err = p.Same()
		}
		if err != nil {
			return holdingFailure(pid, err)
		}
		d := &finding.Heap{Target: target, Next: doctorOf(pid), Source: h.Source, Rate: h.Rate, SinceStart: h.Early}
		return heaped(u, heapDocument(d, readHolders(h, n)), h.Profile(n, program), file, html)
	}
	g, err := r.Goroutines()
	if err == nil {
		err = p.Same()
	}
	if err != nil {
		return holdingFailure(pid, err)
	}
	return listed(u, goroutinesDocument(pid, target, g, n), g.Profile(n, program), file, html)
}

func holdingFailure(pid int, err error) error {
	what := err.Error() + ", pid " + strconv.Itoa(pid)
	switch {
	case errors.Is(err, gobin.ErrNotGo):
		return notGo(pid)
	case errors.Is(err, holders.ErrOff):
		return message.Failed(what,
			"import runtime/pprof or net/http/pprof and use its heap profile, and leave runtime.MemProfileRate alone; snug "+
				"profile --goroutines needs neither")
	case errors.Is(err, holders.ErrUnknown), errors.Is(err, gobin.ErrUnsupported):
		return message.Failed(what, "it needs a program that a release of Go from 1.18 to 1.27 built for amd64 or arm64")
	}
	return examine.LookFailure(strconv.Itoa(pid), err)
}

// maxHolders bounds the stacks in a document, and maxCalls their calls.
const (
	maxHolders = 100
	maxCalls   = 64
)

// doctorOf returns the next command: what holds memory or goroutines may be right, and its limits wrong.
func doctorOf(pid int) string { return "snug doctor " + strconv.Itoa(pid) }

// heapDocument completes a document by call stacks, largest first.
func heapDocument(d *finding.Heap, all []heldprof.Holder) *finding.Heap {
	d.Head, d.Stacks, d.Top = finding.NewHead(finding.KindHeap), len(all), []finding.Holder{}
	for i := range all {
		x := &all[i]
		d.Live, d.Objects, d.Samples = d.Live+x.Live, d.Objects+x.Objects, d.Samples+x.Samples
	}
	for i := range all[:min(len(all), maxHolders)] {
		x := &all[i]
		d.Top = append(d.Top, finding.Holder{
			Live: x.Live, Ratio: float64(x.Live) / float64(max(d.Live, 1)), Objects: x.Objects, Samples: x.Samples,
			Allocated: x.Allocated, Stack: stack(x.Calls),
		})
	}
	return d
}

// readHolders returns what was read of a process as a profile has it.
func readHolders(h *holders.Heap, n *holders.Names) []heldprof.Holder {
	var all []heldprof.Holder
	for _, x := range h.Holders(n) {
		all = append(all, heldprof.Holder{Calls: holders.Calls(x.Frames), Live: x.Live, Objects: x.Objects,
			Samples: x.Samples, Allocated: x.Allocated})
	}
	return all
}

func stack(calls []heldprof.Call) []finding.Call {
	list := []finding.Call{}
	for _, c := range calls[:min(len(calls), maxCalls)] {
		list = append(list, callOf(c))
	}
	return list
}

func callOf(c heldprof.Call) finding.Call {
	return finding.Call{Function: finding.UTF8(c.Function), File: finding.UTF8(c.File), Line: c.Line}
}

func goroutinesDocument(pid int, target string, g *holders.Goroutines, n *holders.Names) *finding.Goroutines {
	d := &finding.Goroutines{
		Head: finding.NewHead(finding.KindGoroutines), Target: target, Next: doctorOf(pid), Source: g.Source, Total: g.Total,
		Runtime: &g.Runtime, Unread: g.Unread, Left: g.Left,
		Stacks: len(g.Groups), States: []finding.GoroutineState{}, Groups: []finding.GoroutineGroup{},
	}
	states := map[string]int{}
	for i, group := range g.Groups {
		states[group.Words()] += group.Count
		if i >= maxHolders {
			continue
		}
		x := finding.GoroutineGroup{
			Count: group.Count, State: finding.UTF8(group.Words()), Stack: stack(holders.Calls(n.Calls(group.Calls))),
			Cut:   group.Cut,
			Start: finding.UTF8(n.Start(group.Start)), IDs: group.IDs,
		}
		if f, ok := n.Creator(group.Creator); ok {
			x.Creator = new(callOf(holders.CallOf(f)))
		}
		d.Groups = append(d.Groups, x)
	}
	d.States = byCount(states)
	return d
}

// byCount returns states with the number of their goroutines, most first.
func byCount(states map[string]int) []finding.GoroutineState {
	all := []finding.GoroutineState{}
	for state, count := range states {
		all = append(all, finding.GoroutineState{State: finding.UTF8(state), Count: count})
	}
	slices.SortStableFunc(all, func(a, b finding.GoroutineState) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.State, b.State))
	})
	return all
}

// heaped prints a heap profile and writes the requested files.
func heaped(u *ui.UI, d *finding.Heap, p *profile.Profile, file, html string) error {
	live := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "inuse_space" })
	wrong := cmp.Or(written(file, &d.Saved, p.Write),
		written(html, &d.Page, func(w io.Writer) error { return page.Heap(w, cpuprof.CallsOf(p, live), d) }))
	if d.Saved != nil {
		d.Next = "go tool pprof -top " + message.Quote(*d.Saved)
	}
	return cmp.Or(u.Answer(d), wrong)
}

// listed prints the goroutines and writes the requested files.
func listed(u *ui.UI, d *finding.Goroutines, p *profile.Profile, file, html string) error {
	wrong := cmp.Or(written(file, &d.Saved, p.Write),
		written(html, &d.Page, func(w io.Writer) error { return page.Goroutines(w, cpuprof.CallsOf(p, 0), d) }))
	if d.Saved != nil {
		d.Next = "go tool pprof -traces " + message.Quote(*d.Saved)
	}
	return cmp.Or(u.Answer(d), wrong)
}
