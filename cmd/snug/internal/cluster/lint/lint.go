// SPDX-License-Identifier: Apache-2.0

// Package lint finds, in Kubernetes manifests, the values that make a Go program
// misfit its container: variables that kill it or mislead it, references that
// give something else than they seem to, limits that change behind its back.
// Services of compose files and units of systemd are containers as well: what
// does not take Kubernetes is looked for in them by the same rules.
//
// A rule is a function of one container and what the input says around it. Its
// folder holds what it means (rule.md, unless package vet or rules explains the
// same id), manifests in which it fires, with the lines marked, and manifests in
// which it keeps quiet. Where something is not known, rules keep quiet.
package lint

import (
	"cmp"
	"embed"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/manifest"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// Found is a mistake at a place.
type Found struct {
	ID        string
	Severity  finding.Severity
	Object    *manifest.Object
	Container string // "" = the object or the pod as a whole
	Role      pod.Role
	At        manifest.Pos
	Message   string // what is wrong here, one sentence
	Evidence  []finding.Evidence
	Fix       string          // what to write instead
	Edits     []manifest.Edit // that do it; nil = a person has to

	pod  *manifest.Pod
	what any // the container, pod or object that it is of
}

// Program is what is known of the program in an image.
type Program struct {
	podpatch.Program
	Version      string // of Go, as it writes it; "" = not known
	Automaxprocs string // its version, where it is linked in; "" = it is not
	Automemlimit string
}

// Rule is one kind of mistake that is explained here.
type Rule struct{ ID, Title, Text string }

// check is a rule's code. The id is that of what it reports, or the first of
// them.
type check struct {
	id    string
	check func(*subject)
	where where
}

// where is what a rule is for.
type where uint8

const (
	everywhere where = iota
	kubernetes       // what is said in manifests only
	services         // in compose files and units only
)

func (w where) covers(f manifest.Form) bool {
	return w == everywhere || (w == kubernetes) == (f == manifest.Kubernetes)
}

// checks are the rules' code, in the order in which they explain.
var checks = []check{
	{"env-value-type", valueType, kubernetes},
	{"gomemlimit-malformed", values, everywhere},
	{"gomaxprocs-divisor", procsDivisor, kubernetes},
	{"gomemlimit-divisor", memlimitDivisor, kubernetes},
	{"reference-wrong-resource", wrongResource, kubernetes},
	{"reference-other-container", otherContainer, kubernetes},
	{"reference-without-limit", without, kubernetes},
	{"gogc-off-alone", gogcOff, everywhere},
	{"gomemlimit-at-limit", atLimit, everywhere},
	{"pod-limit-shared", sharedLimit, kubernetes},
	{"stale-under-vpa", stale, kubernetes},
	{"env-duplicate", duplicates, kubernetes},
	{"automemlimit-unused", leftovers, everywhere},
	{"gomaxprocs-pins", pins, kubernetes},
	{"procs-above-quota", aboveLimit, everywhere},
	{"procs-above-affinity", aboveAffinity, services},
	{"gated-off", blind, everywhere},
	{"gomemlimit-missing", noMemlimit, everywhere},
	{"sub-core-quota", subCore, everywhere},
	{"divisor-missing", noDivisor, kubernetes},
}

// shared are ids of rules whose words belong to package vet or rules: the same
// mistake, seen elsewhere.
var shared = []string{
	"gomemlimit-malformed", "gomemlimit-tiny", "gogc-malformed", "gogc-zero", "gomaxprocs-malformed", "godebug-harmful", "godebug-no-quota",
	"gogc-off-alone", "ignore-without-reason", "gomemlimit-above-limit", "gomemlimit-missing", "procs-above-quota", "gated-off", "sub-core-quota",
	"automaxprocs-pins", "procs-above-affinity",
}

//go:embed */rule.md
var texts embed.FS

// Rules are the rules that are explained here, by id.
func Rules() []Rule {
	var all []Rule
	names, _ := fs.Glob(texts, "*/rule.md")
	for _, name := range names {
		text, _ := fs.ReadFile(texts, name) // it is embedded
		title, body, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		all = append(all, Rule{ID: strings.TrimSuffix(name, "/rule.md"), Title: strings.TrimPrefix(title, "# "), Text: strings.TrimSpace(body) + "\n"})
	}
	return all
}

// IDs are all ids that Check can give.
func IDs() []string { return slices.Clone(ids()) }

var ids = sync.OnceValue(func() []string {
	all := slices.Clone(shared)
	for _, r := range Rules() {
		all = append(all, r.ID)
	}
	slices.Sort(all)
	return all
})

// Result is what Check found.
type Result struct {
	Found   []Found // by file, in the order of the text
	Ignored int     // findings that a person has silenced
}

// Check looks at files together: what one says of another's pods counts.
// Programs are what is known of images, by their names or "*"; nil = nothing.
func Check(files []*manifest.File, programs map[string]Program) Result {
	in := gather(files)
	in.programs = programs
	for _, f := range files {
		for _, o := range f.Objects {
			in.object(o)
		}
		in.badComments(f)
	}
	return in.finish(files)
}

func (in *input) object(o *manifest.Object) {
	for i := range o.Data {
		in.configMap(o, &o.Data[i])
	}
	if len(o.Data) > 0 && o.Form == manifest.Kubernetes {
		badIgnore(&subject{in: in, o: o})
	}
	for _, p := range o.Pods {
		for _, c := range p.Containers {
			s := newSubject(in, o, p, c)
			for _, r := range checks {
				if r.where.covers(o.Form) {
					r.check(s)
				}
			}
		}
		if len(p.Containers) > 0 && o.Form == manifest.Kubernetes {
			s := &subject{in: in, o: o, p: p}
			for _, r := range podChecks {
				r.check(s)
			}
		}
	}
}

// podChecks are rules about a pod as a whole.
var podChecks = []check{
	{"pod-resources-empty", emptyResources, kubernetes},
	{"pod-limit-shared", sharedSum, kubernetes},
	{"ignore-without-reason", badIgnore, kubernetes},
}

// subject is a container, and what the input says around it.
type subject struct {
	in      *input
	o       *manifest.Object
	p       *manifest.Pod
	c       *manifest.Container // nil = the pod as a whole
	knobs   map[string]*knob    // the variables that Go knows, as the container sees them
	program Program
}

// noun is what a subject is called.
func (s *subject) noun() string {
	if s.o.Form != manifest.Kubernetes {
		return "service"
	}
	return "container"
}

// report adds a finding. Where at is nowhere it is the object's.
func (s *subject) report(id string, severity finding.Severity, at manifest.Pos, message, fix string) *Found {
	f := Found{ID: id, Severity: severity, Object: s.o, At: at, Message: message, Fix: fix, pod: s.p, what: s.o}
	switch {
	case s.c != nil:
		f.Container, f.Role, f.what = s.c.Name, s.c.Role, s.c
	case s.p != nil:
		f.what = s.p
	}
	s.in.found = append(s.in.found, f)
	return &s.in.found[len(s.in.found)-1]
}

// edit adds an edit that can be made.
func (f *Found) edit(e manifest.Edit, ok bool) {
	if ok {
		f.Edits = append(f.Edits, e)
	}
}

// severityOf is how bad a mistake is that package vet knows as well.
func severityOf(id string) finding.Severity {
	for _, c := range vet.Checks() {
		if c.ID == id {
			return finding.Severity(c.Severity)
		}
	}
	return finding.SeverityWarning
}

// finish drops what is silenced or said twice, and sorts the rest.
func (in *input) finish(files []*manifest.File) Result {
	var r Result
	order := map[*manifest.File]int{}
	for i, f := range files {
		order[f] = i
	}
	type key struct {
		file    *manifest.File
		at      manifest.Pos
		id      string
		message string
	}
	seen := map[key]bool{}
	agreed := in.agreed()
	for _, f := range in.found {
		k := key{f.Object.File(), f.At, f.ID, f.Message}
		if seen[k] {
			continue
		}
		seen[k] = true
		if in.silenced(&f) {
			r.Ignored++
			continue
		}
		if slices.ContainsFunc(f.Edits, func(e manifest.Edit) bool { return e.Users() > max(1, len(agreed[e.Key()])) }) {
			f.Edits = nil
		}
		r.Found = append(r.Found, f)
	}
	slices.SortStableFunc(r.Found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(order[a.Object.File()], order[b.Object.File()]), cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return r
}

// agreed are, of edits that change several places at once through aliases, the
// containers for which they are wanted: all have to want one.
func (in *input) agreed() map[any]map[any]bool {
	all := map[any]map[any]bool{}
	for i := range in.found {
		f := &in.found[i]
		for _, e := range f.Edits {
			if e.Users() < 2 || in.silenced(f) {
				continue
			}
			if all[e.Key()] == nil {
				all[e.Key()] = map[any]bool{}
			}
			all[e.Key()][f.what] = true
		}
	}
	return all
}
