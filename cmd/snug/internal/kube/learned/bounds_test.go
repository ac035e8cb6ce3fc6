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
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
)

// images are those that are known of a container, sorted.
func images(f *Facts, container string) string {
	var all []string
	for _, one := range f.byGroup[group{"shop", "Deployment/web", container}] {
		all = append(all, one.Image)
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// TestRollouts: of a workload that is rolled out again and again the newest images are
// remembered, and those that still run.
func TestRollouts(t *testing.T) {
	version := func(n int) Fact { return fact(fmt.Sprint("web:", n), "", "1.22", true) }
	other := version(0)
	other.Container = "b"
	f := (*Facts)(nil).With([]Fact{other}, start)
	now := start
	for n := 1; n <= 9; n++ {
		now = now.Add(20 * time.Hour)
		f = f.With([]Fact{version(1), version(n)}, now) // the first goes on running somewhere
	}
	if got, want := images(f, "a"), "web:1 web:7 web:8 web:9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := images(f, "b"); got != "web:0" {
		t.Errorf("another container has %q", got)
	}
	// All run at the same time, and none takes the place of another.
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

// TestMoved: a digest is of one image for ever, and a name is not.
func TestMoved(t *testing.T) {
	for d, want := range map[string]podpatch.Program{digest('a'): isGo(22, true), "": {State: podpatch.NotGo}} {
		f := (*Facts)(nil).With([]Fact{fact("web:latest", d, "1.22", true)}, start).With([]Fact{fact("web:latest", d, "", false)}, start.Add(time.Hour))
		if got := f.Program("shop", "Deployment/web", "a", "web:latest"); got != want {
			t.Errorf("digest %q: %+v, want %+v", d, got, want)
		}
	}
}

// TestMostFacts: what is remembered is bounded, what is left out is counted, and it is said
// once.
func TestMostFacts(t *testing.T) {
	var old, young []Fact
	for n := range mostFacts {
		one := fact("web:1", "", "1.22", true)
		one.Workload = fmt.Sprint("Deployment/web-", n)
		old = append(old, one)
		if n < 5 {
			one.Workload = fmt.Sprint("Deployment/young-", n)
			young = append(young, one)
		}
	}
	f := (*Facts)(nil).With(old, start).With(young, start.Add(time.Hour))
	if f.Len() != mostFacts || f.surplus != len(young) || len(f.byGroup[group{"shop", "Deployment/young-0", "a"}]) != 1 {
		t.Errorf("%d, %d left out", f.Len(), f.surplus)
	}
	if f = (*Facts)(nil).With(append(young, old...), start); f.Len() != mostFacts || f.surplus != len(young) {
		t.Errorf("at once: %d, %d left out", f.Len(), f.surplus)
	}

	var said []string
	k := &Keeper{Store: &shelf{}, Note: func(text string) { said = append(said, text) }}
	if err := k.Keep(t.Context(), start); err != nil || k.Dropped() != 0 || len(said) != 0 {
		t.Errorf("%v, %d dropped, said %q", err, k.Dropped(), said)
	}
	k.facts.Store(f)
	for range 2 {
		if err := k.Keep(t.Context(), start); err != nil || k.Dropped() < mostFacts/2 || len(said) != 1 {
			t.Errorf("%v, %d dropped, said %q", err, k.Dropped(), said)
		}
	}
}

// TestAskInTime: agents that take connections and never answer are silent, and so are those
// whose turn does not come.
func TestAskInTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	const n = 3 * atOnce
	agents := &Agents{Host: "agents", Port: port, within: 100 * time.Millisecond, Lookup: func(context.Context, string, string) ([]netip.Addr, error) {
		return slices.Repeat([]netip.Addr{netip.MustParseAddr("127.0.0.1")}, n), nil
	}}
	asked, err := agents.Ask(t.Context())
	if err != nil || asked.Agents != n || asked.Silent != n || len(asked.Facts) != 0 {
		t.Errorf("%v, %+v", err, asked)
	}
	if roundWithin >= every {
		t.Errorf("a round of %s takes more than the %s until the next", roundWithin, every)
	}
}

// TestReadHostile: a document of empty elements takes not much more room than its text.
func TestReadHostile(t *testing.T) {
	const n = 1_000_000
	list := strings.Repeat("{},", n) + "{}"
	for _, text := range []string{
		`{"snug":"v1","kind":"agent","containers":[` + list + `]}`,
		`{"snug":"v1","kind":"agent","other_containers":[` + list + `]}`,
		`{"snug":"v1","kind":"agent","containers":[{"processes":[` + list + `]}]}`,
	} {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		facts, err := Read(strings.NewReader(text))
		runtime.ReadMemStats(&after)
		if err != nil || len(facts) != 0 {
			t.Errorf("%v, %d facts", err, len(facts))
		}
		// The heap never holds more than what was got of the system for it.
		if took := int64(after.HeapSys) - int64(before.HeapSys); took > 64<<20 {
			t.Errorf("%.60s: the heap grew by %d bytes", text, took)
		}
	}
}
