// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/kube/review"
)

// TestStalled: connections that send a header and no question keep nobody from answers.
func TestStalled(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	arrived := make(chan struct{}, 100)
	h := w.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		arrived <- struct{}{}
		h.ServeHTTP(rw, r)
	}))
	defer server.Close()
	for range 2 * mostAtOnce {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", FitByPod, mostQuestion)
		<-arrived
	}
	got := 0
	for range 3 { // on a machine that stands still a question does not arrive in time
		r, err := http.Post(server.URL+FitByPod, "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		if got = r.StatusCode; got == 200 {
			break
		}
	}
	if got != 200 {
		t.Errorf("status %d", got)
	}
}

// TestHeld: there is room for so many bytes of questions, and all of it again after them.
func TestHeld(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	ask := func() int {
		got := httptest.NewRecorder()
		w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question)))
		return got.Code
	}
	w.held.Store(mostHeld - int64(len(question)) + 1)
	if code := ask(); code != 503 {
		t.Errorf("full: %d", code)
	}
	w.held.Store(mostHeld - int64(len(question)))
	if code := ask(); code != 200 || w.held.Load() != mostHeld-int64(len(question)) {
		t.Errorf("with room: %d, %d held", code, w.held.Load())
	}
}
