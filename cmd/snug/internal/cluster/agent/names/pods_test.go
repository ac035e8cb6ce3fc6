// SPDX-License-Identifier: Apache-2.0

package names

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestPods checks names that were listed, changed and deleted.
func TestPods(t *testing.T) {
	s := serveAPI(t)
	n := NewPods(s.client(t), "node-1", nil)
	if _, ok := n.Lookup(cartUID, "aaaa"); ok {
		t.Error("a name before the list")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	waitName(t, n, etcdSum, "bbbb", "kube-system/etcd-node-1/etcd true") // the mirror of a static pod
	waitName(t, n, cartUID, "ffff", "shop/cart-1/ true")                 // a sandbox, or one not reported yet
	s.send(t, `{"type":"MODIFIED","object":`+strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "cccc", ""), "\n", "")+`}`)
	waitName(t, n, cartUID, "cccc", "shop/cart-1/app true")
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("13", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", ""), "\n", "")+`}`)
	waitName(t, n, etcdSum, "bbbb", "// false")
	waitName(t, n, etcdUID, "bbbb", "// false")
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	const selector = "spec.nodeName=node-1,status.phase!=Succeeded,status.phase!=Failed"
	if want := "/api/v1/pods " + selector + "  0 Bearer t0ken"; s.received[0] != want {
		t.Errorf("%q, want %q", s.received[0], want)
	}
	if want := "/api/v1/pods " + selector + " 1 10 Bearer t0ken"; s.received[1] != want {
		t.Errorf("%q, want %q", s.received[1], want)
	}
}

// TestPodsFull: that a pod is left out is noted once, and after a deletion the next pod is
// added.
func TestPodsFull(t *testing.T) {
	s := serveAPI(t)
	notes := make(chan string, 99)
	n := withShortPauses(NewPods(s.client(t), "node-1", func(text string) { notes <- text }))
	var items []string
	for i := range maxPods {
		items = append(items, fmt.Sprintf(`{"metadata":{"uid":"%d"}}`, i))
	}
	s.items = strings.Join(items, ",")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	added := `{"type":"ADDED","object":` + strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "aaaa", ""), "\n", "") + `}`
	s.send(t, `{"type":"MODIFIED","object":{"metadata":{"uid":"7","namespace":"shop"}}}`) // a known pod
	waitName(t, n, "7", "", "shop// true")
	if len(notes) > 0 {
		t.Errorf("%q", <-notes)
	}
	for range 3 {
		s.send(t, added)
	}
	if text := nextNote(t, notes); !strings.HasPrefix(text, "note: more than 5000 pods are on the node") {
		t.Errorf("%q", text)
	}
	s.send(t, `{"type":"DELETED","object":{"metadata":{"uid":"7"}}}`)
	s.send(t, added)
	waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	stop()
	<-ended
	if len(notes) > 0 {
		t.Errorf("%q", <-notes)
	}

	s.items += "," + podText("5", cartUID, "shop", "cart-1", "app", "aaaa", "")
	n = NewPods(s.client(t), "node-1", func(text string) { notes <- text })
	for range 2 {
		if err := n.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := n.Lookup(cartUID, "aaaa"); ok || len(notes) != 1 {
		t.Errorf("it has a name: %t; %d notes", ok, len(notes))
	}
}

// TestPodsExpired: a version that is too old causes a list.
func TestPodsExpired(t *testing.T) {
	s := serveAPI(t)
	n := withShortPauses(NewPods(s.client(t), "node-1", nil))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go n.Run(ctx)
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "aaaa", ""), "\n", "")+`}`)
	waitName(t, n, cartUID, "aaaa", "// false")
	s.send(t, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`)
	waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
}

// TestPodsBroken: a watch that breaks off continues from its version, and after a second
// time with a list. Until then the old names stay. The error is noted once.
func TestPodsBroken(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"no JSON", `{"type":"MODIFIED","object":`},
		{"a page of a proxy", `<html>`},
		{"another failure", `{"type":"ERROR","object":{"kind":"Status","code":500}}`},
		{"a failure without a status", `{"type":"ERROR","object":null}`},
		{"an object of another kind", `{"type":"ADDED","object":[]}`},
		{"an event that never ends", `{"type":"ADDED","object":{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxEventBytes) + `"}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveAPI(t)
			notes := make(chan string, 9)
			n := withShortPauses(NewPods(s.client(t), "node-1", func(text string) { notes <- text }))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan bool)
			go func() { n.Run(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
			s.mu.Lock()
			s.items = podText("20", cartUID, "shop", "cart-2", "app", "aaaa", "")
			s.mu.Unlock()
			for again := range 2 {
				s.waitWatches(t, again+1)
				waitName(t, n, etcdSum, "bbbb", "kube-system/etcd-node-1/etcd true")
				s.send(t, c.line)
				if c.name == "no JSON" {
					s.send(t, "}") // the next line is not the rest of it
				}
			}
			if text := nextNote(t, notes); !strings.HasPrefix(text, "error: no names of pods: the watch of pods ") {
				t.Errorf("%q", text)
			}
			waitName(t, n, cartUID, "aaaa", "shop/cart-2/app true")
			waitName(t, n, etcdSum, "bbbb", "// false")
			s.waitWatches(t, 3)
			s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"21"}}}`)
			if text := nextNote(t, notes); text != "note: the API server serves the names of pods again" {
				t.Errorf("%q", text)
			}
			if got := s.requests(); got != "list 10 10 list 10" {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

// TestPodsResumed: a server that cannot be reached for a while, or breaks off a watch that
// brought events, is not asked for a list.
func TestPodsResumed(t *testing.T) {
	s := serveAPI(t)
	notes := make(chan string, 99)
	n := withShortPauses(NewPods(s.client(t), "node-1", func(text string) { notes <- text }))
	var mu sync.Mutex
	var waits []time.Duration
	n.pause = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		if waits = append(waits, d); len(waits) == 6 {
			s.set(0, 0)
		}
		return Pause(ctx, time.Millisecond)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	s.waitWatches(t, 1)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"}}}`)
	s.set(0, -1)
	s.send(t, `<html>`)
	s.waitWatches(t, 2)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	s.send(t, `<html>`)
	s.waitWatches(t, 3)
	mu.Lock()
	defer mu.Unlock()
	nominal, early := minWait, 0
	for i, d := range waits[:6] {
		if d < nominal/2 || d > nominal {
			t.Errorf("wait %d: %s, want up to %s", i, d, nominal)
		}
		if d < nominal-nominal/100 {
			early++
		}
		nominal = min(2*nominal, maxWait)
	}
	if early == 0 {
		t.Errorf("all nodes wait equally long: %s", waits)
	}
	if got := s.requests(); strings.Count(got, "list") != 1 || !strings.HasPrefix(got, "list 10 11 11 ") || !strings.HasSuffix(got, " 11 12") {
		t.Errorf("asked for %s", got)
	}
	if text := nextNote(t, notes); !strings.HasPrefix(text, "error: no names of pods: ") {
		t.Errorf("%q", text)
	}
}

// TestPodsWaits: if lists are allowed and watches are not, the waits double, and the error
// is noted once. A watch that lasts counts as good, also without events.
func TestPodsWaits(t *testing.T) {
	const attempts = 12
	s := serveAPI(t)
	s.set(0, http.StatusForbidden)
	notes := make(chan string, 99)
	n := NewPods(s.client(t), "node-1", func(text string) { notes <- text })
	n.goodAfter = time.Millisecond
	var waits []time.Duration
	n.pause = func(_ context.Context, d time.Duration) error {
		if waits = append(waits, d); len(waits) == attempts {
			s.set(0, 0)
		}
		return nil
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	if text := nextNote(t, notes); !strings.Contains(text, "the verbs list and watch on pods") || strings.ContainsAny(text, "?&") {
		t.Errorf("%q", text)
	}
	if text := nextNote(t, notes); text != "note: the API server serves the names of pods again" {
		t.Errorf("%q", text)
	}
	stop()
	<-ended
	if lists := strings.Count(s.requests(), "list"); lists != attempts/maxIdle+1 {
		t.Errorf("%d lists", lists)
	}
	if len(waits) < attempts {
		t.Fatalf("%d attempts", len(waits))
	}
	nominal := minWait
	for i, d := range waits[:attempts] {
		if d < nominal/2 || d >= nominal+spread {
			t.Errorf("wait %d: %s, want about %s", i, d, nominal)
		}
		nominal = min(2*nominal, maxWait)
	}
}

// TestPodsNeverNew: if every listed version is too old to watch from, that is noted once.
func TestPodsNeverNew(t *testing.T) {
	s := serveAPI(t)
	s.set(0, http.StatusGone)
	var notes []string
	n := NewPods(s.client(t), "node-1", func(text string) { notes = append(notes, text) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	attempts := 0
	n.pause = func(context.Context, time.Duration) error {
		if attempts++; attempts == 9 {
			stop()
		}
		return nil
	}
	n.Run(ctx)
	if len(notes) != 1 || !strings.Contains(notes[0], "too old") {
		t.Errorf("%q", notes)
	}
	if got := s.requests(); strings.Count(got, "list 10") != 9 {
		t.Errorf("asked for %s", got)
	}
}

// TestPodsOtherwise: a different error is noted, the same one only once.
func TestPodsOtherwise(t *testing.T) {
	s := serveAPI(t)
	statuses := []int{500, 500, 403, 403, 403, -1, -1, 500}
	s.set(500, 0)
	var notes []string
	n := NewPods(s.client(t), "node-1", func(text string) { notes = append(notes, text) })
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	n.pause = func(context.Context, time.Duration) error {
		if statuses = statuses[1:]; len(statuses) == 0 {
			stop()
			return nil
		}
		s.set(statuses[0], 0)
		return nil
	}
	n.Run(ctx)
	if len(notes) != 4 || !strings.Contains(notes[0], "pods: 500") || !strings.Contains(notes[1], "verbs list and watch") || !strings.Contains(notes[2], "EOF") || notes[3] != notes[0] {
		t.Errorf("%q", notes)
	}
}

// TestPodsEnds: after the server ends a watch, the next one continues from its version.
func TestPodsEnds(t *testing.T) {
	s := serveAPI(t)
	n := withShortPauses(NewPods(s.client(t), "node-1", func(text string) { t.Error(text) }))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("11", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", ""), "\n", "")+`}`)
	s.send(t, `{"type":"BOOKMARK","object":{"kind":"Pod"}}`) // without a version
	s.send(t, "")                                            // ends
	s.send(t, `{"type":"MODIFIED","object":`+strings.ReplaceAll(podText("12", cartUID, "shop", "cart-1", "app", "cccc", ""), "\n", "")+`}`)
	waitName(t, n, cartUID, "cccc", "shop/cart-1/app true")
	waitName(t, n, etcdSum, "bbbb", "// false")
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.received) != 3 || !strings.Contains(s.received[2], " 1 11 ") {
		t.Errorf("%q", s.received)
	}
}

// TestListBroken: an invalid list changes nothing.
func TestListBroken(t *testing.T) {
	s := serveAPI(t)
	n := NewPods(s.client(t), "node-1", nil)
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, items := range []string{`{`, `3`, `{"metadata":{"uid":7}}`, `{"metadata":{"uid":"x"}},`, `]],"x":[[`} {
		s.mu.Lock()
		s.items = items
		s.mu.Unlock()
		if err := n.List(t.Context()); err == nil {
			t.Errorf("%q is a list", items)
		}
		waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	}
	for _, text := range []string{"", "null", "[]", `{"items":{}}`, `{"items":null}`, `{"metadata":[]}`, `{"kind":`, `{"items":[]`} {
		if _, err := n.read(strings.NewReader(text)); err == nil {
			t.Errorf("%q is a list", text)
		}
	}
	if version, err := n.read(strings.NewReader(`{"kind":{"a":[1]},"items":[],"metadata":{"resourceVersion":"7","x":{}}}`)); err != nil || version != "7" {
		t.Errorf("%q, %v", version, err)
	}
}

// TestPodsRefused: the error is noted once, the old names stay, and it recovers by itself.
func TestPodsRefused(t *testing.T) {
	s := serveAPI(t)
	var mu sync.Mutex
	var notes []string
	n := withShortPauses(NewPods(s.client(t), "node-1", func(text string) {
		mu.Lock()
		defer mu.Unlock()
		notes = append(notes, text)
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"}}}`) // the watch has begun
	s.set(http.StatusForbidden, 0)
	s.send(t, `{"type":"ERROR","object":{"kind":"Status","code":410}}`)
	until := func(what string) {
		t.Helper()
		for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			all := strings.Join(notes, "\n")
			mu.Unlock()
			if strings.Contains(all, what) {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%q, want %q", all, what)
			}
		}
	}
	until("the verbs list and watch on pods")
	waitName(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	s.set(0, 0)
	s.waitWatches(t, 2)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	until("names of pods again")
	stop()
	<-ended
	all := strings.Join(notes, "\n")
	for _, what := range []string{"the verbs list and watch on pods", "names of pods again"} {
		if strings.Count(all, what) != 1 {
			t.Errorf("%q, want %q once", notes, what)
		}
	}
}

// TestNamesToken: the token is read for each request, because a kubelet renews it.
func TestNamesToken(t *testing.T) {
	s := serveAPI(t)
	n := NewPods(s.client(t), "node-1", nil)
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(s.received[0], "Bearer t0ken") || !strings.HasSuffix(s.received[1], "Bearer second") {
		t.Errorf("%q", s.received)
	}
}
