// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"
)

func get(t *testing.T, url string) (int, string) {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		items int
	}{{"http", 6}, {"http/gc", 60}} {
		t.Run(tt.name, func(t *testing.T) {
			c := start(t, tt.name, Options{}, "GOGC=off", "GOMAXPROCS=3")
			e := c.expect(ReadEvents(c.stdout), "listening")
			url := e.URL
			if e.Procs != 3 {
				t.Errorf("%+v", e)
			}
			var first string
			for range 3 {
				code, body := get(t, url)
				var items []item
				if err := json.Unmarshal([]byte(body), &items); err != nil || code != 200 || len(items) != tt.items {
					t.Fatalf("%d, %d items, %v: %.100s", code, len(items), err, body)
				}
				for i, it := range items {
					if it.ID != i || len(it.Sum) != 16 || it.Name == "" || len(it.Tags) != 3 {
						t.Errorf("%+v", it)
					}
				}
				if first == "" {
					first = body
				}
				if body != first {
					t.Errorf("two answers: %s and %s", first, body)
				}
			}
			if code, _ := get(t, url+"other"); code != 404 {
				t.Errorf("/other: %d", code)
			}
		})
	}
}

// TestHTTPBackEndFails: a request without an answer is an error, not a fast one.
func TestHTTPBackEndFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	s := newServer(newJobs(false), l.Addr().String())
	if _, err := s.work.do(context.Background(), s.client, s.backURL); err == nil {
		t.Error("an answer without a back end")
	}
}
