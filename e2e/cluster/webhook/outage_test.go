// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// crowd creates pods, several at a time, until it is stopped. For every other pod stored is nothing
// to add.
type crowd struct {
	stop      atomic.Bool
	group     sync.WaitGroup
	mu        sync.Mutex
	names     []string      // of pods that the server created
	unhandled []string      // of these, neither patched nor annotated
	slowest   time.Duration // the longest creation of a pod
	created   atomic.Int64
}

func (l *lab) crowd(t *testing.T, name string) *crowd {
	c := &crowd{}
	var next atomic.Int64
	for range 4 {
		c.group.Go(func() {
			for !c.stop.Load() {
				n := next.Add(1)
				spec := one
				if n%2 == 0 {
					spec = "containers: [{name: a, image: x}]"
				}
				pod := fmt.Sprintf("%s-%d", name, n)
				begin := time.Now()
				a := l.Create(t, "/api/v1/namespaces/in/pods", fmt.Sprintf("metadata: {name: %s}\nspec: {%s}\n", pod, spec))
				took := time.Since(begin)
				if !a.OK() {
					t.Errorf("%s was refused: %d %s", pod, a.Code, a.Message())
					continue
				}
				_, said := hook.Stored(a.Object)
				c.mu.Lock()
				c.names = append(c.names, pod)
				if said == "" {
					c.unhandled = append(c.unhandled, pod)
				}
				c.slowest = max(c.slowest, took)
				c.mu.Unlock()
				c.created.Add(1)
			}
		})
	}
	t.Cleanup(func() {
		c.stop.Store(true)
		c.group.Wait()
	})
	return c
}

// wait waits until this many more pods have been created.
func (c *crowd) wait(t *testing.T, more int64) {
	t.Helper()
	to := c.created.Load() + more
	hook.Until(t, fmt.Sprintf("%d more pods", more), func() string { return "" }, func() bool { return c.created.Load() >= to })
}

// all stops the creation and fails unless every created pod exists.
func (c *crowd) all(t *testing.T, l *lab) {
	t.Helper()
	c.stop.Store(true)
	c.group.Wait()
	stored := map[string]bool{}
	for _, o := range hook.List(kube.Must(t, l.Get(t, "/api/v1/namespaces/in/pods")).Object["items"]) {
		stored[fmt.Sprint(o["metadata"].(kube.Object)["name"])] = true
	}
	for _, name := range c.names {
		if !stored[name] {
			t.Errorf("%s is lost", name)
		}
	}
	t.Logf("%d pods, %d of them neither patched nor annotated; the longest took %v", len(c.names), len(c.unhandled), c.slowest.Round(time.Millisecond))
}

// missed returns the pods that were neither patched nor annotated. It returns none if a creation
// took more than 1 s, because a machine that stalls for the API server's time limit proves nothing.
func (c *crowd) missed() []string {
	if c.slowest > time.Second {
		return nil
	}
	return c.unhandled
}

// killed: pods are created while the webhook is down, and it is called again once it is back.
func (l *lab) killed(t *testing.T) {
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	flags := []string{"--secret", "killed"}
	r := hook.Start(t, l.exe, l.at, s, flags...)
	l.inForce(t)
	c := l.crowd(t, "killed")
	for range 3 {
		c.wait(t, 50)
		r.Kill()
		c.wait(t, 50)
		r = hook.Start(t, l.exe, l.at, s, flags...)
		l.inForce(t)
	}
	c.wait(t, 200)
	c.all(t, l)
	if n := len(c.unhandled); n == 0 || n > len(c.names)-200 && c.slowest < time.Second {
		t.Errorf("%d of %d pods were neither patched nor annotated: the webhook was not killed or not started", n, len(c.names))
	}
	after := l.crowd(t, "after")
	after.wait(t, 50)
	after.all(t, l)
	if missed := after.missed(); len(missed) > 0 {
		t.Errorf("neither patched nor annotated, although the webhook runs: %q", missed)
	}
}

// rolled: replicas that restart one after the other, like those of a Deployment, miss no pod.
func (l *lab) rolled(t *testing.T) {
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	flags := []string{"--secret", "rolled", "--drain", "4s"}
	replicas := []*hook.Replica{hook.Start(t, l.exe, l.at, s, flags...), hook.Start(t, l.exe, l.at, s, flags...)}
	l.inForce(t)
	c := l.crowd(t, "rolled")
	for range 2 {
		for i := range replicas {
			c.wait(t, 50)
			replicas[i].Stop(t)
			c.wait(t, 50)
			replicas[i] = hook.Start(t, l.exe, l.at, s, flags...)
		}
	}
	c.wait(t, 50)
	c.all(t, l)
	if missed := c.missed(); len(missed) > 0 {
		t.Errorf("neither patched nor annotated: %q\n%s\n%s", missed, replicas[0].Said(), replicas[1].Said())
	}
}

// renewed: two replicas that start together share one certificate. Its renewal loses no pod.
func (l *lab) renewed(t *testing.T) {
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	var replicas []*hook.Replica
	var first *x509.Certificate
	// A certificate is renewed after two thirds of its life. If the machine takes longer to start
	// both replicas, use a longer life.
	for life := 30 * time.Second; first == nil; life *= 2 {
		if replicas, first = l.pair(t, s, life); t.Failed() {
			return
		}
	}
	c := l.crowd(t, "renewed")
	// Both CAs are in the configuration before a replica uses the new certificate.
	hook.Until(t, "two CAs", replicas[0].Said, func() bool { return l.bundles(t) == 2 })
	hook.Until(t, "both use a renewed certificate", replicas[0].Said, func() bool {
		a, b := certificateOf(t, replicas[0]), certificateOf(t, replicas[1])
		return bytes.Equal(a.Raw, b.Raw) && !bytes.Equal(a.Raw, first.Raw)
	})
	// Wait until the first certificate has expired.
	hook.Until(t, "the end of the first certificate", replicas[0].Said, func() bool { return time.Now().After(first.NotAfter) })
	c.wait(t, 50)
	c.all(t, l)
	if missed := c.missed(); len(missed) > 0 {
		t.Errorf("neither patched nor annotated: %q\n%s\n%s", missed, replicas[0].Said(), replicas[1].Said())
	}
	for _, r := range replicas {
		if said := r.Said(); strings.Count(said, "\n") > 2 && c.slowest < time.Second {
			t.Errorf("log %s", said)
		}
	}
}

// pair starts two replicas at the same time and returns their certificate; nil = starting took more
// than two thirds of the certificate's life.
func (l *lab) pair(t *testing.T, s *hook.Service, life time.Duration) ([]*hook.Replica, *x509.Certificate) {
	t.Helper()
	replicas, begin := make([]*hook.Replica, 2), time.Now()
	var group sync.WaitGroup
	for i := range replicas {
		group.Go(func() {
			replicas[i] = hook.Start(t, l.exe, l.at, s, "--secret", "renewed-"+life.String(), "--cert-life", life.String())
		})
	}
	group.Wait()
	if t.Failed() {
		return nil, nil
	}
	first, other := certificateOf(t, replicas[0]), certificateOf(t, replicas[1])
	l.inForce(t)
	n := l.bundles(t)
	if time.Since(begin) > life*2/3 {
		t.Logf("not started within two thirds of %v", life)
		for _, r := range replicas {
			r.Kill()
		}
		return nil, nil
	}
	if !bytes.Equal(first.Raw, other.Raw) {
		t.Errorf("different certificates, %v and %v", first.SerialNumber, other.SerialNumber)
	}
	if n != 1 {
		t.Errorf("%d CAs at first, want 1", n)
	}
	return replicas, first
}

// certificateOf returns the certificate that a replica uses now.
func certificateOf(t *testing.T, r *hook.Replica) *x509.Certificate {
	t.Helper()
	conn, err := tls.Dial("tcp", r.Listen, &tls.Config{InsecureSkipVerify: true}) // the certificate is the result
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Said())
	}
	defer conn.Close()
	return conn.ConnectionState().PeerCertificates[0]
}

// bundles returns the number of CAs in the configuration; 0 = its entries differ.
func (l *lab) bundles(t *testing.T) int {
	t.Helper()
	seen := map[string]bool{}
	a := kube.Must(t, l.Get(t, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug-webhook"))
	for _, w := range hook.List(a.Object["webhooks"]) {
		text, _ := w["clientConfig"].(kube.Object)["caBundle"].(string)
		seen[text] = true
	}
	if len(seen) != 1 {
		return 0 // an update is in progress
	}
	for text := range seen {
		bundle, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(string(bundle), "BEGIN CERTIFICATE")
	}
	return 0
}

// files: the certificate comes from files, and another party writes its CA to the configuration.
func (l *lab) files(t *testing.T) {
	dir := t.TempDir()
	crt, end := certificate(t, dir)
	s := hook.NewService(t)
	hook.Register(t, l.Lab, l.exe, s)
	r := hook.Start(t, l.exe, l.at, s, "--cert-file", filepath.Join(dir, "tls.crt"), "--key-file", filepath.Join(dir, "tls.key"), "--secret", "unused")
	var entries []any
	for _, name := range []string{"pod.fit.snug.dev", "namespace.fit.snug.dev"} {
		entries = append(entries, kube.Object{"name": name, "clientConfig": kube.Object{"caBundle": base64.StdEncoding.EncodeToString(crt)}})
	}
	kube.Must(t, l.Patch(t, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/snug-webhook", kube.Object{"webhooks": entries}))
	l.inForce(t)
	if a := l.Get(t, "/api/v1/namespaces/"+hook.Namespace+"/secrets/unused"); a.OK() {
		t.Error("the webhook wrote a Secret")
	}
	if !strings.Contains(r.Get("/metrics"), fmt.Sprintf("snug_webhook_certificate_expiry_timestamp_seconds %g\n", float64(end.Unix()))) {
		t.Error("the metrics lack the certificate's expiry")
	}
}
