// SPDX-License-Identifier: Apache-2.0

// Package lint finds values in Kubernetes manifests with which a Go program does not fit its
// container: variables that kill or mislead it, references that give an unexpected value,
// limits that change after it has started. Services of compose files and systemd units are
// containers as well: rules that do not need Kubernetes check them too.
//
// A rule is a function of one container and its context in the input. The rule's folder holds
// its text (rule.md, unless package vet or rules explains the same id), manifests in which it
// fires, with the lines marked, and manifests in which it does not. Rules do not fire on
// unknown values.
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

// Found is a finding at a position.
type Found struct {
	ID        string
	Severity  finding.Severity
	Object    *manifest.Object
	Container string // "" = the whole object or pod
	Role      pod.Role
	At        manifest.Pos
	Message   string // what is wrong here, one sentence
	Evidence  []finding.Evidence
	Fix       string          // what to write instead
	Edits     []manifest.Edit // the fix as edits; nil = a person has to make it

	pod  *manifest.Pod
	what any // the container, pod or object of the finding
}

// Rule is a rule that this package explains.
type Rule struct{ ID, Title, Text string }

// check is the code of a rule. id is what it reports, or the first id of several.
type check struct {
	id    string
	check func(*subject)
	where where
}

// where says in which files a rule applies.
type where uint8

const (
	everywhere where = iota
	kubernetes       // in manifests only
	services         // in compose files and units only
)

func (w where) covers(f manifest.Form) bool {
	return w == everywhere || (w == kubernetes) == (f == manifest.Kubernetes)
}

// checks lists the code of all rules of containers.
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
	{"sub-core-quota", subCore, everywhere},
	{"divisor-missing", noDivisor, kubernetes},
	{"memory-milli", milliBytes, kubernetes},
	{"request-above-procs", requestAboveProcs, kubernetes},
	{"hpa-cpu-unreachable", scaling, kubernetes},
}

// shared lists the ids of rules that package vet or rules explains.
var shared = []string{
	"gomemlimit-malformed", "gomemlimit-tiny", "gogc-malformed", "gogc-zero", "gomaxprocs-malformed",
	"godebug-harmful", "godebug-no-quota", "gogc-off-alone", "ignore-without-reason", "gomemlimit-above-limit",
	"procs-above-quota", "sub-core-quota", "procs-above-affinity",
}

//go:embed */rule.md
var texts embed.FS

// Rules returns the rules that this package explains, by id.
func Rules() []Rule {
	var all []Rule
	names, _ := fs.Glob(texts, "*/rule.md")
	for _, name := range names {
		text, _ := fs.ReadFile(texts, name) // it is embedded
		title, body, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		all = append(all, Rule{
			ID: strings.TrimSuffix(name, "/rule.md"), Title: strings.TrimPrefix(title, "# "),
			Text: strings.TrimSpace(body) + "\n",
		})
	}
	return all
}

// IDs returns all ids that Check can report.
func IDs() []string { return slices.Clone(ids()) }

var ids = sync.OnceValue(func() []string {
	all := slices.Clone(shared)
	for _, r := range Rules() {
		all = append(all, r.ID)
	}
	slices.Sort(all)
	return all
})

// Result is the result of Check.
type Result struct {
	Found   []Found // by file, in the order of the text
	Ignored int     // number of silenced findings
	Left    int     // number of findings that Worst left out
}

// Check checks files together: a LimitRange in one counts for pods in another.
func Check(files []*manifest.File) Result { return Worst(files, 0) }

// Worst is Check that keeps at most that many findings, the most severe; 0 = all.
func Worst(files []*manifest.File, most int) Result {
	in := gather(files)
	in.most = most
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

// podChecks lists the rules of pods as a whole.
var podChecks = []check{
	{"pod-resources-empty", emptyResources, kubernetes},
	{"pod-limit-shared", sharedSum, kubernetes},
	{"ignore-without-reason", badIgnore, kubernetes},
}

// subject is a container with its context in the input.
type subject struct {
	in    *input
	o     *manifest.Object
	p     *manifest.Pod
	c     *manifest.Container // nil = the whole pod
	knobs map[string]*knob    // the variables in knobNames, as the container sees them
}

// noun returns the word for a subject.
func (s *subject) noun() string {
	if s.o.Form != manifest.Kubernetes {
		return "service"
	}
	return "container"
}

// report adds a finding. A zero at means the object.
func (s *subject) report(id string, severity finding.Severity, at manifest.Pos, message, fix string) *Found {
	f := Found{ID: id, Severity: severity, Object: s.o, At: at, Message: message, Fix: fix, pod: s.p, what: s.o}
	switch {
	case s.c != nil:
		f.Container, f.Role, f.what = s.c.Name, s.c.Role, s.c
	case s.p != nil:
		f.what = s.p
	}
	if s.in.most > 0 && len(s.in.found) >= s.in.most+s.in.most/4 {
		s.in.shed()
	}
	s.in.found = append(s.in.found, f)
	return &s.in.found[len(s.in.found)-1]
}

// edit adds an edit if ok.
func (f *Found) edit(e manifest.Edit, ok bool) {
	if ok {
		f.Edits = append(f.Edits, e)
	}
}

// severityOf returns the severity of a rule of package vet.
func severityOf(id string) finding.Severity { return finding.Severity(vet.Severity(id)) }

// shed drops silenced and repeated findings, and of the rest all but the most severe.
func (in *input) shed() {
	type key struct {
		file    *manifest.File
		at      manifest.Pos
		id      string
		message string
	}
	seen := map[key]bool{}
	in.found = slices.DeleteFunc(in.found, func(f Found) bool {
		k := key{f.Object.File(), f.At, f.ID, f.Message}
		if seen[k] {
			return true
		}
		seen[k] = true
		if in.silenced(&f) {
			in.ignored++
			return true
		}
		return false
	})
	if in.most > 0 && len(in.found) > in.most {
		slices.SortStableFunc(in.found, func(a, b Found) int {
			return cmp.Compare(b.Severity.Level(), a.Severity.Level())
		})
		in.left += len(in.found) - in.most
		clear(in.found[in.most:])
		in.found = in.found[:in.most]
	}
}

// finish returns the findings that are left, in order.
func (in *input) finish(files []*manifest.File) Result {
	agreed := in.agreed()
	in.shed()
	r := Result{Found: in.found, Ignored: in.ignored, Left: in.left}
	order := map[*manifest.File]int{}
	for i, f := range files {
		order[f] = i
	}
	for i := range r.Found {
		f := &r.Found[i]
		split := func(e manifest.Edit) bool { return e.Users() > max(1, len(agreed[e.Key()])) }
		if slices.ContainsFunc(f.Edits, split) {
			f.Edits = nil
		}
	}
	slices.SortStableFunc(r.Found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(order[a.Object.File()], order[b.Object.File()]),
			cmp.Compare(a.At.Line, b.At.Line), cmp.Compare(a.At.Column, b.At.Column))
	})
	return r
}

// agreed returns, for each edit of text that several containers share through aliases, the
// containers with a finding that wants it. Such an edit is made only if all of them want it.
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

// Described is a container of Kubernetes with the facts that an API server sees, which are
// without the contents of ConfigMaps.
type Described struct {
	Object    *manifest.Object
	Pod       *manifest.Pod
	Container *manifest.Container
	Facts     podpatch.Container
}

// Containers returns all containers in files, in their order. LimitRanges among the files
// count.
func Containers(files []*manifest.File) []Described {
	in := gather(files)
	var all []Described
	for _, f := range files {
		for _, o := range f.Objects {
			if o.Form != manifest.Kubernetes {
				continue
			}
			for _, p := range o.Pods {
				for _, c := range p.Containers {
					if c.Role != pod.Ephemeral {
						all = append(all, Described{o, p, c, newSubject(in, o, p, c).described()})
					}
				}
			}
		}
	}
	return all
}
