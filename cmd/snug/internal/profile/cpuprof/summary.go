// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/pprof/profile"
)

// Source is the sampler. The runtime's own profiler samples only threads that have run a
// goroutine, so never the monitor thread, and misses some work between two goroutines
// (golang.org/issue/40435). With Go 1.22 to 1.27 it showed 9/10 of the scheduling that perf
// events showed in the same run, and for an HTTP service 3/4 of the collections
// (experiments/2026-11-21-profile).
type Source string

const (
	Perf         Source = "perf"
	RuntimePprof Source = "runtime/pprof"
	OtherSource  Source = "other"
)

// ErrNotCPU means that a profile is not of CPU time.
var ErrNotCPU = errors.New("not a CPU profile")

// Summary divides the CPU time of a profile into classes.
type Summary struct {
	Source     Source
	UserOnly   bool // a capture without time in the kernel
	CPUSeconds float64
	Samples    int64         // 0 = unknown
	Duration   time.Duration // wall time; 0 = unknown
	Shares     []Share       // classes with CPU time, largest first
	Top        []Func        // the largest functions of the program, at most maxTop
	Sites      []Site        // who asks the runtime for work, largest first
}

// Share is a part of the CPU time.
type Share struct {
	Class   Class
	Seconds float64
	Ratio   float64 // of all CPU time, 0 to 1
}

// Func is a function of the program or of a library.
type Func struct {
	Name string
	// Self is the CPU time of its own code and of small helpers of the runtime that
	// it calls (maps, copying), as a share of all CPU time, 0 to 1.
	Self float64
	// Caused is Self plus the work of the runtime and the kernel for it: allocation,
	// assists, system calls, locks.
	Caused float64
}

const maxTop = 20

// Scheduling are the classes of switching between goroutines.
var Scheduling = []Class{Sched, Timers}

// OverSizes are the classes that grow with GOMAXPROCS when the available CPU time does not.
var OverSizes = []Class{Sched, Timers, GCIdleMark, GCStop, Sysmon}

// gcWork are the classes that grow when the heap cannot: the CPU time that GOGC and
// GOMEMLIMIT trade for memory.
var gcWork = []Class{GCMark, GCAssist, GCSweep, GCScavenge, GCBarrier}

// allGC are the classes of collections, whatever makes them grow.
var allGC = append([]Class{GCIdleMark, GCStop}, gcWork...)

// Ratio returns the total share of classes, 0 to 1.
func (s *Summary) Ratio(classes ...Class) float64 {
	total := 0.0
	for _, share := range s.Shares {
		if slices.Contains(classes, share.Class) {
			total += share.Ratio
		}
	}
	return total
}

// OverSize returns the share of the classes that grow with a GOMAXPROCS that is too large:
// scheduling, timers, marking by idle Ps, stopping the world, the monitor.
func (s *Summary) OverSize() float64 { return s.Ratio(OverSizes...) }

// GC returns the share of the classes that grow with too little memory: marking, assists,
// sweeping, scavenging, write barriers. It excludes marking by idle Ps, which uses CPU time that
// nothing else needs.
func (s *Summary) GC() float64 { return s.Ratio(gcWork...) }

// AllGC returns the share of all classes of collections.
func (s *Summary) AllGC() float64 { return s.Ratio(allGC...) }

// Summarize classifies the samples of a profile. The error is ErrNotCPU if the profile is not
// of CPU time, or is a difference of profiles. A profile without samples has an empty summary.
func Summarize(p *profile.Profile) (*Summary, error) {
	s, err := summarize(p)
	if err == nil {
		s.Top = slices.Clone(s.Top[:min(len(s.Top), maxTop)])
	}
	return s, err
}

// summarize is Summarize with all functions in Top.
func summarize(p *profile.Profile) (*Summary, error) {
	value, err := cpuValues(p)
	if err != nil {
		return nil, err
	}
	s := &Summary{Source: sourceOf(p), Duration: time.Duration(max(p.DurationNanos, 0)), UserOnly: userOnly(p)}
	var byClass [len(classes)]float64
	type cost struct{ self, caused float64 }
	top := map[string]*cost{}
	sorter := newSorter()
	sites := &sites{sorter, map[siteKey]*siteCost{}}
	samples := 0.0
	for _, sample := range p.Sample {
		n, ns := value(sample)
		r, function := sorter.sort(sample)
		sites.add(sample, classes[r].class, n, ns)
		samples += n
		byClass[r] += ns
		s.CPUSeconds += ns / 1e9
		if function == nil {
			continue
		}
		name := CleanName(function.Name)
		c := top[name]
		if c == nil {
			c = &cost{}
			top[name] = c
		}
		c.caused += ns
		if r == ranks[User] {
			c.self += ns
		}
	}
	s.Samples = int64(min(samples, 1<<62))
	if s.CPUSeconds <= 0 {
		return s, nil
	}
	for i, ns := range byClass {
		if ns > 0 {
			s.Shares = append(s.Shares, Share{classes[i].class, ns / 1e9, ns / 1e9 / s.CPUSeconds})
		}
	}
	slices.SortStableFunc(s.Shares, func(a, b Share) int { return cmp.Compare(b.Seconds, a.Seconds) })
	for name, c := range top {
		s.Top = append(s.Top, Func{name, c.self / 1e9 / s.CPUSeconds, c.caused / 1e9 / s.CPUSeconds})
	}
	slices.SortStableFunc(s.Top, func(a, b Func) int {
		return cmp.Or(cmp.Compare(b.Self, a.Self), cmp.Compare(b.Caused, a.Caused), cmp.Compare(a.Name, b.Name))
	})
	s.Sites = sites.list(s.CPUSeconds * 1e9)
	return s, nil
}

// sorter classifies samples, and caches the result for each function.
type sorter struct {
	known map[*profile.Function]known
}

type known struct {
	rank       rank
	callback   bool // C calls back into Go here
	demand     Demand
	standard   bool // of the standard library
	connection bool // of package net
}

func newSorter() *sorter { return &sorter{map[*profile.Function]known{}} }

func (s *sorter) of(f *profile.Function) known {
	k, ok := s.known[f]
	if !ok {
		k = known{rankOf(f.Name), strings.HasPrefix(f.Name, "runtime.cgocallback"), demandOf(f.Name), isStandard(f.Name),
			packageOf(f.Name) == "net"}
		s.known[f] = k
	}
	return k
}

// unnamedRank is the rank of a location without a function.
var unnamedRank = ranks[Native]

// sort returns the class of a sample and its innermost function of the program; nil =
// none. Calls from C back into Go hide the call to C.
func (s *sorter) sort(sample *profile.Sample) (rank, *profile.Function) {
	best := rank(len(classes) - 1)
	var program *profile.Function
	for _, l := range sample.Location {
		if len(l.Line) == 0 {
			best = min(best, unnamedRank)
		}
		for _, line := range l.Line {
			if line.Function == nil {
				best = min(best, unnamedRank)
				continue
			}
			k := s.of(line.Function)
			if k.callback && best <= ranks[User] {
				return best, program
			}
			best = min(best, k.rank)
			if program == nil && k.rank == ranks[User] {
				program = line.Function
			}
		}
	}
	return best, program
}

// cpuValues returns a function for the number of samples and CPU nanoseconds of a
// sample. Profiles have both, or a count with a period.
func cpuValues(p *profile.Profile) (func(*profile.Sample) (n, ns float64), error) {
	count, cpu := -1, -1
	for i, t := range p.SampleType {
		switch {
		case cpu < 0 && t.Type == "cpu" && unitNanos[t.Unit] > 0:
			cpu = i
		case count < 0 && (t.Type == "samples" || t.Type == "sample") && t.Unit == "count":
			count = i
		}
	}
	period := 0.0
	if t := p.PeriodType; t != nil && t.Type == "cpu" && p.Period > 0 {
		period = float64(p.Period) * unitNanos[t.Unit]
	}
	if cpu < 0 && (count < 0 || period == 0) {
		return nil, fmt.Errorf("%w: it counts %s", ErrNotCPU, inWords(valueTypes(p)))
	}
	for _, s := range p.Sample {
		for _, i := range []int{cpu, count} {
			if i >= 0 && (i >= len(s.Value) || s.Value[i] < 0) {
				return nil, fmt.Errorf("%w: it has negative or missing values, like a difference of two profiles", ErrNotCPU)
			}
		}
	}
	unit := 0.0
	if cpu >= 0 {
		unit = unitNanos[p.SampleType[cpu].Unit]
	}
	return func(s *profile.Sample) (n, ns float64) {
		if count >= 0 {
			n = float64(s.Value[count])
		}
		if cpu >= 0 {
			return n, float64(s.Value[cpu]) * unit
		}
		return n, n * period
	}, nil
}

// valueTypes returns what the values of a profile's samples count, "cpu/nanoseconds".
func valueTypes(p *profile.Profile) []string {
	types := make([]string, len(p.SampleType))
	for i, t := range p.SampleType {
		types[i] = CleanName(t.Type + "/" + t.Unit)
	}
	return types
}

// inWords lists the first few of them.
func inWords(types []string) string {
	return cmp.Or(strings.Join(types[:min(len(types), 8)], ", "), "nothing")
}

var unitNanos = map[string]float64{"nanoseconds": 1, "microseconds": 1e3, "milliseconds": 1e6, "seconds": 1e9}

// sourceOf returns the sampler, by the comment that Capture writes or the shape that
// package runtime/pprof gives.
func sourceOf(p *profile.Profile) Source {
	for _, c := range p.Comments {
		if c == mixedComment {
			return OtherSource
		}
	}
	for _, c := range p.Comments {
		if strings.HasPrefix(c, perfComment) {
			return Perf
		}
	}
	if len(p.SampleType) == 2 && p.PeriodType != nil && p.PeriodType.Type == "cpu" && p.PeriodType.Unit == "nanoseconds" &&
		p.SampleType[0].Type == "samples" && p.SampleType[1].Type == "cpu" && p.SampleType[1].Unit == "nanoseconds" {
		return RuntimePprof
	}
	return OtherSource
}

// userOnly reports whether a profile is a capture without time in the kernel.
func userOnly(p *profile.Profile) bool {
	return slices.ContainsFunc(p.Comments,
		func(c string) bool { return strings.HasPrefix(c, perfComment) && strings.HasSuffix(c, userComment) })
}

// maxName is the maximum length of a name to show, in characters.
const maxName = 300

// CleanName makes a name from a file safe for a terminal or a page: without control
// characters, and not too long.
func CleanName(s string) string {
	if len(s) > maxName*utf8.UTFMax {
		s = s[:maxName*utf8.UTFMax]
	}
	s = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > maxName {
		s = string(r[:maxName-1]) + "…"
	}
	return s
}
