// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"context"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
)

// TestUnanswered: the webhook is not ready while it does not answer itself.
func TestUnanswered(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	readyz := func() (int, string) {
		got := httptest.NewRecorder()
		w.State().ServeHTTP(got, httptest.NewRequest("GET", "/readyz", nil))
		return got.Code, got.Body.String()
	}
	server := httptest.NewTLSServer(w.Handler())
	defer server.Close()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody.Close()
	for _, c := range []struct {
		at   net.Addr
		code int
		text string
	}{{nobody.Addr(), 503, "reviews get no answer: "}, {server.Listener.Addr(), 200, "ok"}} {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			w.watch(ctx, c.at, time.Millisecond)
		}()
		for {
			if code, text := readyz(); code == c.code && strings.HasPrefix(text, c.text) {
				break
			}
			time.Sleep(time.Millisecond)
		}
		stop()
		<-ended
	}
}
