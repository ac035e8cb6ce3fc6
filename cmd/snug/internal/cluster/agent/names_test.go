// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"context"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

const (
	cartUID = "0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	etcdUID = "1ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	etcdSum = "4f5b1bca2b1d3e6f708192a3b4c5d6e7"
)

// pod is one as the API server writes it.
func podText(version, uid, namespace, name, container, id, annotations string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":%q,"annotations":{%s}},
"status":{"containerStatuses":[{"name":%q,"containerID":"containerd://%s"}],"initContainerStatuses":[{"name":"init","containerID":""}]}}`,
		namespace, name, uid, version, annotations, container, id)
}

// server is an API server that knows one node's pods.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	began  int         // watches
	events chan string // lines of the last watch; "" = it ends
	refuse int         // status of the next answers
	cut    int         // status of the next watches; below 0 = the connection is cut
	items  string      // that are listed
	dir    string      // of its clients' token
}

func serveAPI(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.items = podText("5", cartUID, "shop", "cart-1", "app", "aaaa", "") + "," +
		podText("6", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", `"kubernetes.io/config.hash":"`+etcdSum+`","kubernetes.io/config.mirror":"`+etcdSum+`"`)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path+" "+q.Get("fieldSelector")+" "+q.Get("watch")+" "+q.Get("resourceVersion")+" "+r.Header.Get("Authorization"))
		refuse, items := s.refuse, s.items
		events := make(chan string)
		if q.Get("watch") != "" {
			refuse = cmp.Or(refuse, s.cut)
			if refuse == 0 {
				s.began, s.events = s.began+1, events
			}
		}
		s.mu.Unlock()
		if refuse < 0 {
			panic(http.ErrAbortHandler)
		}
		if refuse != 0 {
			http.Error(w, "no", refuse)
			return
		}
		if q.Get("watch") == "" {
			fmt.Fprintf(w, `{"kind":"PodList","metadata":{"resourceVersion":"10"},"items":[%s]}`, items)
			return
		}
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush() // as the API server does: who watches is told at once that it goes well
		for {
			select {
			case line := <-events:
				if line == "" {
					return
				}
				fmt.Fprintln(w, line)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// send is an event of the last watch, or of the next one when that has ended.
func (s *server) send(t *testing.T, line string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		s.mu.Lock()
		events := s.events
		s.mu.Unlock()
		select {
		case events <- line:
			return
		case <-time.After(5 * time.Millisecond):
		}
		if time.Now().After(late) {
			t.Fatal("nobody watches")
		}
	}
}

// watched waits until so many watches have begun.
func (s *server) watched(t *testing.T, n int) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		s.mu.Lock()
		began := s.began
		s.mu.Unlock()
		if began >= n {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%d watches, want %d", began, n)
		}
	}
}

// asks is what was asked for: the version of each watch, "list" for a list.
func (s *server) asks() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, line := range s.asked {
		if _, version, ok := strings.Cut(line, " 1 "); ok {
			list = append(list, strings.Fields(version)[0])
		} else {
			list = append(list, "list")
		}
	}
	return strings.Join(list, " ")
}

// hear is what is said next.
func hear(t *testing.T, said <-chan string) string {
	t.Helper()
	select {
	case text := <-said:
		return text
	case <-time.After(time.Minute):
		t.Fatal("nothing is said")
		return ""
	}
}

// quick makes n wait hardly at all.
func quick(n *PodNames) *PodNames {
	n.pause = func(ctx context.Context, _ time.Duration) error { return pause(ctx, time.Millisecond) }
	return n
}

// client is one of the server, with what a kubelet gives a pod.
func (s *server) client(t *testing.T) *rest.Client {
	t.Helper()
	s.dir = t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	for name, text := range map[string]string{"ca.crt": string(ca), "token": "t0ken\n"} {
		if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := rest.New(rest.Server{URL: s.URL, TokenFile: filepath.Join(s.dir, "token"), CAFile: filepath.Join(s.dir, "ca.crt")}, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// set is what the next answers are, and the next watches.
func (s *server) set(refuse, cut int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.cut = refuse, cut
}

// knows waits until the names are as they should be.
func knows(t *testing.T, n *PodNames, uid, id, want string) {
	t.Helper()
	var got string
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		c, ok := n.Lookup(uid, id)
		if got = fmt.Sprint(c.Namespace, "/", c.Pod, "/", c.Container, " ", ok); got == want {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s %s: %s, want %s", uid, id, got, want)
		}
	}
}

// TestPodNames: what was listed, what changes, and what goes.
func TestPodNames(t *testing.T) {
	s := serveAPI(t)
	n := NewPodNames(s.client(t), "node-1", nil)
	if _, ok := n.Lookup(cartUID, "aaaa"); ok {
		t.Error("it knows before it was told")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	knows(t, n, etcdSum, "bbbb", "kube-system/etcd-node-1/etcd true") // the mirror of a static pod
	knows(t, n, cartUID, "ffff", "shop/cart-1/ true")                 // a sandbox, or one not reported yet
	s.send(t, `{"type":"MODIFIED","object":`+strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "cccc", ""), "\n", "")+`}`)
	knows(t, n, cartUID, "cccc", "shop/cart-1/app true")
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("13", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", ""), "\n", "")+`}`)
	knows(t, n, etcdSum, "bbbb", "// false")
	knows(t, n, etcdUID, "bbbb", "// false")
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	const selector = "spec.nodeName=node-1,status.phase!=Succeeded,status.phase!=Failed"
	if want := "/api/v1/pods " + selector + "  0 Bearer t0ken"; s.asked[0] != want {
		t.Errorf("%q, want %q", s.asked[0], want)
	}
	if want := "/api/v1/pods " + selector + " 1 10 Bearer t0ken"; s.asked[1] != want {
		t.Errorf("%q, want %q", s.asked[1], want)
	}
}

// TestPodNamesFull: what does not fit is told once, and where there is room again the next one
// is known.
func TestPodNamesFull(t *testing.T) {
	s := serveAPI(t)
	said := make(chan string, 99)
	n := quick(NewPodNames(s.client(t), "node-1", func(text string) { said <- text }))
	var items []string
	for i := range mostPods {
		items = append(items, fmt.Sprintf(`{"metadata":{"uid":"%d"}}`, i))
	}
	s.items = strings.Join(items, ",")
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	added := `{"type":"ADDED","object":` + strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "aaaa", ""), "\n", "") + `}`
	s.send(t, `{"type":"MODIFIED","object":{"metadata":{"uid":"7","namespace":"shop"}}}`) // one that is known
	knows(t, n, "7", "", "shop// true")
	if len(said) > 0 {
		t.Errorf("%q", <-said)
	}
	for range 3 {
		s.send(t, added)
	}
	if text := hear(t, said); !strings.HasPrefix(text, "note: more than 5000 pods are on the node") {
		t.Errorf("%q", text)
	}
	s.send(t, `{"type":"DELETED","object":{"metadata":{"uid":"7"}}}`)
	s.send(t, added)
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	stop()
	<-ended
	if len(said) > 0 {
		t.Errorf("%q", <-said)
	}

	s.items += "," + podText("5", cartUID, "shop", "cart-1", "app", "aaaa", "")
	n = NewPodNames(s.client(t), "node-1", func(text string) { said <- text })
	for range 2 {
		if err := n.List(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := n.Lookup(cartUID, "aaaa"); ok || len(said) != 1 {
		t.Errorf("it is known: %t; %d lines are said of a list", ok, len(said))
	}
}

// TestPodNamesExpired: a version that is too old means to list again.
func TestPodNamesExpired(t *testing.T) {
	s := serveAPI(t)
	n := quick(NewPodNames(s.client(t), "node-1", nil))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go n.Run(ctx)
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("11", cartUID, "shop", "cart-1", "app", "aaaa", ""), "\n", "")+`}`)
	knows(t, n, cartUID, "aaaa", "// false")
	s.send(t, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"too old resource version: 1 (2)","reason":"Expired","code":410}}`)
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
}

// TestPodNamesBroken: a watch that breaks off in any way goes on from where it was, and when
// it does so again by a list; what was known stays until then, and what went wrong is told
// once.
func TestPodNamesBroken(t *testing.T) {
	for _, c := range []struct{ name, line string }{
		{"no JSON", `{"type":"MODIFIED","object":`},
		{"a page of a proxy", `<html>`},
		{"another failure", `{"type":"ERROR","object":{"kind":"Status","code":500}}`},
		{"a failure without a status", `{"type":"ERROR","object":null}`},
		{"an object of another kind", `{"type":"ADDED","object":[]}`},
		{"an event that never ends", `{"type":"ADDED","object":{"metadata":{"annotations":{"a":"` + strings.Repeat("x", mostEvent) + `"}}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := serveAPI(t)
			said := make(chan string, 9)
			n := quick(NewPodNames(s.client(t), "node-1", func(text string) { said <- text }))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan bool)
			go func() { n.Run(ctx); close(ended) }()
			defer func() { stop(); <-ended }()
			knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
			s.mu.Lock()
			s.items = podText("20", cartUID, "shop", "cart-2", "app", "aaaa", "")
			s.mu.Unlock()
			for again := range 2 {
				s.watched(t, again+1)
				knows(t, n, etcdSum, "bbbb", "kube-system/etcd-node-1/etcd true")
				s.send(t, c.line)
				if c.name == "no JSON" {
					s.send(t, "}") // the next line is not the rest of it
				}
			}
			if text := hear(t, said); !strings.HasPrefix(text, "error: no names of pods, the watch of pods ") {
				t.Errorf("%q", text)
			}
			knows(t, n, cartUID, "aaaa", "shop/cart-2/app true")
			knows(t, n, etcdSum, "bbbb", "// false")
			s.watched(t, 3)
			s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"21"}}}`)
			if text := hear(t, said); text != "note: the API server tells the names of pods again" {
				t.Errorf("%q", text)
			}
			if got := s.asks(); got != "list 10 10 list 10" {
				t.Errorf("asked for %s", got)
			}
		})
	}
}

// TestPodNamesResumed: who cannot be reached for a while, and who breaks off what went well,
// is not asked for a list.
func TestPodNamesResumed(t *testing.T) {
	s := serveAPI(t)
	said := make(chan string, 99)
	n := quick(NewPodNames(s.client(t), "node-1", func(text string) { said <- text }))
	var mu sync.Mutex
	var waits []time.Duration
	n.pause = func(ctx context.Context, d time.Duration) error {
		mu.Lock()
		defer mu.Unlock()
		if waits = append(waits, d); len(waits) == 6 {
			s.set(0, 0)
		}
		return pause(ctx, time.Millisecond)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	s.watched(t, 1)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"}}}`)
	s.set(0, -1)
	s.send(t, `<html>`)
	s.watched(t, 2)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	s.send(t, `<html>`)
	s.watched(t, 3)
	mu.Lock()
	defer mu.Unlock()
	nominal, early := leastWait, 0
	for i, d := range waits[:6] {
		if d < nominal/2 || d > nominal {
			t.Errorf("wait %d: %s, want up to %s", i, d, nominal)
		}
		if d < nominal-nominal/100 {
			early++
		}
		nominal = min(2*nominal, mostWait)
	}
	if early == 0 {
		t.Errorf("all nodes wait equally long: %s", waits)
	}
	if got := s.asks(); strings.Count(got, "list") != 1 || !strings.HasPrefix(got, "list 10 11 11 ") || !strings.HasSuffix(got, " 11 12") {
		t.Errorf("asked for %s", got)
	}
	if text := hear(t, said); !strings.HasPrefix(text, "error: no names of pods, ") {
		t.Errorf("%q", text)
	}
}

// TestPodNamesWaits: where lists are granted and watches are not, attempts are ever further
// apart, and that is told once. A watch that lasts is good, also when
// nothing is told.
func TestPodNamesWaits(t *testing.T) {
	const attempts = 12
	s := serveAPI(t)
	s.set(0, http.StatusForbidden)
	said := make(chan string, 99)
	n := NewPodNames(s.client(t), "node-1", func(text string) { said <- text })
	n.lastsFor = time.Millisecond
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
	if text := hear(t, said); !strings.Contains(text, "the verbs list and watch on pods") || strings.ContainsAny(text, "?&") {
		t.Errorf("%q", text)
	}
	if text := hear(t, said); text != "note: the API server tells the names of pods again" {
		t.Errorf("%q", text)
	}
	stop()
	<-ended
	if lists := strings.Count(s.asks(), "list"); lists != attempts/mostIdle+1 {
		t.Errorf("%d lists", lists)
	}
	if len(waits) < attempts {
		t.Fatalf("%d attempts", len(waits))
	}
	nominal := leastWait
	for i, d := range waits[:attempts] {
		if d < nominal/2 || d >= nominal+spread {
			t.Errorf("wait %d: %s, want about %s", i, d, nominal)
		}
		nominal = min(2*nominal, mostWait)
	}
}

// TestPodNamesNeverNew: where each version that was listed is too old to be watched from, that
// is told once.
func TestPodNamesNeverNew(t *testing.T) {
	s := serveAPI(t)
	s.set(0, http.StatusGone)
	var said []string
	n := NewPodNames(s.client(t), "node-1", func(text string) { said = append(said, text) })
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
	if len(said) != 1 || !strings.Contains(said[0], "too old") {
		t.Errorf("%q", said)
	}
	if got := s.asks(); strings.Count(got, "list 10") != 9 {
		t.Errorf("asked for %s", got)
	}
}

// TestPodNamesOtherwise: what fails in another way is told, the same only once.
func TestPodNamesOtherwise(t *testing.T) {
	s := serveAPI(t)
	statuses := []int{500, 500, 403, 403, 403, -1, -1, 500}
	s.set(500, 0)
	var said []string
	n := NewPodNames(s.client(t), "node-1", func(text string) { said = append(said, text) })
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
	if len(said) != 4 || !strings.Contains(said[0], "pods: 500") || !strings.Contains(said[1], "verbs list and watch") || !strings.Contains(said[2], "EOF") || said[3] != said[0] {
		t.Errorf("%q", said)
	}
}

// TestPodNamesEnds: a watch that the server ends goes on from where it was.
func TestPodNamesEnds(t *testing.T) {
	s := serveAPI(t)
	n := quick(NewPodNames(s.client(t), "node-1", func(text string) { t.Error(text) }))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	s.send(t, `{"type":"DELETED","object":`+strings.ReplaceAll(podText("11", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", ""), "\n", "")+`}`)
	s.send(t, `{"type":"BOOKMARK","object":{"kind":"Pod"}}`) // without a version
	s.send(t, "")                                            // ends
	s.send(t, `{"type":"MODIFIED","object":`+strings.ReplaceAll(podText("12", cartUID, "shop", "cart-1", "app", "cccc", ""), "\n", "")+`}`)
	knows(t, n, cartUID, "cccc", "shop/cart-1/app true")
	knows(t, n, etcdSum, "bbbb", "// false")
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != 3 || !strings.Contains(s.asked[2], " 1 11 ") {
		t.Errorf("%q", s.asked)
	}
}

// TestListBroken: what is no list of pods changes nothing.
func TestListBroken(t *testing.T) {
	s := serveAPI(t)
	n := NewPodNames(s.client(t), "node-1", nil)
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
		knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
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

// TestPodNamesRefused: what went wrong is told once, what was known stays, and it comes
// back by itself.
func TestPodNamesRefused(t *testing.T) {
	s := serveAPI(t)
	var mu sync.Mutex
	var said []string
	n := quick(NewPodNames(s.client(t), "node-1", func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	}))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"11"}}}`) // the watch is under way
	s.set(http.StatusForbidden, 0)
	s.send(t, `{"type":"ERROR","object":{"kind":"Status","code":410}}`)
	until := func(what string) {
		t.Helper()
		for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			mu.Lock()
			all := strings.Join(said, "\n")
			mu.Unlock()
			if strings.Contains(all, what) {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("said %q, not %q", all, what)
			}
		}
	}
	until("the verbs list and watch on pods")
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	s.set(0, 0)
	s.watched(t, 2)
	s.send(t, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`)
	until("names of pods again")
	stop()
	<-ended
	all := strings.Join(said, "\n")
	for _, what := range []string{"the verbs list and watch on pods", "names of pods again"} {
		if strings.Count(all, what) != 1 {
			t.Errorf("%q, want %q once", said, what)
		}
	}
}

// TestNamesToken: the token is read again for each request, as a kubelet renews it.
func TestNamesToken(t *testing.T) {
	s := serveAPI(t)
	n := NewPodNames(s.client(t), "node-1", nil)
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "token"), []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := n.List(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(s.asked[0], "Bearer t0ken") || !strings.HasSuffix(s.asked[1], "Bearer second") {
		t.Errorf("%q", s.asked)
	}
}
