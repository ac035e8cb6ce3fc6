// SPDX-License-Identifier: Apache-2.0

package names

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

// podText returns a pod as the API server writes it.
func podText(version, uid, namespace, name, container, id, annotations string) string {
	return fmt.Sprintf(`{"metadata":{"namespace":%q,"name":%q,"uid":%q,"resourceVersion":%q,"annotations":{%s}},
"status":{"containerStatuses":[{"name":%q,"containerID":"containerd://%s"}],"initContainerStatuses":[{"name":"init","containerID":""}]}}`,
		namespace, name, uid, version, annotations, container, id)
}

// server is an API server with the pods of one node.
type server struct {
	*httptest.Server
	mu       sync.Mutex
	received []string
	began    int         // watches
	events   chan string // lines of the last watch; "" = it ends
	refuse   int         // status of the next answers
	cut      int         // status of the next watches; below 0 = the connection is cut
	items    string      // that are listed
	dir      string      // of its clients' token
}

func serveAPI(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.items = podText("5", cartUID, "shop", "cart-1", "app", "aaaa", "") + "," +
		podText("6", etcdUID, "kube-system", "etcd-node-1", "etcd", "bbbb", `"kubernetes.io/config.hash":"`+etcdSum+`","kubernetes.io/config.mirror":"`+etcdSum+`"`)
	s.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		s.mu.Lock()
		s.received = append(s.received, r.URL.Path+" "+q.Get("fieldSelector")+" "+q.Get("watch")+" "+q.Get("resourceVersion")+" "+r.Header.Get("Authorization"))
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
		w.(http.Flusher).Flush() // as the API server does: it answers a watch at once
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

// send sends an event to the last watch, or to the next one if that has ended.
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
			t.Fatal("there is no watch")
		}
	}
}

// waitWatches waits until n watches have begun.
func (s *server) waitWatches(t *testing.T, n int) {
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

// requests returns the requests so far: the version of each watch, and "list" for a list.
func (s *server) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, line := range s.received {
		if _, version, ok := strings.Cut(line, " 1 "); ok {
			list = append(list, strings.Fields(version)[0])
		} else {
			list = append(list, "list")
		}
	}
	return strings.Join(list, " ")
}

// nextNote returns the next note.
func nextNote(t *testing.T, notes <-chan string) string {
	t.Helper()
	select {
	case text := <-notes:
		return text
	case <-time.After(time.Minute):
		t.Fatal("no note")
		return ""
	}
}

// withShortPauses makes n pause for a millisecond.
func withShortPauses(n *Pods) *Pods {
	n.pause = func(ctx context.Context, _ time.Duration) error { return Pause(ctx, time.Millisecond) }
	return n
}

// client returns a client of the server, with the files that a kubelet gives a pod.
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

// set sets the status of the next answers and watches.
func (s *server) set(refuse, cut int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse, s.cut = refuse, cut
}

// waitName waits until n has a name.
func waitName(t *testing.T, n *Pods, uid, id, want string) {
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
