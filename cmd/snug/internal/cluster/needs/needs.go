// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Key names the containers of one name in all pods of a workload.
type Key struct {
	Namespace string `json:"namespace"`
	Workload  string `json:"workload"` // "Deployment/web"
	Container string `json:"container"`
}

// KeyOf returns the key of a container. A service of the node is a workload too. It is false if the workload is
// unknown, and for what else systemd runs on the node, such as a session.
func KeyOf(c *finding.Container) (Key, bool) {
	switch {
	case c.Unit != nil:
		return Key{Container: *c.Unit}, strings.HasSuffix(*c.Unit, ".service")
	case c.Namespace == nil || c.Pod == nil || c.Name == nil:
		return Key{}, false
	case c.Workload != nil:
		return Key{*c.Namespace, *c.Workload, *c.Name}, true
	}
	return Key{*c.Namespace, "Pod/" + Pattern(*c.Pod), *c.Name}, true
}

// Pattern stands for the workload of a pod if only the pod's name is known: it is what the names of all pods of the
// workload have in common. That is "web-*" for "web-0", which ends in a number, and for "web-x7k2p", which ends in
// random characters (k8s.io/apimachinery/pkg/util/rand, String). Other names stay as they are.
func Pattern(pod string) string {
	i := strings.LastIndexByte(pod, '-')
	last := pod[i+1:]
	number := last != "" && strings.Trim(last, "0123456789") == ""
	random := len(last) == 5 && strings.Trim(last, "bcdfghjklmnpqrstvwxz2456789") == ""
	if i > 0 && (number || random) {
		return pod[:i] + "-*"
	}
	return pod
}

// Workload is what was seen of the containers of a workload. A figure that was never read has an empty sketch.
type Workload struct {
	Key
	First time.Time `json:"first"`        // when it was first seen
	Last  time.Time `json:"last"`         // when it was last seen; weights are as of then
	Seen  float64   `json:"seen_seconds"` // in which at least one container was seen
	Every float64   `json:"interval_seconds"`

	Live      Sketch `json:"live_heap_bytes"` // what the last collection found in use
	Rest      Sketch `json:"go_rest_bytes"`   // held by Go beside objects
	Other     Sketch `json:"other_bytes"`     // in use, and not Go's, resident pages of its code with it
	Used      Sketch `json:"used_bytes"`      // that cannot be reclaimed, and resident pages of its code
	Allocated Sketch `json:"allocated_bytes"` // a second
	CPU       Sketch `json:"used_cores"`      // by its Go processes

	Counts
	Throttle Share  `json:"throttled"` // periods
	Has      Has    `json:"has"`
	Mates    int    `json:"processes"`     // Go processes of a container, at most; with several the heap is not read
	Why      string `json:"why,omitempty"` // the reason why a figure is unknown; "" = all are known
}

// Counts are sums that decay as the weights of a [Sketch] do.
type Counts struct {
	Cycles  float64 `json:"collections"`
	Heap    float64 `json:"heap_seconds"` // in which collections were counted
	GC      float64 `json:"gc_seconds"`   // of Ps
	Busy    float64 `json:"busy_seconds"` // of Ps, of them GC seconds in collections
	Goal    float64 `json:"goal_sum"`     // heap goals in bytes times seconds
	GoalFor float64 `json:"goal_seconds"`
}

// Share is a part of a whole, both in the same unit: periods of a CPU quota.
type Share struct {
	Part  float64 `json:"part"`
	Whole float64 `json:"whole"`
}

// Has is what the containers of the last scan with one have.
type Has struct {
	Containers int    `json:"containers"`
	Limit      Amount `json:"memory_limit_bytes"`
	Request    Amount `json:"cpu_request_cores"`
	Quota      Amount `json:"cpu_quota_cores"`
	// Those of the container that was read last; of several nodes, see Merge.
	Minor int   `json:"go_minor"`      // 26 for Go 1.26; 0 = unknown
	CPUs  int   `json:"cpus"`          // that it may run on; 0 = unknown
	Procs int   `json:"gomaxprocs"`    // 0 = unknown
	GOGC  *int  `json:"gogc_percent"`  // -1 = off; nil = unknown
	Bound int64 `json:"gomemlimit"`    // 0 = none, or unknown
	Aware bool  `json:"follows_quota"` // the runtime does
}

// None leaves no container.
func (h *Has) None() { h.Containers, h.Limit, h.Request, h.Quota = 0, Amount{}, Amount{}, Amount{} }

// Amount is a limit of several containers, in the unit of the limit: bytes or cores.
type Amount struct {
	N     int     `json:"n"`    // that have it
	None  int     `json:"none"` // that have none; of the others it is unknown
	Sum   float64 `json:"sum"`  // of theirs
	Least float64 `json:"least"`
	Most  float64 `json:"most"`
}

// Add adds the limit of a container. One that is unknown adds nothing.
func (a *Amount) Add(f figure.Of[float64]) {
	switch {
	case f.Known():
		a.Merge(Amount{1, 0, f.N, f.N, f.N})
	case f.Read():
		a.None++
	}
}

// Span returns the least and the largest of some containers.
func (a *Amount) Span(containers int) finding.Span[float64] {
	s := finding.Span[float64]{None: a.None, Unknown: containers - a.N - a.None}
	switch {
	case a.N > 0:
		s.Least.Know(a.Least, "")
		s.Most.Know(a.Most, "")
	case s.Unknown == 0:
		s.Least.None()
		s.Most.None()
	}
	return s
}

// Merge adds the limits of other containers.
func (a *Amount) Merge(o Amount) {
	a.None += o.None
	if o.N == 0 {
		return
	}
	if a.N == 0 || o.Least < a.Least {
		a.Least = o.Least
	}
	a.N, a.Sum, a.Most = a.N+o.N, a.Sum+o.Sum, max(a.Most, o.Most)
}

// sketches returns all of them.
func (w *Workload) sketches() [6]*Sketch {
	return [...]*Sketch{&w.Live, &w.Rest, &w.Other, &w.Used, &w.Allocated, &w.CPU}
}

// sums returns all that decays beside sketches.
func (w *Workload) sums() [8]*float64 {
	c := &w.Counts
	return [...]*float64{&c.Cycles, &c.Heap, &c.GC, &c.Busy, &c.Goal, &c.GoalFor, &w.Throttle.Part, &w.Throttle.Whole}
}

// DecayTo makes its weights those of a later time, by the wall clock. Times before Last change nothing.
func (w *Workload) DecayTo(at time.Time) {
	at = at.Round(0)
	passed := at.Sub(w.Last).Seconds()
	if passed <= 0 {
		return
	}
	factor := math.Exp2(-passed / HalfLife)
	for _, s := range w.sketches() {
		s.Decay(factor)
	}
	for _, n := range w.sums() {
		*n *= factor
	}
	w.Last = at
}

// Merge adds what another node has seen of the same workload. It decays the older one of both.
func (w *Workload) Merge(o *Workload) {
	other := *o
	for _, s := range other.sketches() {
		s.Buckets = slices.Clone(s.Buckets)
	}
	w.DecayTo(other.Last)
	other.DecayTo(w.Last)
	if other.First.Before(w.First) {
		w.First = other.First
	}
	w.Seen, w.Every, w.Mates = max(w.Seen, other.Seen), max(w.Every, other.Every), max(w.Mates, other.Mates)
	mine, theirs := w.sketches(), other.sketches()
	for i := range mine {
		mine[i].Merge(theirs[i])
	}
	sums, others := w.sums(), other.sums()
	for i := range sums {
		*sums[i] += *others[i]
	}
	if w.Why == "" || other.Why != "" && other.Why < w.Why {
		w.Why = other.Why
	}
	w.Has.Merge(&other.Has)
}

// Merge adds what the containers of another node have. Of those that differ, the older Go and the larger of the other
// figures count, GOGC=off is the largest, and all have to follow the quota. Those of a node without containers count if
// no node has one. The order of nodes does not matter.
func (h *Has) Merge(o *Has) {
	switch {
	case h.Containers > 0 && o.Containers == 0:
	case h.Containers == 0 && o.Containers > 0:
		h.Minor, h.CPUs, h.Procs, h.GOGC, h.Bound, h.Aware = o.Minor, o.CPUs, o.Procs, o.GOGC, o.Bound, o.Aware
	default:
		switch {
		case o.Minor == 0 && h.Minor > 0:
		case h.Minor == 0 && o.Minor > 0:
			h.Minor, h.Aware = o.Minor, o.Aware
		default:
			h.Minor, h.Aware = min(h.Minor, o.Minor), h.Aware && o.Aware
		}
		h.CPUs, h.Procs, h.Bound = max(h.CPUs, o.CPUs), max(h.Procs, o.Procs), max(h.Bound, o.Bound)
		if h.GOGC == nil || o.GOGC != nil && *h.GOGC >= 0 && (*o.GOGC < 0 || *o.GOGC > *h.GOGC) {
			h.GOGC = o.GOGC
		}
	}
	h.Containers += o.Containers
	h.Limit.Merge(o.Limit)
	h.Request.Merge(o.Request)
	h.Quota.Merge(o.Quota)
}

const (
	// high is the part of the time whose use a CPU request covers, as of a watch (package size).
	high = 0.95
	// low is the part of the time in which Go held least beside objects: then the heap was full.
	low = 0.05
	day = 24 * time.Hour
)

// share sets f to a part of a whole, if there is any.
func share(f *figure.Of[float64], part, whole float64) {
	if whole > 0 {
		f.Know(part/whole, "")
	}
}

func mean(f *figure.Of[float64], d *Sketch) { share(f, d.Sum, d.Seconds) }

func quantile(f *figure.Of[float64], d *Sketch, part float64) {
	if n, ok := d.Quantile(part); ok {
		f.Know(n, "")
	}
}

// Size returns what was seen, in the form of which package size decides the container. Each figure is that of one
// container: the most of all of them, or the mean.
func (w *Workload) Size() *size.Seen {
	s := &size.Seen{
		Seconds: w.Heap, Collections: int(w.Cycles + 0.5), CPUs: w.Has.CPUs, Minor: w.Has.Minor, Aware: w.Has.Aware,
		Days: w.Seen / day.Seconds(), Every: w.Every,
	}
	mean(&s.Live, &w.Live)
	quantile(&s.LiveMost, &w.Live, 1)
	mean(&s.Allocated, &w.Allocated)
	s.Burst, _ = w.Allocated.Quantile(high)
	quantile(&s.Rest, &w.Rest, low)
	quantile(&s.Other, &w.Other, 1)
	quantile(&s.Used, &w.Used, 1)
	mean(&s.CPUMean, &w.CPU)
	quantile(&s.CPUHigh, &w.CPU, high)
	if s.CPUMean.Known() {
		share(&s.GCCores, w.GC*s.CPUMean.N, w.Busy)
	}
	share(&s.Goal, w.Goal, w.GoalFor)
	share(&s.Throttled, w.Throttle.Part, w.Throttle.Whole)
	h := &w.Has
	if h.Quota.N > 0 {
		s.Quota.Know(h.Quota.Least, "")
	}
	if h.Limit.N > 0 {
		s.Limit.Know(int64(h.Limit.Least), "")
	}
	if h.Procs > 0 {
		s.Procs.Know(h.Procs, "")
	}
	if h.GOGC != nil {
		s.GOGC.Know(*h.GOGC, "")
	}
	if h.Bound > 0 {
		s.MemLimit.Know(h.Bound, "")
	}
	why := w.why()
	if w.Mates > 1 {
		s.Live, s.LiveMost = figure.Of[float64]{}, figure.Of[float64]{}
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		f.Because(why)
	}
	s.CPUMost.Because("agents look once in a while")
	return s
}

// why returns why a figure is unknown; "" = no reason is known.
func (w *Workload) why() string {
	if w.Mates > 1 {
		return fmt.Sprintf("up to %d Go processes share a container", w.Mates)
	}
	return w.Why
}

// Stats returns the figures that are exported of the workload, in the order of [Names]; NaN is unknown.
func (w *Workload) Stats() (all [len(Names)]float64) {
	s, h := w.Size(), &w.Has
	var cycles, burst figure.Of[float64]
	share(&cycles, w.Cycles, w.Heap)
	quantile(&burst, &w.Allocated, high)
	for i, f := range [...]*figure.Of[float64]{
		&s.Live, &s.LiveMost, &s.Rest, &s.Other, &s.Used, &s.Allocated, &burst,
		&s.CPUMean, &s.CPUHigh, &s.GCCores, &cycles, &s.Goal, &s.Throttled,
	} {
		if all[i] = f.N; !f.Known() {
			all[i] = math.NaN()
		}
	}
	at := all[13:]
	for _, a := range [...]*Amount{&h.Limit, &h.Request} {
		at[0], at[1], at[2], at[3] = float64(a.N), a.Sum, a.Least, a.Most
		if a.N == 0 {
			at[0], at[1], at[2], at[3] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		at = at[4:]
	}
	return all
}

// Stat is the name of an exported figure, without "snug_go_workload_", and which of its figures it is.
type Stat struct{ Name, Stat string }

// Names are those of the figures of a workload.
var Names = [...]Stat{
	{"heap_live_bytes", "mean"}, {"heap_live_bytes", "most"}, {"go_rest_bytes", "least"}, {"other_bytes", "most"},
	{"used_bytes", "most"}, {"allocated_bytes_per_second", "mean"}, {"allocated_bytes_per_second", "p95"},
	{"cpu_cores", "mean"}, {"cpu_cores", "p95"}, {"gc_cpu_cores", "mean"}, {"gc_cycles_per_second", "mean"},
	{"heap_goal_bytes", "mean"}, {"throttled_ratio", "mean"},
	{"memory_limit_bytes", "count"}, {"memory_limit_bytes", "sum"}, {"memory_limit_bytes", "least"},
	{"memory_limit_bytes", "most"}, {"cpu_request_cores", "count"}, {"cpu_request_cores", "sum"},
	{"cpu_request_cores", "least"}, {"cpu_request_cores", "most"},
}
