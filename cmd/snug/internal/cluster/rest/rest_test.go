// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func client(t *testing.T, h http.HandlerFunc) (c *Client, tokenFile string) {
	t.Helper()
	server := httptest.NewTLSServer(h)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	tokenFile, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	err := errors.Join(os.WriteFile(tokenFile, []byte("first\n"), 0o600),
		os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if c, err = New(Server{server.URL + "/", tokenFile, ca}, os.Getenv); err != nil {
		t.Fatal(err)
	}
	return c, tokenFile
}

func TestClient(t *testing.T) {
	var requests []string
	c, token := client(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests = append(requests, strings.TrimSpace(fmt.Sprintf("%s %s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Content-Type"), body)))
		fmt.Fprint(w, `{"name":"x"}`)
	})
	var got struct{ Name string }
	ctx, body := t.Context(), map[string]int{"a": 1}
	if err := c.Get(ctx, "/api/v1/x", &got); err != nil || got.Name != "x" {
		t.Errorf("%v, %+v", err, got)
	}
	if err := os.WriteFile(token, []byte("second"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Create(ctx, "/x", body), c.Update(ctx, "/x/a", body), c.Patch(ctx, "/x/a", body)); err != nil {
		t.Error(err)
	}
	want := []string{"GET /api/v1/x Bearer first", `POST /x Bearer second application/json {"a":1}`, `PUT /x/a Bearer second application/json {"a":1}`, `PATCH /x/a Bearer second application/strategic-merge-patch+json {"a":1}`}
	if strings.Join(requests, "\n") != strings.Join(want, "\n") {
		t.Errorf("requests:\n%s", strings.Join(requests, "\n"))
	}
}

func TestClientRefused(t *testing.T) {
	for _, c := range []struct {
		answer func(http.ResponseWriter)
		code   int
		want   string
	}{
		{func(w http.ResponseWriter) { w.WriteHeader(404); fmt.Fprint(w, `{"kind":"Status","message":"no x"}`) }, 404, "GET /x: 404 no x"},
		{func(w http.ResponseWriter) { w.WriteHeader(409); fmt.Fprint(w, `<html>`) }, 409, "GET /x: 409 "},
		{func(w http.ResponseWriter) {
			w.Header().Set("Location", "https://example.invalid/")
			w.WriteHeader(302)
		}, 302, "GET /x: 302 "},
		{func(w http.ResponseWriter) { fmt.Fprint(w, `{"name":`) }, 0, "GET /x: unexpected end of JSON input"},
		{func(w http.ResponseWriter) { panic(http.ErrAbortHandler) }, 0, "GET /x: EOF"},
	} {
		client, _ := client(t, func(w http.ResponseWriter, _ *http.Request) { c.answer(w) })
		var got struct{ Name string }
		err := client.Get(t.Context(), "/x", &got)
		if err == nil || c.code != 0 && (err.Error() != c.want || !Is(err, c.code)) || !strings.HasPrefix(err.Error(), "GET /x: ") || Is(err, 499) {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := func(string) string { return "" }
	if _, err := New(Server{}, none); !errors.Is(err, ErrNotInPod) {
		t.Errorf("outside a pod: %v", err)
	}
	for _, s := range []Server{{URL: "http://x"}, {URL: "https://"}, {URL: ":"}, {URL: "https://x", CAFile: file}, {URL: "https://x", CAFile: file + "x"}} {
		if _, err := New(s, none); err == nil {
			t.Errorf("no error for %+v", s)
		}
	}
	in := map[string]string{"KUBERNETES_SERVICE_HOST": "::1", "KUBERNETES_SERVICE_PORT": "443"}
	if _, err := New(Server{}, func(k string) string { return in[k] }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a pod without a service account: %v", err)
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"message":"x"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m := message(text); len(m) > 500 || !json.Valid(text) && m != "" {
			t.Errorf("%q", m)
		}
	})
}
