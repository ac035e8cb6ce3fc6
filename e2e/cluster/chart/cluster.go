// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// cluster is a client of an API server, with the server's kinds.
type cluster struct {
	kube.Access
	client *http.Client
	kinds  map[string]kind // by apiVersion and kind, "apps/v1 Deployment"
}

// kind is the address of a kind.
type kind struct {
	path, resource string // "/apis/apps/v1", "deployments"
	namespaced     bool
	listed         bool
}

func newCluster(t testing.TB, at kube.Access) *cluster {
	t.Helper()
	ca, err := os.ReadFile(at.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	c := &cluster{Access: at, client: &http.Client{Transport: transport}}
	c.discover(t)
	return c
}

// discover reads the server's kinds.
func (c *cluster) discover(t testing.TB) {
	t.Helper()
	c.kinds = map[string]kind{}
	versions := []string{"/api/v1"}
	groups := c.must(t, http.MethodGet, "/apis", nil)
	for _, g := range hook.List(groups["groups"]) {
		for _, v := range hook.List(g["versions"]) {
			versions = append(versions, "/apis/"+text(v["groupVersion"]))
		}
	}
	for _, path := range versions {
		// The group of a new kind is listed before its path exists.
		_, found := c.ask(t, http.MethodGet, path, nil)
		for _, r := range hook.List(found["resources"]) {
			name := text(r["name"])
			if strings.Contains(name, "/") {
				continue
			}
			verbs, _ := r["verbs"].([]any)
			namespaced, _ := r["namespaced"].(bool)
			c.kinds[text(found["groupVersion"])+" "+text(r["kind"])] = kind{path, name, namespaced, slices.Contains(verbs, any("list"))}
		}
	}
}

// ask sends a request with a JSON body or another content type.
func (c *cluster) ask(t testing.TB, method, path string, body any, contentType ...string) (int, kube.Object) {
	t.Helper()
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		reader = strings.NewReader(string(encoded))
	}
	request, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, reader)
	if err != nil {
		t.Fatal(err)
	}
	token, err := os.ReadFile(c.TokenFile)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Content-Type", append(contentType, "application/json")[0])
	response, err := c.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var o kube.Object
	if err := json.Unmarshal(answer, &o); err != nil && response.StatusCode < 300 {
		t.Fatalf("%s %s: %v: %s", method, path, err, answer)
	}
	if warnings := response.Header.Values("Warning"); len(warnings) > 0 && response.StatusCode < 300 {
		meta(o)["warnings"] = strings.Join(warnings, "; ")
	}
	return response.StatusCode, o
}

// must is ask, but any failure fails the test.
func (c *cluster) must(t testing.TB, method, path string, body any, contentType ...string) kube.Object {
	t.Helper()
	code, o := c.ask(t, method, path, body, contentType...)
	if code < 200 || code >= 300 {
		t.Fatalf("%s %s: %d %v", method, path, code, o["message"])
	}
	return o
}

// collection returns the path of the collection of the object's kind and namespace.
func (c *cluster) collection(t testing.TB, o kube.Object) string {
	t.Helper()
	k, ok := c.kinds[text(o["apiVersion"])+" "+text(o["kind"])]
	if !ok {
		t.Fatalf("the server has no %v of %v", o["kind"], o["apiVersion"])
	}
	if !k.namespaced {
		return k.path + "/" + k.resource
	}
	return k.path + "/namespaces/" + text(meta(o)["namespace"]) + "/" + k.resource
}

// path returns the path of the object.
func (c *cluster) path(t testing.TB, o kube.Object) string {
	t.Helper()
	return c.collection(t, o) + "/" + text(meta(o)["name"])
}

// mentions returns the titles of all objects that contain a word.
func (c *cluster) mentions(t testing.TB, word string) []string {
	t.Helper()
	found := map[string]bool{}
	for name, k := range c.kinds {
		_, kind, _ := strings.Cut(name, " ")
		if !k.listed || kind == "Event" { // the server writes events at any time
			continue
		}
		for _, o := range hook.List(c.must(t, http.MethodGet, k.path+"/"+k.resource, nil)["items"]) {
			encoded, err := json.Marshal(o)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(encoded), word) {
				found[kind+"/"+text(meta(o)["name"])] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// text returns a string; "" if the value is no string.
func text(o any) string {
	s, _ := o.(string)
	return s
}
