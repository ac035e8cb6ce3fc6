// SPDX-License-Identifier: Apache-2.0

package guard

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// FuzzReviews: only answers that say both "authenticated" and "allowed" let anybody read.
func FuzzReviews(f *testing.F) {
	f.Add([]byte(`{"status":{"authenticated":true,"user":{"username":"a"}}}`), []byte(`{"status":{"allowed":true}}`))
	f.Add([]byte(`{"status":{"authenticated":true}}`), []byte(`{"status":{"allowed":"true"}}`))
	f.Add([]byte(`{"status":{"authenticated":false,"user":{"extra":{"a":null}}}}`), []byte(`{}`))
	var answers atomic.Pointer[[2][]byte]
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		text := answers.Load()[0]
		if r.URL.Path != "/apis/authentication.k8s.io/v1/tokenreviews" {
			text = answers.Load()[1]
		}
		_, _ = w.Write(text)
	}))
	f.Cleanup(api.Close)
	g := New(client(f, api), func(string) {})
	f.Fuzz(func(t *testing.T, who, may []byte) {
		answers.Store(&[2][]byte{who, may})
		status, err := g.ask(context.Background(), "token", "/metrics")
		if status == http.StatusOK && (err != nil || !says(who, "authenticated") || !says(may, "allowed")) {
			t.Errorf("%s, %s: %d, %v", who, may, status, err)
		}
	})
}

// says reports whether the status of a text has a field that is true, in any case of letters.
func says(text []byte, field string) bool {
	var all map[string]any
	return json.Unmarshal(text, &all) == nil && bytes.Contains(bytes.ToLower(text), []byte(field)) && bytes.Contains(text, []byte("true"))
}
