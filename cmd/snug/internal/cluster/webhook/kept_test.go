// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/rest"
)

// api is an API server for single objects with versions.
type api struct {
	mu      sync.Mutex
	objects map[string]map[string]any
	version int
	asked   []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, r.Method+" "+r.URL.Path)
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	path := r.URL.Path
	if r.Method == http.MethodPost {
		path += "/" + body["metadata"].(map[string]any)["name"].(string)
	}
	old := a.objects[path]
	refuse := func(code int) {
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","message":%q}`, http.StatusText(code))
	}
	switch r.Method {
	case http.MethodGet:
		if old == nil {
			refuse(http.StatusNotFound)
			return
		}
	case http.MethodPost, http.MethodPut:
		meta := body["metadata"].(map[string]any)
		if (r.Method == http.MethodPost) != (old == nil) || old != nil && old["metadata"].(map[string]any)["resourceVersion"] != meta["resourceVersion"] {
			refuse(http.StatusConflict)
			return
		}
		if old != nil && old["type"] != body["type"] {
			refuse(http.StatusUnprocessableEntity)
			return
		}
		a.version++
		meta["resourceVersion"] = fmt.Sprint(a.version)
		a.objects[path] = body
	case http.MethodPatch:
		// Merge webhooks by name, like the API server.
		for _, change := range body["webhooks"].([]any) {
			for _, w := range old["webhooks"].([]any) {
				if w, change := w.(map[string]any), change.(map[string]any); w["name"] == change["name"] {
					w["clientConfig"].(map[string]any)["caBundle"] = change["clientConfig"].(map[string]any)["caBundle"]
				}
			}
		}
	}
	_ = json.NewEncoder(w).Encode(a.objects[path])
}

func served(t *testing.T, a http.Handler) *rest.Client {
	t.Helper()
	server := httptest.NewTLSServer(a)
	t.Cleanup(server.Close)
	dir := t.TempDir()
	token, ca := filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")
	err := errors.Join(os.WriteFile(token, []byte("t"), 0o600), os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	c, err := rest.New(rest.Server{URL: server.URL, TokenFile: token, CAFile: ca}, os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const mutating = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug-webhook"

func configuration() map[string]any {
	return map[string]any{"webhooks": []any{
		map[string]any{"name": "a", "clientConfig": map[string]any{"url": "https://x", "caBundle": "b2xk"}},
		map[string]any{"name": "b", "clientConfig": map[string]any{"url": "https://x"}},
	}}
}

// TestSecret: replicas agree on one certificate, and the configuration has its CA.
func TestSecret(t *testing.T) {
	for name, before := range map[string]map[string]any{
		"no Secret":                  nil,
		"an empty Secret of a chart": {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "metadata": map[string]any{"name": "tls", "namespace": "snug", "resourceVersion": "0", "labels": map[string]any{"of": "chart"}}, "data": map[string]any{"old.crt": "b2xk", "mine": "eA=="}},
	} {
		t.Run(name, func(t *testing.T) {
			a := &api{objects: map[string]map[string]any{mutating: configuration()}}
			const path = "/api/v1/namespaces/snug/secrets/tls"
			if before != nil {
				a.objects[path] = before
			}
			client := served(t, a)
			var keepers []*cert.Keeper
			var group sync.WaitGroup
			for range 3 {
				k := &cert.Keeper{Store: NewSecret(client, "snug", "tls", "snug-webhook"), Names: []string{"snug-webhook.snug.svc"}, Life: time.Hour, Note: func(string) {}}
				keepers = append(keepers, k)
				group.Go(func() {
					if err := k.Keep(t.Context(), time.Now()); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			first, err := keepers[0].GetCertificate(nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range keepers[1:] {
				if c, err := k.GetCertificate(nil); err != nil || !bytes.Equal(c.Certificate[0], first.Certificate[0]) {
					t.Errorf("%v, or another certificate", err)
				}
			}
			data := a.objects[path]["data"].(map[string]any)
			for _, w := range a.objects[mutating]["webhooks"].([]any) {
				if got := w.(map[string]any)["clientConfig"].(map[string]any)["caBundle"]; got != data["ca.crt"] {
					t.Errorf("caBundle %v", got)
				}
			}
			if before != nil && (data["old.crt"] != nil || data["mine"] != "eA==") {
				t.Errorf("stored %v", data)
			}
			if before != nil && (a.objects[path]["type"] != "kubernetes.io/tls" || a.objects[path]["metadata"].(map[string]any)["labels"].(map[string]any)["of"] != "chart") {
				t.Errorf("stored %v", a.objects[path])
			}
			// Everything is up to date: nothing is written.
			a.asked = nil
			if err := keepers[0].Keep(t.Context(), time.Now()); err != nil || strings.Contains(strings.Join(a.asked, " "), "P") {
				t.Errorf("%v: %q", err, a.asked)
			}
			delete(a.objects, mutating)
			if err := keepers[0].Keep(t.Context(), time.Now()); err == nil || !strings.Contains(err.Error(), "snug-webhook") || keepers[0].Ready() != nil {
				t.Errorf("without a configuration: %v", err)
			}
		})
	}
	mute := served(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprint(w, `{"message":"Unauthorized"}`)
	}))
	if _, _, err := NewSecret(mute, "snug", "tls", "x").Load(t.Context()); err == nil || !rest.Is(err, http.StatusUnauthorized) || !strings.HasPrefix(err.Error(), "cannot read the Secret snug/tls, trying again: ") {
		t.Error(err)
	}
	client := served(t, &api{objects: map[string]map[string]any{}})
	k := &cert.Keeper{Store: NewSecret(client, "snug", "tls", "snug-webhook"), Names: []string{"x"}, Life: time.Hour}
	if err := k.Keep(t.Context(), time.Now()); err == nil || k.Ready() == nil {
		t.Error("ready though no configuration has its CA")
	}
}

func TestConfigMap(t *testing.T) {
	a := &api{objects: map[string]map[string]any{}}
	client := served(t, a)
	first, second := NewConfigMap(client, "snug", "facts"), NewConfigMap(client, "snug", "facts")
	for _, c := range []*ConfigMap{first, second} {
		if text, version, err := c.Load(t.Context()); text != nil || version != "" || err != nil {
			t.Errorf("%q, %q, %v", text, version, err)
		}
	}
	if err := first.Save(t.Context(), []byte("[]"), ""); err != nil {
		t.Error(err)
	}
	if err := second.Save(t.Context(), []byte("[1]"), ""); !errors.Is(err, learned.ErrConflict) {
		t.Error(err)
	}
	a.objects["/api/v1/namespaces/snug/configmaps/facts"]["data"].(map[string]any)["mine"] = "x"
	text, version, err := second.Load(t.Context())
	if string(text) != "[]" || version == "" || err != nil {
		t.Errorf("%q, %q, %v", text, version, err)
	}
	if err := second.Save(t.Context(), []byte("[2]"), version); err != nil {
		t.Error(err)
	}
	if err := first.Save(t.Context(), []byte("[3]"), version); !errors.Is(err, learned.ErrConflict) {
		t.Error(err)
	}
	o := a.objects["/api/v1/namespaces/snug/configmaps/facts"]
	if o["kind"] != "ConfigMap" || o["data"].(map[string]any)["facts.json"] != "[2]" || o["data"].(map[string]any)["mine"] != "x" {
		t.Errorf("stored %v", o)
	}
}

// TestKeepsOthers: data of others in an object stays.
func TestKeepsOthers(t *testing.T) {
	const secret, facts = "/api/v1/namespaces/snug/secrets/tls", "/api/v1/namespaces/snug/configmaps/facts"
	with := func(kind string, more map[string]any) map[string]any {
		o := map[string]any{"apiVersion": "v1", "kind": kind, "immutable": false, "later": []any{1.5}, "metadata": map[string]any{
			"namespace": "snug", "resourceVersion": "7", "uid": "u", "finalizers": []any{"a/b"}, "annotations": map[string]any{"c": "d"},
			"labels": map[string]any{"e": "f"}, "ownerReferences": []any{map[string]any{"kind": "x", "controller": true}}, "later": "g",
		}}
		maps.Copy(o, more)
		return o
	}
	a := &api{objects: map[string]map[string]any{
		secret: with("Secret", map[string]any{"type": "kubernetes.io/tls", "data": map[string]any{"mine": "eA=="}}),
		facts:  with("ConfigMap", map[string]any{"data": nil, "binaryData": map[string]any{"h": "AAE="}}),
	}}
	a.objects[secret]["metadata"].(map[string]any)["name"] = "tls"
	a.objects[facts]["metadata"].(map[string]any)["name"] = "facts"
	copied := func(path string) (o map[string]any) {
		text, err := json.Marshal(a.objects[path])
		if err = errors.Join(err, json.Unmarshal(text, &o)); err != nil {
			t.Fatal(err)
		}
		return o
	}
	wantSecret, wantFacts := copied(secret), copied(facts)
	client := served(t, a)
	s, c := NewSecret(client, "snug", "tls", "x"), NewConfigMap(client, "snug", "facts")
	for i, text := range []string{"[1]", "[2]"} { // the next load returns what was written
		_, version, err := s.Load(t.Context())
		if err = errors.Join(err, s.Save(t.Context(), map[string][]byte{"tls.crt": []byte(text)}, version)); err != nil {
			t.Fatal(err)
		}
		_, version, err = c.Load(t.Context())
		if err = errors.Join(err, c.Save(t.Context(), []byte(text), version)); err != nil {
			t.Fatal(err)
		}
		wantSecret["data"] = map[string]any{"mine": "eA==", "tls.crt": base64.StdEncoding.EncodeToString([]byte(text))}
		wantFacts["data"] = map[string]any{factsKey: text}
		wantSecret["metadata"].(map[string]any)["resourceVersion"], wantFacts["metadata"].(map[string]any)["resourceVersion"] = fmt.Sprint(2*i+1), fmt.Sprint(2*i+2)
		if got := copied(secret); !reflect.DeepEqual(got, wantSecret) {
			t.Errorf("got  %v\nwant %v", got, wantSecret)
		}
		if got := copied(facts); !reflect.DeepEqual(got, wantFacts) {
			t.Errorf("got  %v\nwant %v", got, wantFacts)
		}
	}
}

// TestRepeat: an error is noted once, until it changes.
func TestRepeat(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var notes []string
	said := []string{"a", "a", "", "a", "b", "b"}
	n := 0
	Repeat(ctx, time.Millisecond, func(text string) { notes = append(notes, text) }, func(context.Context, time.Time) error {
		if n++; n > len(said) {
			stop()
			return ctx.Err()
		}
		if said[n-1] == "" {
			return nil
		}
		return errors.New(said[n-1])
	})
	if got := fmt.Sprint(notes); got != "[a a b]" || n != len(said)+1 {
		t.Errorf("%s of %d errors", got, n)
	}
}
