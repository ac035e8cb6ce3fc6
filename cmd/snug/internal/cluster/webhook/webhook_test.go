// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
)

var update = flag.Bool("update", false, "rewrite testdata")

func configured(t *testing.T, text string) *policy.Config {
	t.Helper()
	c, err := policy.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

const question = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","namespace":"web",` +
	`"resource":{"resource":"pods"},"object":{"metadata":{"labels":{"snug.dev/inject":"enabled"}},"spec":{"containers":[{"name":"a","resources":{"limits":{"memory":"1Gi"}}}]}}}}`

func TestHandler(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	h := w.Handler()
	for _, c := range []struct {
		name, method, path, body string
		code                     int
		want                     string
	}{
		{"a pod", "POST", FitByPod, question, 200, `"patchType":"JSONPatch"`},
		{"by its namespace", "POST", FitByNamespace + "?timeout=2s", strings.Replace(question, `"snug.dev/inject":"enabled"`, "", 1), 200, `"patchType":"JSONPatch"`},
		{"not by its namespace", "POST", FitByPod, strings.Replace(question, `"snug.dev/inject":"enabled"`, "", 1), 200, `"allowed":true}`},
		{"not a new pod", "POST", FitByPod, strings.Replace(question, "CREATE", "UPDATE", 1), 200, `"allowed":true}`},
		{"nonsense", "POST", FitByPod, "nonsense", 200, `"allowed":true,"warnings":["snug`},
		{"another method", "GET", FitByPod, "", 405, ""},
		{"another path", "POST", "/", question, 404, ""},
		{"what it asks itself", "POST", "/self", question, 404, ""},
		{"a large review", "POST", FitByPod, strings.Repeat(" ", maxReview) + question, 413, "too large"},
		{"the largest review", "POST", FitByPod, strings.Repeat(" ", maxReview-len(question)) + question, 200, `"patchType":"JSONPatch"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
			got := httptest.NewRecorder()
			h.ServeHTTP(got, r)
			if got.Code != c.code || !strings.Contains(got.Body.String(), c.want) {
				t.Errorf("%d %s", got.Code, got.Body)
			}
			if got.Code == 200 && got.Header().Get("Content-Type") != "application/json" {
				t.Errorf("header %v", got.Header())
			}
		})
	}
	r := httptest.NewRequest("POST", FitByPod, io.MultiReader(strings.NewReader(question[:50]), broken{}))
	got := httptest.NewRecorder()
	if h.ServeHTTP(got, r); got.Code != 400 {
		t.Errorf("cut short: %d %s", got.Code, got.Body)
	}
	state := httptest.NewRecorder()
	w.State().ServeHTTP(state, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{
		`snug_webhook_reviews_total{outcome="patched",path="fit/pod"} 2`, `snug_webhook_reviews_total{outcome="opted_out",path="fit/pod"} 1`,
		`snug_webhook_reviews_total{outcome="unreadable",path="fit/pod"} 1`, `snug_webhook_reviews_total{outcome="other",path="fit/pod"} 1`,
		`snug_webhook_refused_total{path="fit/pod",reason="large"} 1`, `snug_webhook_refused_total{path="fit/pod",reason="cut"} 1`,
		`snug_webhook_refused_total{path="fit/namespace",reason="busy"} 0`, `snug_webhook_review_duration_seconds_count{path="fit/pod"} 5`,
	} {
		if !strings.Contains(state.Body.String(), want+"\n") {
			t.Errorf("no %s", want)
		}
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone") }

// TestBusy: a review whose client has no turn left is refused when it is gone, and gets the next turn.
func TestBusy(t *testing.T) {
	w := New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}})
	var leave func()
	for range maxParallel / 4 {
		leave, _ = w.turns.Take(t.Context(), time.Hour)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop() // the client is gone
	got := httptest.NewRecorder()
	w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question)).WithContext(ctx))
	if got.Code != 503 || got.Header().Get("Retry-After") == "" {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	leave()
	got = httptest.NewRecorder()
	if w.Handler().ServeHTTP(got, httptest.NewRequest("POST", FitByPod, strings.NewReader(question))); got.Code != 200 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// listening returns listeners for reviews and state.
func listening(t *testing.T) (l [2]net.Listener) {
	t.Helper()
	for i := range l {
		var err error
		if l[i], err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// TestServe: the server answers with TLS while the certificate changes. When its context ends, it is
// no longer ready, keeps serving for the drain, and finishes the requests in progress.
func TestServe(t *testing.T) {
	var said []string
	var mu sync.Mutex
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS() // for its certificate
	certificate := server.TLS.Certificates[0]
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	server.Close()
	ready := errors.New("no certificate yet")
	w := New(Options{
		Reviewer: &review.Reviewer{Config: configured(t, "")}, Drain: time.Hour,
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
		Ready: func() error {
			mu.Lock()
			defer mu.Unlock()
			return ready
		},
		Note: func(text string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, text)
		},
	})
	listeners := listening(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	// The drain of an hour ends with one of the servers.
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, listeners[0], listeners[1]) }()

	state := func(path string) int {
		t.Helper()
		r, err := http.Get("http://" + listeners[1].Addr().String() + path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r.StatusCode
	}
	if state("/healthz") != 200 || state("/readyz") != 503 {
		t.Error("healthy, and not ready yet")
	}
	mu.Lock()
	ready = nil
	mu.Unlock()
	if state("/readyz") != 200 {
		t.Error("not ready")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com"}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	ask := func() *http.Response {
		t.Helper()
		r, err := client.Post("https://"+listeners[0].Addr().String()+FitByPod, "application/json", strings.NewReader(question))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r.Body)
		r.Body.Close()
		if err != nil || !bytes.Contains(text, []byte("JSONPatch")) {
			t.Errorf("%v: %s", err, text)
		}
		return r
	}
	if r := ask(); r.ProtoMajor != 2 {
		t.Errorf("protocol %s", r.Proto)
	}
	// A client that does not trust the certificate.
	if c, err := tls.Dial("tcp", listeners[0].Addr().String(), &tls.Config{RootCAs: x509.NewCertPool()}); err == nil {
		c.Close()
		t.Error("an untrusted certificate is accepted")
	}
	stop()
	for state("/readyz") == 200 {
		time.Sleep(time.Millisecond)
	}
	ask()
	// With HTTP/1.1, the answer shows that the connection is to close.
	old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "example.com", NextProtos: []string{"http/1.1"}}}
	defer old.CloseIdleConnections()
	client.Transport = old
	if r := ask(); !r.Close || r.ProtoMajor != 1 {
		t.Errorf("protocol %s, close %t", r.Proto, r.Close)
	}
	listeners[1].Close()
	if err := <-ended; err == nil {
		t.Error("a listener that is closed is no failure")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(said) > 1 {
		t.Errorf("it said %q", said)
	}
}

// TestRegister compares the output with testdata, and checks that it is YAML.
func TestRegister(t *testing.T) {
	service := Place{Namespace: "snug", Service: "snug-webhook"}
	for name, c := range map[string]struct {
		config string
		at     Place
	}{
		"default":    {"", service},
		"all":        {"inject: all\nexclude: {namespaces: [infra]}", service},
		"url":        {"", Place{URL: "https://127.0.0.1:9443"}},
		"everywhere": {"inject: all\nexclude: {namespaces: []}", Place{URL: "https://127.0.0.1:9443"}},
		"labelled":   {"exclude: {namespaces: []}", Place{URL: "https://127.0.0.1:9443"}},
	} {
		got := []byte(Register(configured(t, c.config), "snug-webhook", c.at))
		file := filepath.Join("testdata", name+".yaml")
		if *update {
			if err := os.WriteFile(file, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; -update rewrites it, check the difference", file)
		}
		names := map[string]bool{}
		for dec := yaml.NewDecoder(bytes.NewReader(got)); ; {
			var o struct {
				Kind     string
				Webhooks []struct {
					Name          string
					FailurePolicy string `yaml:"failurePolicy"`
					Timeout       int    `yaml:"timeoutSeconds"`
				}
			}
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, w := range o.Webhooks {
				names[o.Kind+" "+w.Name] = true
				if w.FailurePolicy != "Ignore" || w.Timeout != 2 {
					t.Errorf("%s: %+v", file, w)
				}
			}
		}
		n := 2
		if configured(t, c.config).All {
			n++ // for namespaces without the label
		}
		if len(names) != n {
			t.Errorf("%s: %v", file, names)
		}
	}
}

// TestSelectors: an API server asks about the right pods and namespaces, by their labels.
func TestSelectors(t *testing.T) {
	type selector struct {
		Expressions []struct {
			Key, Operator string
			Values        []string
		} `yaml:"matchExpressions"`
	}
	matches := func(s selector, labels map[string]string) bool {
		for _, e := range s.Expressions {
			value, has := labels[e.Key]
			in := has && slices.Contains(e.Values, value)
			if !map[string]bool{"In": in, "NotIn": !in, "Exists": has, "DoesNotExist": !has}[e.Operator] {
				return false
			}
		}
		return true
	}
	labels := func(name, word string) map[string]string {
		all := map[string]string{"kubernetes.io/metadata.name": name}
		if word != "nothing" {
			all[policy.InjectLabel] = word
		}
		return all
	}
	words := []string{"nothing", policy.Enabled, policy.Disabled, "false", ""}
	for _, config := range []string{"", "inject: all", "exclude: {namespaces: []}", "exclude: {namespaces: [infra]}"} {
		c := configured(t, config)
		dec := yaml.NewDecoder(strings.NewReader(Register(c, "snug-webhook", Place{Namespace: "snug", Service: "s"})))
		var registered struct {
			Webhooks []struct {
				Name      string
				Object    selector `yaml:"objectSelector"`
				Namespace selector `yaml:"namespaceSelector"`
			}
		}
		if err := dec.Decode(&registered); err != nil {
			t.Fatal(err)
		}
		for _, namespace := range []string{"web", "infra", "snug"} {
			for _, pod := range words {
				for _, its := range words {
					about := policy.Pod{Namespace: namespace, Labels: labels("p", pod), NamespaceLabels: labels(namespace, its)}
					in, _ := c.OptedIn(&about)
					n := 0
					for _, e := range registered.Webhooks {
						if matches(e.Object, about.Labels) && matches(e.Namespace, about.NamespaceLabels) {
							n++
						}
					}
					if want := in && namespace != "snug" && !slices.Contains(c.Namespaces, namespace); n > 1 || n == 1 != want {
						t.Errorf("%q: a pod of %q in %s of %q is matched by %d of %v", config, pod, namespace, its, n, registered)
					}
				}
			}
		}
	}
}

func TestQuiet(t *testing.T) {
	var said []string
	l := quietLog(func(text string) { said = append(said, text) })
	for i := range 100 {
		l.Printf("error %d\n", i)
	}
	if fmt.Sprint(said) != "[error 0]" && len(said) > 3 { // on an overloaded machine there may be more
		t.Errorf("said %q", said)
	}
}
