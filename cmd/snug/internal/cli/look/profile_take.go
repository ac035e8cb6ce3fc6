// SPDX-License-Identifier: Apache-2.0

package look

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// taken is the CPU profile of a target, or what it holds.
type taken struct {
	target  string
	profile *profile.Profile
	*cpuprof.Summary
	held *heldFile // nil: a CPU profile
}

// seconds returns the duration of the profile; nil = unknown.
func (t *taken) seconds() *float64 {
	if t.Duration <= 0 {
		return nil
	}
	return new(t.Duration.Seconds())
}

// takeAll takes the profiles of all targets at the same time, so that processes are sampled under
// the same conditions.
func takeAll(ctx context.Context, u *ui.UI, names []string, o cpuprof.Options) ([]*taken, error) {
	subjects := make([]examine.Subject, len(names))
	for i, name := range names {
		s, err := one(name)
		if err != nil {
			return nil, err
		}
		for _, other := range subjects[:i] {
			if other.PID == s.PID && (other.PID != 0 || other.Name == s.Name) {
				return nil, message.Usage(name+": the same target twice", "name another; snug ps lists the Go processes here")
			}
		}
		subjects[i] = s
	}
	all, errs := make([]*taken, len(names)), make([]error, len(names))
	var each sync.WaitGroup
	waits := 0
	for i, s := range subjects {
		if s.PID != 0 || examine.Address(s.Name) {
			waits++
		}
		each.Go(func() { all[i], errs[i] = take(ctx, s, o) })
	}
	if waits > 0 {
		u.Status("sampling " + units.Plural(waits, "target") + " for " + o.Duration.String() + "; Ctrl-C ends it early")
	}
	each.Wait()
	u.Status("")
	err := cmp.Or(errs...)
	for _, t := range all {
		if err == nil && t.held != nil && len(all) > 1 {
			err = examine.InputFailure(fmt.Errorf("%s: %w", t.target, cpuprof.ErrNotCPU))
		}
	}
	return all, err
}

// one resolves a name that must stand for one target.
func one(name string) (examine.Subject, error) {
	s, err := examine.Resolve(name)
	if err != nil {
		return examine.Subject{}, err
	}
	if len(s) > 1 {
		return examine.Subject{}, message.Usage(name+": several processes",
			"name one by its number: snug ps "+message.Quote(name)+" lists them")
	}
	return s[0], nil
}

// process returns the name of a process as a target.
func process(p *proc.Process) string {
	return "pid " + strconv.Itoa(p.Pid()) + " (" + finding.UTF8(p.First().Name) + ")"
}

// notGo returns the failure for a process that is not a Go program.
func notGo(pid int) error {
	p, err := proc.Open(pid)
	if err == nil {
		defer p.Close()
		err = examine.NotGoFailure(p)
	}
	return examine.LookFailure(strconv.Itoa(pid), err)
}

// take takes the profile of a target.
func take(ctx context.Context, s examine.Subject, o cpuprof.Options) (*taken, error) {
	if s.PID == 0 {
		return readProfile(ctx, s.Name, o)
	}
	t := &taken{}
	var err error
	if t.target, t.profile, err = capture(ctx, s.PID, o); err == nil {
		err = t.summarize()
	}
	return t, err
}

func (t *taken) summarize() (err error) {
	if t.Summary, err = cpuprof.Summarize(t.profile); err != nil {
		err = examine.InputFailure(fmt.Errorf("%s: %w", t.target, err))
	}
	return err
}

// capture samples a process.
func capture(ctx context.Context, pid int, o cpuprof.Options) (target string, _ *profile.Profile, err error) {
	p, err := proc.Open(pid)
	if err != nil {
		return "", nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	defer p.Close()
	target = process(p)
	p.Allow(proc.NewBudget(context.Background(), examine.Watching(o.Duration), nil))
	sym, err := examine.OpenSymbols(p)
	if errors.Is(err, gobin.ErrNotGo) {
		return "", nil, notGo(pid)
	}
	if err != nil {
		return "", nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	defer sym.Close()
	first := p.First()
	if err := examine.Stopped(&first, target, pid); err != nil {
		return "", nil, err
	}
	raw, err := cpuprof.Capture(ctx, pid, o)
	var denied *cpuprof.DeniedError
	switch {
	case errors.As(err, &denied):
		return "", nil, message.Failed(denied.Error(),
			"run it as root; or snug doctor "+strconv.Itoa(pid)+", which counts instead of sampling")
	case err != nil:
		return "", nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	if end := map[cpuprof.Ended]string{cpuprof.Execed: "became another program",
		cpuprof.Exited: "ended"}[raw.Ended]; end != "" {
		target = fmt.Sprintf("%s, which %s after %.1f s", target, end, raw.Duration.Seconds())
		if len(raw.Samples) == 0 {
			return "", nil, message.Failed(target+", without a sample", "profile a process that goes on: snug ps lists them")
		}
	}
	sampled, err := raw.Profile(sym)
	return target, sampled, cmp.Or(err, sym.Err())
}

// readProfile reads an existing profile, or printed goroutines.
func readProfile(ctx context.Context, name string, o cpuprof.Options) (*taken, error) {
	src, err := examine.OpenInput(ctx, name, o.Duration)
	if err != nil {
		return nil, examine.InputFailure(err)
	}
	defer src.Close()
	t := &taken{target: finding.UTF8(src.Name)}
	head, err := src.Head()
	switch {
	case err != nil:
		return nil, examine.InputFailure(err)
	case asText(head):
		return nil, message.Failed(src.Name+": a profile as text", "leave out ?debug=1")
	case bounded.Sniff(head) == bounded.Goroutines:
		t.held, err = printed(src, name)
		return t, err
	}
	if t.profile, err = cpuprof.Read(src); err != nil {
		return nil, examine.InputFailure(examine.InSource(err, src))
	}
	if t.held = heldIn(t.target, name, t.profile); t.held == nil {
		err = t.summarize()
	}
	return t, err
}

// sum adds up profiles.
func sum(all []*taken) (*taken, error) {
	var names []string
	var profiles []*profile.Profile
	for _, t := range all {
		names, profiles = append(names, t.target), append(profiles, t.profile)
	}
	p, err := cpuprof.Merge(profiles)
	if err != nil {
		return nil, message.Failed(strings.Join(names, ", ")+": "+err.Error(), "add up profiles of one tool")
	}
	s, err := cpuprof.Summarize(p)
	return &taken{target: "sum of " + units.List(names), profile: p, Summary: s}, err
}
