// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/internal/plan"
)

var start = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

func digest(c byte) string { return "sha256:" + strings.Repeat(string(c), 64) }

func encoded(f *Facts) []byte {
	text, _ := f.Encode()
	return text
}

func fact(image, digest, version string, blind bool) Fact {
	return Fact{Namespace: "shop", Workload: "Deployment/web", Container: "a", Image: image, Digest: digest, Go: version, Blind: blind}
}

func isGo(minor int, blind bool) podpatch.Program {
	return podpatch.Program{State: podpatch.IsGo, Go: plan.Go{Minor: minor, Blind: blind}}
}

func TestProgram(t *testing.T) {
	var f *Facts
	f = f.With([]Fact{fact("web:1", digest('a'), "1.22", true)}, start)
	f = f.With([]Fact{fact("web:2", digest('b'), "1.26", false), fact("web:latest", digest('c'), "1.24", true)}, start.Add(time.Hour))
	f = f.With([]Fact{fact("web:latest", digest('d'), "", false)}, start.Add(2*time.Hour))
	// Seen again: First stays.
	f = f.With([]Fact{fact("web:1", digest('a'), "1.22", true)}, start.Add(40*time.Hour))
	unknown, not := podpatch.Program{}, podpatch.Program{State: podpatch.NotGo}
	for _, c := range []struct {
		name, namespace, workload, container, image string
		want                                        podpatch.Program
	}{
		{"by its name", "shop", "Deployment/web", "a", "web:2", isGo(26, false)},
		{"by its digest", "shop", "Deployment/web", "a", "web:9@" + digest('a'), isGo(22, true)},
		{"a name that was moved", "shop", "Deployment/web", "a", "web:latest", not},
		{"a name that was moved, by its digest", "shop", "Deployment/web", "a", "web:latest@" + digest('c'), isGo(24, true)},
		{"an image that is new", "shop", "Deployment/web", "a", "web:3", not},
		{"another container", "shop", "Deployment/web", "b", "web:1", unknown},
		{"another workload", "shop", "StatefulSet/web", "a", "web:1", unknown},
		{"another namespace", "bank", "Deployment/web", "a", "web:1", unknown},
	} {
		if got := f.Program(c.namespace, c.workload, c.container, c.image); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
	if got := (*Facts)(nil).Program("shop", "Deployment/web", "a", "web:1"); got != unknown {
		t.Errorf("of no facts: %+v", got)
	}
}

func TestWith(t *testing.T) {
	one := fact("web:1", digest('a'), "1.22", true)
	f := (*Facts)(nil).With([]Fact{one}, start)
	text := encoded(f)
	for hours := 1; hours < 12; hours++ {
		if f = f.With([]Fact{one}, start.Add(time.Duration(hours)*time.Hour)); !bytes.Equal(encoded(f), text) {
			t.Fatalf("the text changes after %d hours: %s", hours, encoded(f))
		}
	}
	if f = f.With([]Fact{one}, start.Add(13*time.Hour)); bytes.Equal(encoded(f), text) {
		t.Error("Last is not renewed")
	}
	changed := one
	changed.Blind = false
	if got := f.With([]Fact{changed}, start.Add(14*time.Hour)).Program("shop", "Deployment/web", "a", "web:1"); got != isGo(22, false) {
		t.Errorf("another GODEBUG: %+v", got)
	}
	if f.With(nil, start.Add(30*24*time.Hour)).Len() != 1 || f.With(nil, start.Add(31*24*time.Hour)).Len() != 0 {
		t.Error("an unseen fact must hold for 30 days")
	}
	// Times in the future are cut.
	if got := f.With(nil, start.Add(-time.Hour)); got.Len() != 1 || got.With(nil, start.Add(31*24*time.Hour)).Len() != 0 {
		t.Error("a wrong clock makes a fact hold for longer")
	}
	// In any order.
	none := one
	none.Go, none.Blind = "", false
	a, b := (*Facts)(nil).With([]Fact{none, one}, start), (*Facts)(nil).With([]Fact{one, none}, start)
	if !bytes.Equal(encoded(a), encoded(b)) || !bytes.Equal(encoded(a), text) {
		t.Errorf("%s%s", encoded(a), encoded(b))
	}
	// If the same image is seen without its Go program, the fact and its times stay.
	if got := a.With([]Fact{none}, start.Add(13*time.Hour)); !bytes.Equal(encoded(got), text) {
		t.Errorf("%s", encoded(got))
	}
	if got := (*Facts)(nil).With([]Fact{none}, start).With([]Fact{one}, start.Add(time.Hour)).Program("shop", "Deployment/web", "a", "web:1"); got != isGo(22, true) {
		t.Errorf("%+v", got)
	}
}

// TestMerged: replicas that exchange facts in any order end with the same text.
func TestMerged(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	some := func() *Facts {
		var f *Facts
		for i := range r.IntN(20) {
			one := fact(fmt.Sprint("web:", r.IntN(3)), digest("abc"[r.IntN(3)]), []string{"", "1.22", "1.26"}[r.IntN(3)], r.IntN(2) == 0)
			one.Container = string(rune('a' + r.IntN(3)))
			f = f.With([]Fact{one}, start.Add(time.Duration(i*r.IntN(20))*time.Hour))
		}
		return f
	}
	now := start.Add(20 * 24 * time.Hour)
	for range 500 {
		a, b, c := some(), some(), some()
		left := encoded(Merged(Merged(a, b, now), c, now))
		right := encoded(Merged(c, Merged(b, a, now), now))
		if !bytes.Equal(left, right) {
			t.Fatalf("%s\n%s", left, right)
		}
		again, err := Decode(left)
		if err != nil || !bytes.Equal(encoded(Merged(again, a, now)), left) {
			t.Fatalf("%v: %s", err, left)
		}
	}
}

func TestEncodeBounded(t *testing.T) {
	var seen []Fact
	for i := range 10000 {
		one := fact("registry.example/some/where/"+fmt.Sprint(i)+":v1", digest("0123456789abcdef"[i%16]), "1.22", true)
		one.Workload = fmt.Sprintf("Deployment/web-%d", i)
		seen = append(seen, one)
	}
	f := (*Facts)(nil).With(seen[:5000], start).With(seen[5000:], start.Add(time.Hour))
	text, dropped := f.Encode()
	got, err := Decode(text)
	if err != nil || len(text) > maxText || len(text) < maxText*9/10 || dropped != f.Len()-got.Len() {
		t.Errorf("%v, %d bytes of %d facts", err, len(text), f.Len())
	}
	newer := 0
	for _, one := range got.all {
		if one.Last > start.Unix() {
			newer++
		}
	}
	if newer != min(5000, got.Len()) {
		t.Errorf("%d of %d that were kept are newer", newer, got.Len())
	}
}

const document = `{"snug":"v1","kind":"agent","containers":[
{"namespace":"shop","workload":"Deployment/web","container":"a","image":"web:1","image_digest":"DIGEST","processes":[{"go_version":"go1.26.8","container_aware":false},{"go_version":"go1.18"}]},
{"namespace":"shop","workload":"Deployment/web","container":"b","image":"web:1","processes":[{"go_version":"go1.22rc1 X:nocoverageredesign"}]},
{"namespace":"shop","workload":"Deployment/web","container":"c","image":"web:1","processes":[{"go_version":"devel go1.27-abc"}]},
{"namespace":"shop","workload":"Deployment/web","container":"d","image":"web:1","processes":[]},
{"namespace":"shop","workload":null,"container":"e","image":"web:1","processes":[{"go_version":"go1.22"}]},
{"namespace":"shop","workload":"Deployment/web","container":"f","processes":[{"go_version":"go1.22"}]},
{"namespace":"../x","workload":"Deployment/web","container":"g","image":"web:1","processes":[{"go_version":"go1.22"}]}],
"other_containers":[{"namespace":"shop","workload":"Deployment/web","container":"z","image":"nginx:1"}]}`

func TestRead(t *testing.T) {
	facts, err := Read(strings.NewReader(strings.Replace(document, "DIGEST", digest('a'), 1)))
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, f := range facts {
		got += fmt.Sprintf("%s %q %t %.8s; ", f.Container, f.Go, f.Blind, f.Digest)
	}
	if want := `a "1.26" true sha256:a; b "1.22" true ; z "" false ; `; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for _, text := range []string{"", "null", "{}", "[]", `{"snug":"v1","kind":"diagnosis"}`, document[:100]} {
		if facts, err := Read(strings.NewReader(text)); err == nil || facts != nil {
			t.Errorf("%q: %v", text, facts)
		}
	}
}

// shelf is a Store in memory.
type shelf struct {
	mu      sync.Mutex
	text    []byte
	version int
	fails   error
	saves   int
}

func (s *shelf) Load(context.Context) ([]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.version == 0 {
		return nil, "", s.fails
	}
	return s.text, fmt.Sprint(s.version), s.fails
}

func (s *shelf) Save(_ context.Context, text []byte, version string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if version != fmt.Sprint(s.version) && (version != "" || s.version != 0) {
		return ErrConflict
	}
	s.text = text
	s.version++
	s.saves++
	return nil
}

func TestKeep(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/findings" {
			http.NotFound(w, r)
		}
		fmt.Fprint(w, strings.Replace(document, "DIGEST", digest('a'), 1))
	}))
	defer server.Close()
	_, port, _ := net.SplitHostPort(server.Listener.Addr().String())
	agents := &Agents{Host: "agents", Port: port, Lookup: func(_ context.Context, _, host string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.1")}, nil
	}}
	s := &shelf{}
	// One replica asks, the other only reads; both start at the same time as a third.
	keepers := []*Keeper{{Agents: agents, Store: s}, {Store: s}, {Agents: agents, Store: s}}
	for round := range 3 {
		var group sync.WaitGroup
		for _, k := range keepers {
			group.Go(func() {
				if err := k.Keep(t.Context(), start.Add(time.Duration(round)*time.Minute)); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
	}
	for i, k := range keepers {
		if got := k.Facts().Program("shop", "Deployment/web", "a", "web:7"); got != isGo(26, true) {
			t.Errorf("replica %d: %+v", i, got)
		}
	}
	if n, silent := keepers[0].Asked(); n != 2 || silent != 0 {
		t.Errorf("%d agents, %d silent", n, silent)
	}
	if s.saves > 2 {
		t.Errorf("written %d times", s.saves)
	}

	// Without the store, and without agents, the facts stay.
	away := &Keeper{Agents: agents, Store: &shelf{fails: errors.New("no server")}}
	if err := away.Keep(t.Context(), start); err == nil || away.Facts().Len() != 3 {
		t.Errorf("%v, %d facts", err, away.Facts().Len())
	}
	nobody := &Keeper{Agents: &Agents{Lookup: func(context.Context, string, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }}, Store: s}
	if err := nobody.Keep(t.Context(), start); err == nil || nobody.Facts().Len() != 3 {
		t.Errorf("%v, %d facts", err, nobody.Facts().Len())
	}
	// An unreadable text stays until there are facts.
	broken := &shelf{text: []byte("x"), version: 1}
	if err := (&Keeper{Store: broken}).Keep(t.Context(), start); err != nil || broken.saves != 0 {
		t.Errorf("%v, written %d times", err, broken.saves)
	}
	if err := (&Keeper{Agents: agents, Store: broken}).Keep(t.Context(), start); err != nil || broken.saves != 1 {
		t.Errorf("%v, written %d times", err, broken.saves)
	}
}

func TestParseAgents(t *testing.T) {
	for text, ok := range map[string]bool{"snug-agent.snug.svc:9464": true, "[::1]:80": true, "host": false, ":80": false, "host:": false, "host:http": false, "host:0": false, "host:65536": false, "host:99999999": false, "host:+1": false, "": false} {
		if a, got := ParseAgents(text); got != ok || ok != (a != nil) {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(encoded((*Facts)(nil).With([]Fact{fact("web:1", digest('a'), "1.22", true), fact("web:2", "", "", false)}, start)))
	f.Add([]byte(`[{"namespace":"a","workload":"b/c","container":"d","image":"e","first":-1,"last":9223372036854775807}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		facts, err := Decode(text)
		if err != nil && facts.Len() > 0 {
			t.Fatal(err)
		}
		now := Merged(facts, nil, start)
		again, err := Decode(encoded(now))
		if err != nil || !bytes.Equal(encoded(again), encoded(now)) {
			t.Fatalf("%v: %s", err, encoded(now))
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(strings.Replace(document, "DIGEST", digest('a'), 1))
	f.Fuzz(func(t *testing.T, text string) {
		facts, err := Read(strings.NewReader(text))
		for _, one := range facts {
			if err != nil || !one.valid() && one.Last == 0 {
				t.Fatalf("%v: %+v", err, one)
			}
		}
	})
}

// TestReadYoung: a process that has just started may be a probe, and gives no fact.
func TestReadYoung(t *testing.T) {
	for started, learned := range map[string]bool{
		`"2026-11-22T12:00:00Z"`: true, `"2026-11-22T12:29:00Z"`: true, `"2026-11-22T12:29:01Z"`: false,
		`"2026-11-22T12:31:00Z"`: false, `null`: true, `"once"`: true,
	} {
		facts, err := Read(strings.NewReader(`{"snug":"v1","kind":"agent","at":"2026-11-22T12:30:00Z","containers":[{"namespace":"shop","workload":"Deployment/web",
"container":"a","image":"x","image_digest":"` + digest('a') + `","processes":[{"go_version":"go1.22.1","container_aware":false,"started":` + started + `}]}]}`))
		if err != nil || (len(facts) == 1) != learned || learned && !facts[0].Blind {
			t.Errorf("started %s: %v, %v", started, facts, err)
		}
	}
}
