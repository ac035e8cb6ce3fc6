// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
)

const mib = 1 << 20

var noon = time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)

// TestQuantile: a quantile is never less than the value that it stands for, and at most 5 % more.
func TestQuantile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func() float64{
		"bytes": func() float64 { return 100*mib + 300*mib*r.Float64() },
		"cores": func() float64 { return 0.002 + r.Float64()/50 },
		"one":   func() float64 { return 7 },
	} {
		var s Sketch
		var all []float64
		for range 5000 {
			all = append(all, value())
			s.Add(all[len(all)-1], 15)
		}
		slices.Sort(all)
		for _, part := range []float64{0.05, 0.5, 0.95, 1} {
			want := all[int(math.Ceil(part*float64(len(all))))-1]
			if got, ok := s.Quantile(part); !ok || got < want || got > 1.11*want || part == 1 && got > 1.05001*want {
				t.Errorf("%s: %v of %v, want %v", name, got, part, want)
			}
		}
		if got := s.Sum / s.Seconds; math.Abs(got/(sum(all)/float64(len(all)))-1) > 1e-9 {
			t.Errorf("%s: mean %v", name, got)
		}
	}
}

func sum(all []float64) (n float64) {
	for _, v := range all {
		n += v
	}
	return n
}

// TestSketchEdges: nothing, zero, and values that cannot be are no trouble; few buckets are kept, and the high ones are right.
func TestSketchEdges(t *testing.T) {
	var s Sketch
	if _, ok := s.Quantile(1); ok {
		t.Error("a quantile of nothing")
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 1e300} {
		s.Add(v, 15)
	}
	s.Add(1, 0)
	s.Add(1, math.Inf(1))
	if s.Seconds != 0 {
		t.Errorf("%+v", s)
	}
	s.Add(0, 90)
	if got, ok := s.Quantile(1); !ok || got != 0 {
		t.Errorf("%v of zeros", got)
	}
	s.Add(2, 10)
	if got, _ := s.Quantile(0.9); got != 0 {
		t.Errorf("%v", got)
	}
	if got, _ := s.Quantile(0.91); got < 2 || got > 2.1 {
		t.Errorf("%v", got)
	}
	for _, order := range [][]float64{{1e-3, 1, 1e3, 1e6, 1e12}, {1e12, 1e6, 1e3, 1, 1e-3}, {1e6, 1e-3, 1e18, 1e12, 1}} {
		s = Sketch{}
		most := slices.Max(order)
		for _, v := range order {
			s.Add(v, 1)
		}
		if got, _ := s.Quantile(1); got < most || got > 1.05001*most || len(s.Buckets) > maxBuckets {
			t.Errorf("%v: %v in %d buckets", order, got, len(s.Buckets))
		}
		if n := sum32(s.Buckets); n != 5 {
			t.Errorf("%v: weights of %v", order, n)
		}
	}
}

func sum32(all buckets) (n float32) {
	for _, b := range all {
		n += b.seconds
	}
	return n
}

// TestSketchSpan: one high value leaves the low ones as they are; with too many the lowest become one.
func TestSketchSpan(t *testing.T) {
	var s Sketch
	s.Add(1, 15)
	for range 4000 {
		s.Add(0.005, 15)
	}
	if got, _ := s.Quantile(0.95); got < 0.005 || got > 1.05001*0.005 {
		t.Errorf("%v", got)
	}
	s = Sketch{}
	for i := range int32(maxBuckets + 50) {
		s.add(i, 1)
	}
	if b := s.Buckets[0]; len(s.Buckets) != maxBuckets || b != (bucket{50, 51}) || sum32(s.Buckets) != maxBuckets+50 {
		t.Errorf("%d buckets, %v", len(s.Buckets), b)
	}
}

// TestClockSetBack: what an agent writes after the clock was set back is not damaged, and an instant has no monotonic
// clock, which would hide that.
func TestClockSetBack(t *testing.T) {
	w := &Workload{First: noon, Last: noon.Add(-time.Hour)}
	text, err := (&Document{Workloads: []*Workload{w}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	if d, err := Decode(text); err != nil || !d.Workloads[0].First.Equal(noon.Add(-time.Hour)) {
		t.Error(err)
	}
	now := time.Now()
	if w.DecayTo(now); w.Last != now.Round(0) {
		t.Errorf("%v", w.Last)
	}
}

// TestMergeHas: what containers of three nodes have is the same in any order.
func TestMergeHas(t *testing.T) {
	all := []Has{
		{Containers: 1, Minor: 26, CPUs: 4, Procs: 4, GOGC: new(100), Bound: 1, Aware: true}, {Containers: 2, Minor: 24, CPUs: 8, Procs: 2, GOGC: new(-1)},
		{Containers: 1, CPUs: 2}, {Minor: 18, CPUs: 64, GOGC: new(400), Bound: 1 << 40},
	}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 3, 0, 1}, {1, 0, 3, 2}} {
		h := all[order[0]]
		for _, i := range order[1:] {
			h.Merge(&all[i])
		}
		if h.Containers != 4 || h.Minor != 24 || h.CPUs != 8 || h.Procs != 4 || h.GOGC == nil || *h.GOGC != -1 || h.Bound != 1 || h.Aware {
			t.Errorf("%v: %+v", order, h)
		}
	}
}

// TestDecay: a peak of one scan among a program that goes on is there after seven days, and forgotten after nine.
func TestDecay(t *testing.T) {
	w := Workload{First: noon, Last: noon}
	w.Used.Add(900*mib, 15)
	for i := range 9 * 24 {
		w.DecayTo(noon.Add(time.Duration(i+1) * time.Hour))
		w.Used.Add(300*mib, 3600)
		most, _ := w.Used.Quantile(1)
		if there := most > 800*mib; there != (i < 8*24+5) && (i < 7*24 || i > 8*24+8) {
			t.Fatalf("after %d hours: %v", i+1, most)
		}
	}
	if w.Used.Seconds < 24*3600 || w.Used.Seconds > 48*3600 {
		t.Errorf("%v seconds", w.Used.Seconds)
	}
	before := w.Used.Seconds
	w.DecayTo(noon)
	if w.Used.Seconds != before {
		t.Error("time went back")
	}
	w.DecayTo(noon.Add(100 * 24 * time.Hour))
	if _, ok := w.Used.Quantile(1); ok || w.Used.Seconds != 0 {
		t.Errorf("%+v", w.Used)
	}
}

// seen is what a node has seen of a workload in some hours, once a minute, with a live heap in MiB.
func seen(hours int, live float64, end time.Time) *Workload {
	w := &Workload{Key: Key{"shop", "Deployment/web", "app"}, First: end.Add(time.Duration(-hours) * time.Hour), Last: end.Add(time.Duration(-hours) * time.Hour), Every: 60}
	gogc := 100
	w.Has = Has{Containers: 2, Minor: 26, CPUs: 4, GOGC: &gogc, Aware: true}
	w.Has.Limit.Add(figure.New(1024.0*mib, ""))
	w.Has.Limit.Add(figure.New(2048.0*mib, ""))
	w.Has.Request.Add(figure.New(1.0, ""))
	w.Has.Quota.Add(figure.None[float64](""))
	for i := range 60 * hours {
		w.DecayTo(w.First.Add(time.Duration(i+1) * time.Minute))
		x := live * mib
		if i == 30 {
			x *= 1.3
		}
		w.Live.Add(x, 60)
		w.Rest.Add(10*mib, 60)
		w.Other.Add(5*mib, 60)
		w.Used.Add(2.2*x, 60)
		w.Allocated.Add(50*mib, 60)
		w.CPU.Add(0.2, 60)
		w.Cycles, w.Heap, w.GC, w.Busy, w.Goal, w.GoalFor, w.Seen = w.Cycles+30, w.Heap+60, w.GC+1, w.Busy+12, w.Goal+60*2*x, w.GoalFor+60, w.Seen+60
	}
	return w
}

// TestMerge: two nodes say the same as one that has seen both, in either order.
func TestMerge(t *testing.T) {
	a, b := seen(5, 100, noon), seen(3, 300, noon.Add(-2*time.Hour))
	x, y := *seen(5, 100, noon), *seen(3, 300, noon.Add(-2*time.Hour))
	x.Merge(b)
	y.Merge(a)
	for _, m := range []*Workload{&x, &y} {
		if !m.First.Equal(noon.Add(-5*time.Hour)) || !m.Last.Equal(noon) || m.Seen != 5*3600 || m.Has.Containers != 4 || m.Has.Limit != (Amount{4, 0, 6144 * mib, 1024 * mib, 2048 * mib}) {
			t.Errorf("%+v", m)
		}
		if q := m.Has.Quota.Span(4); q.None != 2 || q.Unknown != 2 || q.Least.Read() {
			t.Errorf("%+v", q)
		}
		if got, _ := m.Live.Quantile(1); got < 390*mib || got > 1.05*390*mib {
			t.Errorf("most %v", got/mib)
		}
		if got, _ := m.Live.Quantile(0.5); got < 100*mib || got > 105*mib {
			t.Errorf("half %v", got/mib)
		}
	}
	if p, q := *x.Size(), *y.Size(); !near(p.Live.N, q.Live.N) || !near(p.GCCores.N, q.GCCores.N) || p.Collections != q.Collections || !near(p.Seconds, q.Seconds) {
		t.Errorf("%+v\n%+v", p, q)
	}
	if got, _ := b.Live.Quantile(0.5); got < 300*mib {
		t.Error("merging changes what is merged")
	}
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(a) }

// TestSize: the decision of a watch decides by quantiles, and says what agents cannot see.
func TestSize(t *testing.T) {
	d := size.Decide(seen(30, 100, noon).Size(), size.Fargate)
	if d.Memory.Value == nil || *d.Memory.Value < 180*mib || *d.Memory.Value > 400*mib || *d.Memory.Least > *d.Memory.Value || len(d.Curve) == 0 {
		t.Errorf("%+v", d.Memory)
	}
	if v := *d.CPURequest.Value; v < 0.2*1.15 || v > 0.26 || !strings.Contains(content.Reason(&d.CPURequest.Why), "95 % of the spans of 60 s") {
		t.Errorf("%v: %+v", v, d.CPURequest.Why)
	}
	all := ""
	for i := range d.Unseen {
		all += content.Reason(&d.Unseen[i]) + "\n"
	}
	if !strings.Contains(all, "peaks between two scans, 60 s apart, and outside of the 30 h in which it was seen: 15 %") || !strings.Contains(all, "bursts shorter than 60 s") {
		t.Error(all)
	}
	if young := size.Decide(seen(3, 100, noon).Size(), size.Fargate); !strings.Contains(content.Reason(&young.Unseen[0]), "30 %") {
		t.Error(young.Unseen)
	}
	// Without the heap all that was in use counts, and it says why.
	w := seen(30, 100, noon)
	w.Mates = 3
	d = size.Decide(w.Size(), size.Fargate)
	if d.Memory.Value == nil || *d.Memory.Value < 280*mib || len(d.Curve) != 0 || !strings.Contains(content.Reason(&d.Memory.Why), "up to 3 Go processes share a container") {
		t.Errorf("%+v", d.Memory)
	}
	w = &Workload{First: noon, Last: noon}
	if d = size.Decide(w.Size(), size.Fargate); d.Memory.Value != nil || d.CPURequest.Value != nil {
		t.Errorf("of nothing: %+v", d)
	}
}

// TestFile: what is written is read; anything else is refused with the reason.
func TestFile(t *testing.T) {
	d := &Document{Node: "n1", At: noon, Workloads: []*Workload{seen(3, 100, noon), seen(2, 7, noon)}, LeftOut: 3}
	text, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	// Earlier versions wrote other_seconds too.
	again, err := Decode(bytes.ReplaceAll(text, []byte(`"interval_seconds"`), []byte(`"other_seconds":9,"interval_seconds"`)))
	if err != nil || again.Node != "n1" || again.LeftOut != 3 || !again.At.Equal(noon) {
		t.Fatalf("%+v, %v", again, err)
	}
	for i, w := range again.Workloads {
		want := d.Workloads[i]
		if !reflect.DeepEqual(w.Has, want.Has) || w.Key != want.Key || w.Counts != want.Counts {
			t.Errorf("%+v, want %+v", w, want)
		}
		for j, s := range w.sketches() {
			got, _ := s.Quantile(0.95)
			if was, _ := want.sketches()[j].Quantile(0.95); got != was {
				t.Errorf("%v, was %v", got, was)
			}
		}
	}
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"empty":         {"", ErrBroken},
		"cut":           {string(text[:len(text)/2]), ErrBroken},
		"other JSON":    {`{"kind":"agent"}`, ErrForeign},
		"list":          {`[1]`, ErrForeign},
		"newer":         {`{"kind":"snug-needs","version":2}`, ErrVersion},
		"wrong type":    {`{"kind":"snug-needs","version":1,"workloads":7}`, ErrBroken},
		"null":          {`{"kind":"snug-needs","version":1,"workloads":[null]}`, ErrBroken},
		"negative":      {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"seconds":-1}}]}`, ErrBroken},
		"many buckets":  {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"buckets":[` + manyPairs() + `]}}]}`, ErrBroken},
		"far bucket":    {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"buckets":[[30000,1]]}}]}`, ErrBroken},
		"no order":      {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"buckets":[[7,1],[7,1]]}}]}`, ErrBroken},
		"no pair":       {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"buckets":[[7]]}}]}`, ErrBroken},
		"no number":     {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"buckets":[1,2]}}]}`, ErrBroken},
		"vast sum":      {`{"kind":"snug-needs","version":1,"workloads":[{"used_bytes":{"sum":1e308}}]}`, ErrBroken},
		"vast limit":    {`{"kind":"snug-needs","version":1,"workloads":[{"has":{"memory_limit_bytes":{"n":1,"sum":1e19}}}]}`, ErrBroken},
		"vast count":    {`{"kind":"snug-needs","version":1,"workloads":[{"has":{"containers":9000000000000000000}}]}`, ErrBroken},
		"many":          {`{"kind":"snug-needs","version":1,"workloads":[` + strings.Repeat("{},", MaxWorkloads) + `{}]}`, ErrBroken},
		"too long":      {`{"kind":"snug-needs"` + strings.Repeat(" ", MaxBytes) + `}`, ErrForeign},
		"nothing in it": {`{"kind":"snug-needs","version":1,"workloads":[]}`, nil},
	} {
		if _, err := Decode([]byte(c.text)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// manyPairs are one bucket too many.
func manyPairs() string {
	var all []string
	for i := range maxBuckets + 1 {
		all = append(all, fmt.Sprintf("[%d,1]", i))
	}
	return strings.Join(all, ",")
}

// TestFileSize: a node full of workloads with full sketches stays below the bound.
func TestFileSize(t *testing.T) {
	d := &Document{}
	r := rand.New(rand.NewPCG(3, 4))
	for range MaxWorkloads {
		w := seen(1, 100, noon)
		w.Namespace, w.Workload, w.Why = strings.Repeat("n", 63), strings.Repeat("w", 253), strings.Repeat("y", maxWhy)
		for _, s := range w.sketches() {
			for i := range int32(maxBuckets + 1) {
				s.add(highest-i, 1e4+1e4*r.Float32())
			}
		}
		d.Workloads = append(d.Workloads, w)
	}
	text, err := d.Encode()
	if err != nil || len(text) > MaxBytes || len(text) < MaxBytes/2 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if _, err := Decode(text); err != nil {
		t.Error(err)
	}
}

func TestPattern(t *testing.T) {
	for pod, want := range map[string]string{
		"web-0": "web-*", "web-12": "web-*", "fluentd-x7k2p": "fluentd-*", "fluentd-aeiou": "fluentd-aeiou", "etcd-node-1": "etcd-node-*", "single": "single", "-0": "-0", "a-": "a-", "": "",
	} {
		if got := Pattern(pod); got != want {
			t.Errorf("%q: %q, want %q", pod, got, want)
		}
	}
}
