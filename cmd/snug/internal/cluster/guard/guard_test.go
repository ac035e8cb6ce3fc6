// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

// server plays an API server. The token of a user is its name; "reader" may get /metrics.
type server struct {
	reviews, accesses atomic.Int64
	down              atomic.Bool
	late              chan struct{} // an answer waits until it is closed; nil = none does
	slow              chan struct{} // so does one about a token "slow..."
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if s.late != nil {
		<-s.late
	}
	if s.down.Load() {
		http.Error(w, `{"message":"etcd is down"}`, http.StatusInternalServerError)
		return
	}
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	spec := review["spec"].(map[string]any)
	switch r.URL.Path {
	case "/apis/authentication.k8s.io/v1/tokenreviews":
		s.reviews.Add(1)
		name, _ := spec["token"].(string)
		if strings.HasPrefix(name, "slow") {
			<-s.slow
		}
		known := name == "reader" || name == "other"
		review["status"] = map[string]any{"authenticated": known, "user": map[string]any{"username": name, "uid": "7", "groups": []string{"all"}, "extra": map[string]any{"a": []string{"b"}}}}
	case "/apis/authorization.k8s.io/v1/subjectaccessreviews":
		s.accesses.Add(1)
		what := spec["nonResourceAttributes"].(map[string]any)
		whole := spec["uid"] == "7" && fmt.Sprint(spec["groups"], spec["extra"]) == "[all] map[a:[b]]" && what["verb"] == "get"
		review["status"] = map[string]any{"allowed": whole && spec["user"] == "reader" && what["path"] == "/metrics"}
	default:
		http.NotFound(w, r)
		return
	}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

// client returns a client of an API server.
func client(t testing.TB, api *httptest.Server) *rest.Client {
	t.Helper()
	token, ca := filepath.Join(t.TempDir(), "token"), filepath.Join(t.TempDir(), "ca.crt")
	if err := errors.Join(os.WriteFile(token, []byte("agent"), 0o600),
		os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw}), 0o600)); err != nil {
		t.Fatal(err)
	}
	client, err := rest.New(rest.Server{URL: api.URL, TokenFile: token, CAFile: ca}, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// guarded returns a handler behind a Guard, which notes in notes.
func guarded(t *testing.T, s *server, notes *[]string) (http.Handler, *Guard) {
	t.Helper()
	api := httptest.NewTLSServer(s)
	t.Cleanup(api.Close)
	var mu sync.Mutex
	g := New(client(t, api), func(text string) { mu.Lock(); *notes = append(*notes, text); mu.Unlock() })
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "secret of "+r.URL.Path) })
	return g.Handler(next, []string{"/", "/findings", "/metrics"}, []string{"/healthz"}), g
}

func get(h http.Handler, path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("GET", path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestHandler(t *testing.T) {
	var notes []string
	h, _ := guarded(t, &server{}, &notes)
	for _, c := range []struct {
		path, authorization string
		status              int
	}{
		{"/healthz", "", 200},
		{"/metrics", "", 401},
		{"/metrics", "reader", 401},
		{"/metrics", "Bearer", 401},
		{"/metrics", "Bearer  ", 401},
		{"/metrics", "Basic reader", 401},
		{"/metrics", "Bearer nobody", 401},
		{"/metrics", "Bearer " + strings.Repeat("x", maxToken+1), 401},
		{"/metrics", "Bearer reader", 200},
		{"/metrics", "bearer reader", 200},
		{"/metrics?x=1", "Bearer reader", 200},
		{"/metrics", "Bearer other", 403},
		{"/findings", "Bearer reader", 403},
		{"/", "Bearer reader", 403},
		{"/", "", 401},
		{"/debug/pprof/", "Bearer reader", 404},
		{"/metrics/x", "Bearer reader", 404},
		{"/healthz/x", "", 404},
	} {
		w := get(h, c.path, c.authorization)
		if told := strings.Contains(w.Body.String(), "secret"); w.Code != c.status || told != (c.status == 200) {
			t.Errorf("%s, %.30q: %d %s", c.path, c.authorization, w.Code, w.Body)
		}
		if c.status == 401 && w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: no WWW-Authenticate", c.path)
		}
	}
	if notes != nil {
		t.Errorf("notes %q", notes)
	}
}

// TestKept: an answer is used for a while, a refusal for less, and an error never.
func TestKept(t *testing.T) {
	var notes []string
	s := &server{}
	h, g := guarded(t, s, &notes)
	now := time.Now()
	g.now = func() time.Time { return now }
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if w := get(h, "/metrics", "Bearer reader"); w.Code != 200 {
				t.Errorf("%d", w.Code)
			}
		})
	}
	all.Wait()
	if n := s.reviews.Load(); n > maxAsking {
		t.Errorf("%d reviews for 50 requests with one token", n)
	}
	s.down.Store(true)
	if w := get(h, "/metrics", "Bearer reader"); w.Code != 200 {
		t.Errorf("a known token while the API server is down: %d", w.Code)
	}
	now = now.Add(keptYes)
	if w := get(h, "/metrics", "Bearer reader"); w.Code != 503 || len(notes) != 1 || !strings.Contains(notes[0], "etcd is down") || strings.Contains(notes[0], "Bearer") {
		t.Errorf("%d, %q", w.Code, notes)
	}
	s.down.Store(false)
	if w := get(h, "/metrics", "Bearer reader"); w.Code != 200 {
		t.Errorf("after that: %d", w.Code)
	}
	get(h, "/metrics", "Bearer nobody")
	n := s.reviews.Load()
	get(h, "/metrics", "Bearer nobody")
	if s.reviews.Load() != n {
		t.Error("a refusal is not kept")
	}
	now = now.Add(keptNo)
	get(h, "/metrics", "Bearer nobody")
	if s.reviews.Load() != n+1 {
		t.Error("a refusal is kept too long")
	}
}

// TestLate: while the API server does not answer, every request is answered soon, also one that waits for its turn.
func TestLate(t *testing.T) {
	var notes []string
	s := &server{late: make(chan struct{})}
	h, g := guarded(t, s, &notes)
	t.Cleanup(func() { close(s.late) })
	g.wait = 50 * time.Millisecond
	var all sync.WaitGroup
	for i := range 3 * maxAsking {
		all.Go(func() {
			if w := get(h, "/metrics", fmt.Sprint("Bearer reader", i)); w.Code != 503 {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		})
	}
	all.Wait()
	if len(notes) == 0 || !strings.HasPrefix(notes[0], "who may read /metrics is not known: ") {
		t.Errorf("notes %q", notes)
	}
}

// TestAskingShared: a client with many tokens about which the API server is slow takes no question from another.
func TestAskingShared(t *testing.T) {
	var notes []string
	s := &server{slow: make(chan struct{})}
	h, g := guarded(t, s, &notes)
	g.wait = time.Minute
	arrived := make(chan struct{}, 2*maxAsking)
	at := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		h.ServeHTTP(w, r)
	}))
	at.Listener = &bound.Listener{Listener: at.Listener, Conns: &bound.Budget{Max: 1 << 10}}
	at.Config.ConnContext = bound.Context
	at.Start()
	ask := func(from byte, token string) int {
		tr := &http.Transport{DisableKeepAlives: true, DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, from)}}).DialContext}
		r, _ := http.NewRequest("GET", at.URL+"/metrics", nil)
		r.Header.Set("Authorization", "Bearer "+token)
		a, err := tr.RoundTrip(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		a.Body.Close()
		return a.StatusCode
	}
	var all sync.WaitGroup
	for i := range maxAsking {
		all.Go(func() { ask(2, fmt.Sprint("slow", i)) })
		<-arrived
	}
	for s.reviews.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	if code := ask(3, "reader"); code != 200 || s.reviews.Load() != 2 {
		t.Errorf("%d, %d reviews", code, s.reviews.Load())
	}
	close(s.slow)
	all.Wait()
	at.Close()
}

// TestMany: many tokens take no more than maxKept entries, and do not push out those that may.
func TestMany(t *testing.T) {
	var notes []string
	s := &server{}
	h, g := guarded(t, s, &notes)
	get(h, "/metrics", "Bearer reader")
	for i := range 2 * maxKept {
		get(h, "/metrics", fmt.Sprintf("Bearer nobody%d", i))
		if len(g.kept) > maxKept {
			t.Fatalf("%d answers", len(g.kept))
		}
	}
	n := s.reviews.Load()
	if w := get(h, "/metrics", "Bearer reader"); w.Code != 200 || s.reviews.Load() != n {
		t.Errorf("%d, asked again: %t", w.Code, s.reviews.Load() != n)
	}
}

// TestKeep: only a full table gives up answers: first those that are over or no permission, and all if that is
// not enough.
func TestKeep(t *testing.T) {
	now := time.Now()
	later := now.Add(time.Second)
	for _, c := range []struct {
		name                string
		may, over, refusals int // answers that are kept
		left                int
	}{
		{"empty", 0, 0, 0, 1},
		{"one place is free", 1, 1, maxKept - 3, maxKept},
		{"full, of permissions", maxKept, 0, 0, 1},
		{"full, one refusal", maxKept - 1, 0, 1, maxKept},
		{"full, one is over", maxKept - 1, 1, 0, maxKept},
		{"full, none is a permission", 0, 1, maxKept - 1, 1},
	} {
		g := New(nil, nil)
		g.now = func() time.Time { return now }
		add := func(n, status int, until time.Time) {
			for range n {
				g.kept[[32]byte{byte(len(g.kept)), byte(len(g.kept) >> 8)}] = answer{status, until}
			}
		}
		add(c.may, http.StatusOK, later)
		add(c.over, http.StatusOK, now)
		add(c.refusals, http.StatusForbidden, later)
		g.keep([32]byte{31: 1}, http.StatusUnauthorized)
		if a, ok := g.known([32]byte{31: 1}); len(g.kept) != c.left || !ok || a.status != http.StatusUnauthorized {
			t.Errorf("%s: %d answers, want %d; the new one %v", c.name, len(g.kept), c.left, a)
		}
	}
}

// TestLongToken: the API server is asked about the longest token, and not about a longer one.
func TestLongToken(t *testing.T) {
	var notes []string
	s := &server{}
	h, _ := guarded(t, s, &notes)
	for extra, want := range []int64{1, 1} {
		if get(h, "/metrics", "Bearer "+strings.Repeat("x", maxToken+extra)); s.reviews.Load() != want {
			t.Errorf("%d reviews after a token of %d bytes more than the bound", s.reviews.Load(), extra)
		}
	}
}
