// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// tracedOne returns a trace with every figure.
func tracedOne() finding.Traced {
	times := finding.TraceTimes{
		Count: 30, Total: .03, Mean: new(.001), P50: new(.0009), Max: new(.004),
		Histogram: &finding.Histogram{Seconds: []float64{.0005, .001, .004}, Counts: []int64{10, 15, 5}},
	}
	return finding.Traced{
		Target: "trace.out", Format: "go 1.26", Bytes: 1 << 20, Events: 12345,
		Wall: finding.TraceWall{
			Run: 2, GCs: 15, GCRun: .4, GC: times, Stops: times, Stopped: .015, GCStopped: .028,
			StopsBy: []finding.TraceStop{{Reason: "GC mark termination", GC: true, TraceTimes: times}},
		},
		Occupancy: finding.TraceOccupancy{
			Available: new(4.), Held: []float64{.8, .6}, HeldAll: new(.7), Running: 2.5, GC: new(.25), Dedicated: .6, Assist: .3, Sweep: .1,
			MMU: []finding.TraceMMU{{Window: .001, Ratio: new(0.)}, {Window: .01, Ratio: new(.2)}, {Window: .1, Ratio: new(.55)}, {Window: 1, Ratio: new(.7)}},
		},
		Goroutines: finding.TraceRoutines{
			Created: 100, Ended: 90, Peak: 20, Latency: times, Runnable: .1, Blocked: 30, Syscall: .2,
			Reasons: []finding.TraceReason{{Reason: "chan receive", Count: 10, Total: 20}},
		},
		Heap:  finding.TraceHeap{Peak: new(uint64(9 << 20)), Last: new(uint64(3 << 20)), GoalPeak: new(uint64(10 << 20)), GoalLast: new(uint64(8 << 20))},
		Procs: []finding.TraceProcs{{At: 0, N: 2}},
		Timeline: finding.TraceTimeline{
			Step: .5, HeapLow: []uint64{1, 2 << 20, 3 << 20, 2 << 20}, HeapHigh: []uint64{1, 9 << 20, 4 << 20, 3 << 20}, Goal: []uint64{4 << 20, 8 << 20, 8 << 20, 8 << 20},
			GC: []float64{0, .5, .25, .25}, Stopped: []float64{0, .03, .02, .01}, Marking: []float64{0, 1, .5, 0},
		},
		Ps: finding.TracePs{
			Step: .5, Program: [][]float64{{.5, .25, .25, 1}, {0, 0, 1, .5}}, Collector: [][]float64{{.5, 0, .25, 0}, {0, 0, 0, 0}}, Other: [][]float64{{0, .5, 0, 0}, {0, 0, 0, .25}},
		},
	}
}

func TestTraceText(t *testing.T) {
	b := tracedOne()
	b.Target, b.Partial = "evil\x1b[2J.out", new("it is cut off\nhere")
	b.Wall.Run, b.Occupancy.GC, b.Heap.Peak = 4, new(.2), nil
	var one, two strings.Builder
	if err := text.Write(&one, &finding.Trace{Traces: []finding.Traced{tracedOne()}, Next: "snug trace --html trace.html trace.out"}); err != nil {
		t.Fatal(err)
	}
	if err := text.Write(&two, &finding.Trace{Traces: []finding.Traced{tracedOne(), b}}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ text, want string }{
		{one.String(), "trace.out: 2 s with 15 collections; the world was stopped for 30 ms (1.5 %), the collector held 25 %\n  of the Ps' time, heap up to 9.00 MiB\n"},
		{one.String(), "\nwall time\nrun time                 2 s\n"},
		{one.String(), "\nstop-the-world, P99      too few (30)\n"},
		{one.String(), "\nnext: snug trace --html trace.html trace.out\n"},
		{two.String(), "run time                 2 s           4 s           +100 %\n"},
		{two.String(), "collector's share                    25 %        20 %        -5 points\n"},
		{two.String(), "peak             9.00 MiB  -         -\n"},
		{two.String(), "partial: these are figures of the first 4 s: it is cut off\\nhere\n"},
		{two.String(), "One trace each cannot tell a difference from chance"},
	} {
		if !strings.Contains(c.text, c.want) {
			t.Errorf("no %q in\n%s", c.want, c.text)
		}
	}
	if strings.Contains(two.String(), "\x1b") {
		t.Error("a file's name acts on the terminal")
	}
}

func TestTracePage(t *testing.T) {
	hostile := tracedOne()
	hostile.Target = `<script>alert(1)</script>`
	hostile.Timeline.GC[1], hostile.Timeline.Step = math.NaN(), math.Inf(1)
	hostile.Timeline.HeapLow = nil
	hostile.Ps.Program[0], hostile.Ps.Other[1] = []float64{-1, math.NaN(), 1e300, math.Inf(-1)}, []float64{math.Inf(1), 5e-324, -1e300, 2}
	hostile.Goroutines.Latency.Histogram = &finding.Histogram{Seconds: []float64{-1, 0, math.Inf(1)}, Counts: []int64{1, -5, 3}}
	hostile.Wall.StopsBy[0].Reason = `"><img src=x>`
	for name, d := range map[string]*finding.Trace{
		"one":   {Traces: []finding.Traced{tracedOne()}},
		"two":   {Traces: []finding.Traced{tracedOne(), tracedOne()}},
		"none":  {},
		"empty": {Traces: []finding.Traced{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := page.Write(&b, d); err != nil {
				t.Fatal(err)
			}
			page := b.String()
			if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(page, "NaN") {
				t.Error("the page runs or shows what it must not")
			}
			if name == "one" && strings.Count(page, "<svg") != 6 {
				t.Errorf("%d drawings, want Ps, heap and collector, and distributions, wide and narrow", strings.Count(page, "<svg"))
			}
			wellFormed(t, page)
		})
	}
	// JSON has no NaN, so a page with it cannot be written; its drawings can.
	for _, p := range page.TraceView(&finding.Trace{Traces: []finding.Traced{hostile, tracedOne()}}).Parts {
		for _, f := range p.Figures {
			for _, c := range f.Charts {
				if strings.Contains(string(c), "NaN") || strings.Contains(string(c), "<img") {
					t.Errorf("%s", c)
				}
			}
		}
	}
	if err := text.Write(io.Discard, &finding.Trace{Traces: []finding.Traced{hostile, {}}}); err != nil {
		t.Error(err)
	}
}

// TestTwoTracesOnOneScale draws a small heap below a large one's ticks.
func TestTwoTracesOnOneScale(t *testing.T) {
	a, b := tracedOne(), tracedOne()
	for i := range b.Timeline.HeapHigh {
		b.Timeline.HeapHigh[i], b.Timeline.Goal[i] = b.Timeline.HeapHigh[i]*10, b.Timeline.Goal[i]*10
	}
	b.Wall.Run = 1.5
	v := page.TraceView(&finding.Trace{Traces: []finding.Traced{a, b}})
	if !strings.HasPrefix(v.Verdict, "A, trace.out: ") || !strings.HasPrefix(v.Lead, "B, trace.out: ") {
		t.Errorf("%s\n%s", v.Verdict, v.Lead)
	}
	if v.Parts[0].Title != "Figures" || len(v.Parts[0].Tables) != 4 || len(v.Parts[0].Tables[0].Head) != 4 {
		t.Errorf("the first part is %+v, want the differences", v.Parts[0])
	}
	ticks := [][]string{}
	for _, p := range v.Parts {
		if !strings.HasPrefix(p.Title, "Course") {
			continue
		}
		found := []string{}
		for _, text := range strings.Split(string(p.Figures[1].Charts[0]), `<text class="tick"`)[1:] {
			_, text, _ = strings.Cut(text, ">")
			text, _, _ = strings.Cut(text, "<")
			found = append(found, text)
		}
		ticks = append(ticks, found)
	}
	if len(ticks) != 2 || !slices.Equal(ticks[0], ticks[1]) || !slices.Contains(ticks[0], "50 MiB") || !slices.Contains(ticks[0], "2 s") {
		t.Errorf("%q", ticks)
	}
}

// TestCourseOfPs: the program stands on the lower edge of a P's lane, what else holds the P on
// the program, and the collector hangs from the upper edge.
func TestCourseOfPs(t *testing.T) {
	one := tracedOne()
	f := chart.Lanes(&one, 2)
	if f == nil || len(f.Charts) != 2 {
		t.Fatalf("%+v", f)
	}
	for _, want := range []string{ // the first lane is from 32 to 58, and 0 to 2 s from 76 to 734
		`<path class="program" d="M76 45L240.5 45L240.5 51.5L405 51.5L405 51.5L569.5 51.5L569.5 32L734 32L734 58L`,
		`<path class="other" d="M76 45L240.5 45L240.5 38.5L405 38.5L405 51.5L569.5 51.5L569.5 32L734 32L734 32L569.5 32L`,
		`L734 32L569.5 32L569.5 38.5L405 38.5L405 32L240.5 32L240.5 45L76 45"/>`, // the lower edge of the collector
		">P 1 60 %</text>", ">scheduler, system call</text>",
	} {
		if !strings.Contains(string(f.Charts[0]), want) {
			t.Errorf("no %s in\n%s", want, f.Charts[0])
		}
	}
	if n := strings.Count(string(f.Charts[0]), `<path class="collector"`); n != 1 {
		t.Errorf("%d Ps have a collector, want only the first", n)
	}
	if strings.Contains(f.Caption, "first") {
		t.Error(f.Caption)
	}
	one.Occupancy.Held = make([]float64, 48)
	if f := chart.Lanes(&one, 2); !strings.Contains(f.Caption, "The first 2 of 48 Ps.") {
		t.Error(f.Caption)
	}
	one.Ps.Other = one.Ps.Other[:1]
	if chart.Lanes(&one, 2) != nil {
		t.Error("lists of different length are drawn")
	}
}

// wellFormed checks that each drawing is well formed.
func wellFormed(t *testing.T, page string) {
	t.Helper()
	for {
		from := strings.Index(page, "<svg")
		if from < 0 {
			return
		}
		to := from + strings.Index(page[from:], "</svg>") + len("</svg>")
		dec := xml.NewDecoder(strings.NewReader(page[from:to]))
		for {
			_, err := dec.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		page = page[to:]
	}
}
