// SPDX-License-Identifier: Apache-2.0

package agent

import (
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

	"github.com/snug-go/snug/cmd/snug/internal/kube/rest"
)

const (
	cartUID = "0ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	etcdUID = "1ad2ec32-5d7e-4f53-a7a8-6b9d0e1c2f34"
	etcdSum = "4f5b1bca2b1d3e6f708192a3b4c5d6e7"
)

// pod is one as the API server writes it.
func pod(version, uid, namespace, name, container, id, annotations string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":%q,"annotations":{%s}},
"status":{"containerStatuses":[{"name":%q,"containerID":"containerd://%s"}],"initContainerStatuses":[{"name":"init","containerID":""}]}}`,
		namespace, name, uid, version, annotations, container, id)
}

// server is an API server that knows one node's pods.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	asked  []string
	events chan string // lines of watches; closed = the watch ends
	refuse int         // status of the next answers
	dir    string      // of its clients' token
}

func serveAPI(t *testing.T) *server {
	t.Helper()
	s := &server{events: make(chan string)}
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		s.mu.Lock()
		s.asked = append(s.asked, r.URL.Path+" "+q.Get("fieldSelector")+" "+q.Get("watch")+" "+q.Get("resourceVersion")+" "+r.Header.Get("Authorization"))
		refuse := s.refuse
		s.mu.Unlock()
		if refuse != 0 {
			http.Error(w, "no", refuse)
			return
		}
		if q.Get("watch") == "" {
			fmt.Fprintf(w, `{"metadata":{"resourceVersion":"10"},"items":[%s,%s]}`,
				pod("5", cartUID, "shop", "cart-1", "app", "aaaa", ""),
				pod("6", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", `"kubernetes.io/config.hash":"`+etcdSum+`"`))
			return
		}
		for {
			select {
			case line, more := <-s.events:
				if !more {
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

func (s *server) set(refuse int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = refuse
}

// knows waits until the names are as they should be.
func knows(t *testing.T, n *PodNames, uid, id, want string) {
	t.Helper()
	var got string
	for late := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		namespace, pod, name, ok := n.Lookup(uid, id)
		if got = fmt.Sprint(namespace, "/", pod, "/", name, " ", ok); got == want {
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
	if _, _, _, ok := n.Lookup(cartUID, "aaaa"); ok {
		t.Error("it knows before it was told")
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	knows(t, n, etcdSum, "bbbb", "kube-system/etcd-node-1/etcd true") // the mirror of a static pod
	knows(t, n, cartUID, "ffff", "shop/cart-1/ true")                 // a sandbox, or one not reported yet
	s.events <- `{"type":"MODIFIED","object":` + strings.ReplaceAll(pod("11", cartUID, "shop", "cart-1", "app", "cccc", ""), "\n", "") + `}`
	knows(t, n, cartUID, "cccc", "shop/cart-1/app true")
	s.events <- `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}}`
	s.events <- `{"type":"DELETED","object":` + strings.ReplaceAll(pod("13", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", ""), "\n", "") + `}`
	knows(t, n, etcdSum, "bbbb", "// false")
	knows(t, n, etcdUID, "bbbb", "// false")
	stop()
	<-ended
	s.mu.Lock()
	defer s.mu.Unlock()
	if want := "/api/v1/pods spec.nodeName=node-1  0 Bearer t0ken"; s.asked[0] != want {
		t.Errorf("%q, want %q", s.asked[0], want)
	}
	if want := "/api/v1/pods spec.nodeName=node-1 1 10 Bearer t0ken"; s.asked[1] != want {
		t.Errorf("%q, want %q", s.asked[1], want)
	}
}

// TestPodNamesExpired: a version that is too old means to list again.
func TestPodNamesExpired(t *testing.T) {
	s := serveAPI(t)
	n := NewPodNames(s.client(t), "node-1", nil)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go n.Run(ctx)
	s.events <- `{"type":"DELETED","object":` + strings.ReplaceAll(pod("11", cartUID, "shop", "cart-1", "app", "aaaa", ""), "\n", "") + `}`
	knows(t, n, cartUID, "aaaa", "// false")
	s.events <- `{"type":"ERROR","object":{"kind":"Status","code":410}}`
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
}

// TestPodNamesRefused: what went wrong is told once, what was known stays, and it comes
// back by itself.
func TestPodNamesRefused(t *testing.T) {
	s := serveAPI(t)
	var mu sync.Mutex
	var said []string
	n := NewPodNames(s.client(t), "node-1", func(text string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, text)
	})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan bool)
	go func() { n.Run(ctx); close(ended) }()
	knows(t, n, cartUID, "aaaa", "shop/cart-1/app true")
	s.set(http.StatusForbidden)
	s.events <- `{"type":"ERROR","object":{"kind":"Status","code":410}}`
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
	s.set(0)
	until("names of pods again")
	stop()
	<-ended
	if len(said) != 2 {
		t.Errorf("%q", said)
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
