// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// images returns the known images of a container, sorted.
func images(f *Facts, container string) string {
	var all []string
	for _, one := range f.byGroup[group{"shop", "Deployment/web", container}] {
		all = append(all, one.Image)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestRollouts: of a workload with many rollouts, the newest images are kept, and those that
// still run.
func TestRollouts(t *testing.T) {
	version := func(n int) Fact { return fact(fmt.Sprint("web:", n), "", "1.22", true) }
	other := version(0)
	other.Container = "b"
	f := (*Facts)(nil).With([]Fact{other}, start)
	now := start
	for n := 1; n <= 9; n++ {
		now = now.Add(20 * time.Hour)
		f = f.With([]Fact{version(1), version(n)}, now) // the first keeps running
	}
	if got, want := images(f, "a"), "web:1 web:7 web:8 web:9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := images(f, "b"); got != "web:0" {
		t.Errorf("another container has %q", got)
	}
	// All run at the same time, and all are kept.
	var all []Fact
	for n := 1; n <= 9; n++ {
		all = append(all, version(n))
	}
	f = f.With(all, now)
	text := encoded(f)
	for hours := range 11 {
		f = Merged(f, f, now).With(nil, now.Add(time.Duration(hours)*time.Hour)).With(all, now.Add(time.Duration(hours)*time.Hour))
		if string(encoded(f)) != string(text) {
			t.Fatalf("after %d hours %s", hours, images(f, "a"))
		}
	}
	if f = f.With(nil, now.Add(14*time.Hour)); images(f, "a") == "" || len(f.byGroup[group{"shop", "Deployment/web", "a"}]) != keepNewest {
		t.Errorf("%s", images(f, "a"))
	}
}

// TestMoved: a digest always names the same image, a name may move.
func TestMoved(t *testing.T) {
	for d, want := range map[string]podpatch.Program{digest('a'): isGo(22, true), "": {State: podpatch.NotGo}} {
		f := (*Facts)(nil).With([]Fact{fact("web:latest", d, "1.22", true)}, start).With([]Fact{fact("web:latest", d, "", false)}, start.Add(time.Hour))
		if got := f.Program("shop", "Deployment/web", "a", "web:latest"); got != want {
			t.Errorf("digest %q: %+v, want %+v", d, got, want)
		}
	}
}

// TestMovedMerged: merging gives the same as seeing everything.
func TestMovedMerged(t *testing.T) {
	for d, want := range map[string]podpatch.Program{digest('a'): isGo(22, true), "": {State: podpatch.NotGo}} {
		old := (*Facts)(nil).With([]Fact{fact("web:latest", d, "1.22", true)}, start)
		young := (*Facts)(nil).With([]Fact{fact("web:latest", d, "", false)}, start.Add(time.Minute))
		for _, f := range []*Facts{Merged(old, young, start.Add(time.Hour)), Merged(young, old, start.Add(time.Hour))} {
			if got := f.Program("shop", "Deployment/web", "a", "web:latest"); got != want || f.all[f.byGroup[group{"shop", "Deployment/web", "a"}][0].key()].First != start.Unix() {
				t.Errorf("digest %q: %+v, want %+v", d, got, want)
			}
		}
		// An expired fact has no effect on a merge.
		late := (*Facts)(nil).With([]Fact{fact("web:latest", d, "", false)}, start.Add(2*keepFor))
		if got := Merged(old, late, start.Add(2*keepFor)).Program("shop", "Deployment/web", "a", "web:latest"); got.State != podpatch.NotGo {
			t.Errorf("digest %q: %+v", d, got)
		}
	}
}

// TestMaxFacts: facts are bounded, those left out are counted, and that is noted once.
func TestMaxFacts(t *testing.T) {
	var old, young []Fact
	for n := range maxFacts {
		one := fact("web:1", "", "1.22", true)
		one.Workload = fmt.Sprint("Deployment/web-", n)
		old = append(old, one)
		if n < 5 {
			one.Workload = fmt.Sprint("Deployment/young-", n)
			young = append(young, one)
		}
	}
	f := (*Facts)(nil).With(old, start).With(young, start.Add(time.Hour))
	if f.Len() != maxFacts || f.surplus != len(young) || len(f.byGroup[group{"shop", "Deployment/young-0", "a"}]) != 1 {
		t.Errorf("%d, %d left out", f.Len(), f.surplus)
	}
	if f = (*Facts)(nil).With(append(young, old...), start); f.Len() != maxFacts || f.surplus != len(young) {
		t.Errorf("at once: %d, %d left out", f.Len(), f.surplus)
	}

	var notes []string
	k := &Keeper{Store: &shelf{}, Note: func(text string) { notes = append(notes, text) }}
	if err := k.Keep(t.Context(), start); err != nil || k.Dropped() != 0 || len(notes) != 0 {
		t.Errorf("%v, %d dropped, notes %q", err, k.Dropped(), notes)
	}
	k.facts.Store(f)
	for range 2 {
		if err := k.Keep(t.Context(), start); err != nil || k.Dropped() < maxFacts/2 || len(notes) != 1 {
			t.Errorf("%v, %d dropped, notes %q", err, k.Dropped(), notes)
		}
	}
}

// TestAskInTime: agents that accept connections but never answer are silent, and so are those
// not asked in time.
func TestAskInTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	const n = 3 * maxConcurrent
	agents := &Agents{Host: "agents", Port: port, within: 100 * time.Millisecond, Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		return slices.Repeat([]netip.Addr{netip.MustParseAddr("127.0.0.1")}, n), nil
	}}
	asked, err := agents.Ask(t.Context())
	if err != nil || asked.Agents != n || asked.Silent != n || len(asked.Facts) != 0 {
		t.Errorf("%v, %+v", err, asked)
	}
	if roundTimeout >= Every {
		t.Errorf("a round of %s takes more than the %s until the next", roundTimeout, Every)
	}
}

// allocated returns the bytes that work allocates.
func allocated(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestReadHostile: reading a document of empty elements allocates little more than its text,
// freed memory included.
func TestReadHostile(t *testing.T) {
	const n = 1_000_000
	list := strings.Repeat("{},", n) + "{}"
	for _, text := range []string{
		`{"snug":"v1","kind":"agent","containers":[` + list + `]}`,
		`{"snug":"v1","kind":"agent","other_containers":[` + list + `]}`,
		`{"snug":"v1","kind":"agent","containers":[{"processes":[` + list + `]}]}`,
	} {
		var facts []Fact
		var err error
		took := allocated(func() { facts, err = Read(strings.NewReader(text)) })
		if err != nil || len(facts) != 0 {
			t.Errorf("%v, %d facts", err, len(facts))
		}
		if took > 6*uint64(len(text)) {
			t.Errorf("%.60s: %d bytes for a text of %d", text, took, len(text))
		}
	}
}

// workloads returns facts of n workloads.
func workloads(n int) []Fact {
	all := make([]Fact, n)
	for i := range all {
		all[i] = fact("web:1", digest('a'), "1.22", true)
		all[i].Workload = fmt.Sprint("Deployment/web-", i)
	}
	return all
}

// TestWithOnce: With indexes the facts once, and sorts them only if some must go.
func TestWithOnce(t *testing.T) {
	f := (*Facts)(nil).With(workloads(maxFacts/4), start)
	index := allocated(func() { indexed(f.all) })
	if took := allocated(func() { f.With(nil, start.Add(time.Minute)) }); took > 3*index {
		t.Errorf("With allocates %d bytes, and an index is of %d", took, index)
	}
}

// TestSurplusOnce: a fact of several agents counts once as left out, and that count is bounded.
func TestSurplusOnce(t *testing.T) {
	all := workloads(2*maxFacts + 10)
	s := newSightings()
	s.add(all[:maxFacts])
	for range 3 {
		s.add(all[maxFacts : maxFacts+5])
		s.add(all[:5])
	}
	if len(s.all) != maxFacts || len(s.surplus) != 5 {
		t.Errorf("%d, %d left out", len(s.all), len(s.surplus))
	}
	if s.add(all); len(s.all) != maxFacts || len(s.surplus) != maxFacts {
		t.Errorf("%d, %d left out", len(s.all), len(s.surplus))
	}

	// In any order of answers.
	document := func(facts []Fact) string {
		b := []byte(`{"snug":"v1","kind":"agent","containers":[],"other_containers":[`)
		for i := range facts {
			b = fmt.Appendf(b, `{"namespace":"shop","workload":"%s","container":"a","image":"web:1"},`, facts[i].Workload)
		}
		return string(b[:len(b)-1]) + "]}"
	}
	most, others := document(all[:maxFacts]), document(all[maxFacts:maxFacts+5])
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, map[bool]string{true: most, false: others}[asked.Add(1) == 1])
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	agents := &Agents{Host: "agents", Port: port, Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		return slices.Repeat([]netip.Addr{netip.MustParseAddr("127.0.0.1")}, 4), nil
	}}
	if got, err := agents.Ask(t.Context()); err != nil || got.Silent != 0 || len(got.Facts) != maxFacts || got.Surplus != 5 {
		t.Errorf("%v, %d silent, %d facts, %d left out", err, got.Silent, len(got.Facts), got.Surplus)
	}
}
