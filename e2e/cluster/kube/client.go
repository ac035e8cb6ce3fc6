// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Object is an object of the API in its JSON form.
type Object = map[string]any

// Answer is a response of the server. Without a response, the test fails.
type Answer struct {
	Code     int
	Object   Object   // nil if the body is no object; a Status unless OK
	Warnings []string // texts of the Warning headers
	Text     []byte   // raw body
}

// OK reports whether the request succeeded.
func (a Answer) OK() bool { return a.Code >= 200 && a.Code < 300 }

// Message returns the server's reason for refusing; "" = it did not refuse.
func (a Answer) Message() string {
	if a.OK() {
		return ""
	}
	if m, ok := a.Object["message"].(string); ok {
		return m
	}
	return string(a.Text)
}

// Must fails the test unless the request succeeded.
func Must(t testing.TB, a Answer) Answer {
	t.Helper()
	if !a.OK() {
		t.Fatalf("%d %s", a.Code, a.Message())
	}
	return a
}

// Create creates an object in a collection ("/api/v1/namespaces/x/pods"). It sends a string or
// []byte as YAML, anything else as JSON.
func (l *Lab) Create(t testing.TB, collection string, object any) Answer {
	t.Helper()
	return l.do(t, http.MethodPost, collection, "", object)
}

// Get reads an object.
func (l *Lab) Get(t testing.TB, path string) Answer {
	t.Helper()
	return l.do(t, http.MethodGet, path, "", nil)
}

// Read decodes an object into what to points to. Unlike Get it never fails the test, so any
// goroutine may call it.
func (l *Lab) Read(path string, to any) error {
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	a, err := l.ask(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	if !a.OK() {
		return fmt.Errorf("GET %s: %d %s", path, a.Code, a.Message())
	}
	return json.Unmarshal(a.Text, to)
}

// Patch applies a strategic merge patch, as kubectl does: it merges lists by name.
func (l *Lab) Patch(t testing.TB, path string, patch any) Answer {
	t.Helper()
	return l.do(t, http.MethodPatch, path, "application/strategic-merge-patch+json", patch)
}

// Delete deletes an object at once.
func (l *Lab) Delete(t testing.TB, path string) {
	t.Helper()
	if a := l.do(t, http.MethodDelete, path+"?gracePeriodSeconds=0", "", nil); !a.OK() {
		t.Errorf("%d %s", a.Code, a.Message())
	}
}

func (l *Lab) do(t testing.TB, method, path, contentType string, body any) Answer {
	t.Helper()
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	case []byte:
		text = b
	default:
		var err error
		if text, err = json.Marshal(b); err != nil {
			t.Fatal(err)
		}
	}
	if contentType == "" && body != nil {
		contentType = "application/yaml" // JSON is YAML
	}
	// Not the test's context, which has ended during cleanup.
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	a, err := l.ask(ctx, method, path, contentType, text)
	if err != nil {
		t.Fatalf("%v\nlast of the server's log:\n%s", err, l.log())
	}
	return a
}

func (l *Lab) ask(ctx context.Context, method, path, contentType string, body []byte) (Answer, error) {
	request, err := http.NewRequestWithContext(ctx, method, "https://"+l.address+path, strings.NewReader(string(body)))
	if err != nil {
		return Answer{}, err
	}
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := l.client.Do(request)
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()
	a := Answer{Code: response.StatusCode}
	if a.Text, err = io.ReadAll(response.Body); err != nil {
		return a, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(a.Text, &a.Object); err != nil {
			return a, fmt.Errorf("%s %s: %w", method, path, err)
		}
	}
	for _, w := range response.Header.Values("Warning") {
		text, err := warning(w)
		if err != nil {
			return a, fmt.Errorf("%s %s: %w", method, path, err)
		}
		a.Warnings = append(a.Warnings, text)
	}
	return a, nil
}

// warning parses the text of a header
//
//	Warning: 299 - "text"
//
// (RFC 7234, 5.5): code, agent and a string in which \ quotes the next character.
func warning(header string) (string, error) {
	quoted, ok := strings.CutPrefix(header, "299 - ")
	if !ok {
		return "", fmt.Errorf("malformed warning: %s", header)
	}
	text, err := strconv.Unquote(quoted)
	if err != nil {
		return "", fmt.Errorf("malformed warning: %s", header)
	}
	return text, nil
}

// places maps the kinds that tests apply to their collections.
var places = map[string]string{
	"MutatingAdmissionPolicy":          "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
	"MutatingAdmissionPolicyBinding":   "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
	"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"MutatingWebhookConfiguration":     "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
	"ValidatingWebhookConfiguration":   "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
}

var kindLine = regexp.MustCompile(`(?m)^kind: *(\w+) *$`)

// Apply creates the objects of a YAML stream and deletes them when the test ends. The server needs
// time to put policies in force, and to remove them.
func (l *Lab) Apply(t testing.TB, stream string) {
	t.Helper()
	for document := range strings.SplitSeq("\n"+stream, "\n---") {
		m := kindLine.FindStringSubmatch(document)
		if m == nil || places[m[1]] == "" {
			t.Fatalf("no known kind:\n%s", document)
		}
		a := l.Create(t, places[m[1]], document)
		if !a.OK() {
			t.Fatalf("%s: %s", m[1], a.Message())
		}
		for _, w := range a.Warnings {
			t.Errorf("%s: %s", m[1], w)
		}
		name := a.Object["metadata"].(Object)["name"].(string)
		t.Cleanup(func() { l.Delete(t, places[m[1]]+"/"+name) })
	}
}

// list returns a list of objects, empty if the value is no list.
func list(of any) []Object {
	var all []Object
	items, _ := of.([]any)
	for _, o := range items {
		all = append(all, o.(Object))
	}
	return all
}

// Until waits until a condition holds: much happens after the server has responded.
func (l *Lab) Until(t testing.TB, what string, yes func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !yes(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s\nlast of the server's log:\n%s", deadline, what, l.log())
		}
	}
}
