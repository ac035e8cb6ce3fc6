// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// typeArguments are in a process's own profiles, but in no stack trace.
var typeArguments = regexp.MustCompile(`\[.*\]`)

// samples returns the samples of a profile as text: at most depth calls from the innermost, and
// values. Those that were not counted yet are left out.
func samples(t *testing.T, p *profile.Profile, depth int, keep func(string) bool) []string {
	t.Helper()
	var list []string
	for _, s := range p.Sample {
		var b strings.Builder
		n := 0
		for _, l := range s.Location {
			for _, line := range l.Line {
				if n++; n > depth {
					break
				}
				fmt.Fprintf(&b, "%s:%d < ", typeArguments.ReplaceAllString(line.Function.Name, "[...]"), line.Line)
			}
		}
		fmt.Fprint(&b, s.Value, s.NumLabel["bytes"])
		if text := b.String(); keep(text) && slices.Max(s.Value) > 0 {
			list = append(list, text)
		}
	}
	slices.Sort(list)
	return list
}

// parsed writes and reads a profile.
func parsed(t *testing.T, p *profile.Profile) *profile.Profile {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	p, err := profile.Parse(&b)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// equal reports what only one of two sorted lists has.
func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	only := func(a, b []string) (list []string) {
		left := map[string]int{}
		for _, x := range b {
			left[x]++
		}
		for _, x := range a {
			if left[x]--; left[x] < 0 {
				list = append(list, x)
			}
		}
		return list
	}
	for _, x := range only(got, want) {
		t.Errorf("%s, only read from outside: %s", what, x)
	}
	for _, x := range only(want, got) {
		t.Errorf("%s, only in the process's own: %s", what, x)
	}
	if len(want) < 5 {
		t.Errorf("%s: %d samples", what, len(want))
	}
}

// TestHeap compares the heap profile with what the process says itself.
func TestHeap(t *testing.T) {
	each(t, func(t *testing.T, exe string) {
		for _, env := range [][]string{{"GOGC=off"}, {"GOGC=off", "GODEBUG=memprofilerate=1"}, {"GOGC=off", "GODEBUG=memprofilerate=4096", "TARGET_EARLY=1"}} {
			c := start(t, exe, env...)
			c.ask("nothing") // which allocates its buffers
			h, err := c.Heap()
			if err != nil {
				t.Fatal(err)
			}
			if early := len(env) == 3; h.Early != early {
				t.Errorf("early: %v, want %v", h.Early, early)
			}
			got := parsed(t, h.Profile(c.NewNames(), "target"))
			want, err := profile.ParseData(c.ask("heap"))
			if err != nil {
				t.Fatal(err)
			}
			// A thread that starts meanwhile allocates too, and so does the process's own profile.
			all := func(s string) bool {
				return !strings.Contains(s, "runtime.allocm:") && !strings.Contains(s, "runtime/pprof.")
			}
			equal(t, strings.Join(env, " "), samples(t, got, maxCalls, all), samples(t, want, maxCalls, all))
			if got.Period != want.Period || got.PeriodType.Type != want.PeriodType.Type || len(got.SampleType) != len(want.SampleType) {
				t.Errorf("period %d, want %d", got.Period, want.Period)
			}
			t.Logf("%s: %d samples, %s", env, len(got.Sample), h.Source)
		}
	})
}

// TestGoroutines compares all goroutines with what the process says itself.
func TestGoroutines(t *testing.T) {
	each(t, func(t *testing.T, exe string) {
		c := start(t, exe)
		g, err := c.Goroutines()
		if err != nil {
			t.Fatal(err)
		}
		names := c.NewNames()
		// The main goroutine is elsewhere while it writes its profile, and may still run now.
		others := func(s string) bool {
			return !strings.Contains(s, "main.main:") && !strings.HasPrefix(s, "runtime.main:0 ")
		}
		want, err := profile.ParseData(c.ask("goroutine"))
		if err != nil {
			t.Fatal(err)
		}
		// The process keeps so many calls, some of them as one.
		depth := 120
		if c.file.Minor < 23 {
			depth = 30
		}
		equal(t, "stacks", merged(samples(t, parsed(t, g.Profile(names, "target")), depth, others)), merged(samples(t, want, depth, others)))
		if g.Unread != 0 || g.Runtime == 0 || len(g.Groups) == 0 {
			t.Errorf("%d unread, %d of the runtime", g.Unread, g.Runtime)
		}
		var states []string
		for _, group := range g.Groups {
			if slices.Contains(group.IDs, 1) {
				continue
			}
			by, _ := names.Creator(group.Creator)
			for range group.Count {
				states = append(states, fmt.Sprintf("%s, by %s %s:%d", group.Words(), by.Function, by.File, by.Line))
			}
		}
		slices.Sort(states)
		equal(t, "states", states, stated(string(c.ask("text"))))
		t.Logf("%d goroutines in %d groups, %s", g.Total, len(g.Groups), g.Source)
	})
}

// TestBusy reads a program that works, and checks what is true at each of its moments.
func TestBusy(t *testing.T) {
	each(t, func(t *testing.T, exe string) {
		if !strings.HasSuffix(t.Name(), "/pie_stripped") {
			return // one way to link is enough
		}
		c := start(t, exe, "GOGC=off", "GODEBUG=memprofilerate=1", "GOMAXPROCS=4")
		c.ask("busy")
		names := c.NewNames()
		churned, unread, torn, held := 0, 0, 0, 0
		for range 60 {
			g, err := c.Goroutines()
			if err != nil {
				t.Fatal(err)
			}
			unread += g.Unread
			for _, group := range g.Groups {
				frames := names.Calls(group.Calls)
				if deep := slices.ContainsFunc(frames, func(f gobin.Frame) bool { return f.Function == "main.deep" }); group.Cut && !deep {
					t.Errorf("%s, cut: %v", group.Words(), frames)
				}
				churned += checkChurn(t, frames)
			}
			h, err := c.Heap()
			if err != nil {
				torn++
				continue
			}
			for _, s := range h.Sites {
				if frames := names.Site(s.Calls); s.Size > 9000 && s.Size < 10000 && len(frames) > 0 && frames[0].Function == "main.small" {
					held++
					// Go 1.18 and 1.19 ignore the rate in GODEBUG, and sample only some.
					if h.Rate == 1 && (s.Allocs%100 != 0 || s.Allocs-s.Frees != 100) {
						t.Errorf("%d allocations, %d frees", s.Allocs, s.Frees)
					}
				}
			}
		}
		t.Logf("%d stacks of busy goroutines, %d goroutines unread; %d heap profiles, %d given up", churned, unread, held, torn)
		if churned == 0 || held == 0 {
			t.Error("nothing was read")
		}
	})
}

// checkChurn checks the calls of a goroutine that calls churn to some depth, and reports 1 if it
// is one.
func checkChurn(t *testing.T, frames []gobin.Frame) int {
	t.Helper()
	first := slices.IndexFunc(frames, func(f gobin.Frame) bool { return f.Function == "main.churn" })
	if first < 0 {
		return 0
	}
	for i, f := range frames[first:] {
		last := first+i == len(frames)-1
		switch {
		case last && strings.HasPrefix(f.Function, "main.main.func"):
		case !last && f.Function == "main.churn" && (f.Line == churnCalls) == (i > 0):
		case i == 0 && f.Function == "main.churn" && f.Line == churnCalls: // it is just called
		default:
			t.Errorf("%d: %s:%d in %v", i, f.Function, f.Line, frames)
		}
	}
	return 1
}

// churnCalls is the line of targetSource in which churn calls itself.
var churnCalls = func() int {
	before, _, _ := strings.Cut(targetSource, "churn(depth - 1)")
	return strings.Count(before, "\n") + 1
}()

// merged adds up the values of equal samples.
func merged(list []string) (out []string) {
	sum := map[string]int{}
	for _, s := range list {
		at := strings.LastIndex(s, "[")
		at = strings.LastIndex(s[:at], "[")
		n, _ := strconv.Atoi(strings.Trim(s[at:strings.Index(s[at:], "]")+at], "[]"))
		sum[s[:at]] += n
	}
	for s, n := range sum {
		out = append(out, fmt.Sprintf("%s %d", s, n))
	}
	slices.Sort(out)
	return out
}

var (
	headOf    = regexp.MustCompile(`^goroutine (\d+) \[([^\],]*)`)
	creatorOf = regexp.MustCompile(`(?m)^created by (.*?)(?: in goroutine \d+)?\n\t(.*:\d+)`)
)

// stated reads state and creator from a text of stacks.
func stated(text string) (list []string) {
	for _, one := range strings.Split(text, "\n\n") {
		head := headOf.FindStringSubmatch(one)
		if head == nil || head[1] == "1" {
			continue
		}
		line := head[2] + ", by  :0"
		if by := creatorOf.FindStringSubmatch(one); by != nil {
			line = head[2] + ", by " + by[1] + " " + by[2]
		}
		list = append(list, strings.TrimSuffix(line, " (scan)"))
	}
	slices.Sort(list)
	return list
}
