// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
)

// Shared is the variable that names the file of a server shared by tests of several processes. They
// use it one at a time, and each finds its initial state.
const Shared = "SNUG_LAB"

// shared is the content of that file.
type shared struct {
	Address string `json:"address"` // host and port
	Token   string `json:"token"`   // of its administrator
	CA      string `json:"ca"`      // PEM
	Etcd    string `json:"etcd"`    // URL
	// First is the revision of etcd at which the server had created all its own objects, and no
	// others existed.
	First int64  `json:"first"`
	Log   string `json:"log"` // file
}

// Serve runs a shared server until the context ends. It writes the file when the server is ready,
// and leaves nothing behind.
func Serve(ctx context.Context, file string) error {
	dir, err := os.MkdirTemp("", "snug-lab-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	l, err := run(ctx, dir, Options{})
	if err != nil {
		return err
	}
	defer l.stop()
	first, err := l.settled(ctx)
	if err != nil {
		return err
	}
	text, err := json.Marshal(shared{l.address, l.token, string(l.ca), string(l.store), first, l.server.File})
	if err != nil {
		return err
	}
	defer os.Remove(lock(file))
	defer os.Remove(file)
	// Written atomically.
	if err := os.WriteFile(lock(file), text, 0o600); err != nil {
		return err
	}
	if err := os.Rename(lock(file), file); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case <-l.etcd.Done():
	case <-l.server.Done():
	}
	return fmt.Errorf("a server has ended\n%s\n%s", l.etcd.Log(), l.server.Log())
}

// settled waits until the server has created all its own objects, and returns the revision of etcd:
// since then only leases have changed.
func (l *Lab) settled(ctx context.Context) (int64, error) {
	var before []pair
	renewed := 0
	for end := time.Now().Add(deadline); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(200 * time.Millisecond) {
		all, now, err := l.store.all(ctx, 0)
		if err != nil {
			return 0, err
		}
		same := len(all) == len(before)
		for i := 0; same && i < len(all); i++ {
			if !bytes.Equal(all[i].Value, before[i].Value) {
				if same = all[i].lease(); same {
					renewed++
				}
			}
		}
		if before = all; !same {
			renewed = 0
		}
		if renewed >= 2 {
			return now, nil
		}
	}
	return 0, fmt.Errorf("the server does not settle; last of its log:\n%s", l.server.Log())
}

// lock returns the file that a test locks while it uses the server.
func lock(file string) string { return file + ".lock" }

// share locks the server for this test and restores its initial state.
func share(t testing.TB, file string) *Lab {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: %v; is go run ./e2e/cluster/lab still running?", Shared, err)
	}
	var s shared
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	own, err := os.OpenFile(lock(file), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { own.Close() })
	if err := syscall.Flock(int(own.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	log, err := os.Stat(s.Log)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{server: &daemon.Process{Name: "kube-apiserver", File: s.Log}, address: s.Address, token: s.Token, store: store(s.Etcd)}
	if !l.trust([]byte(s.CA)) {
		t.Fatalf("%s: no certificate", file)
	}
	t.Cleanup(func() {
		l.client.CloseIdleConnections()
		l.checkNoPanic(t, log.Size())
	})
	l.restore(t, s.First)
	return l
}

// restore returns the server to its state at a revision of etcd, including its caches. It removes
// the leftovers of an earlier test in etcd, and the server sees the changes as if another API
// server had made them.
func (l *Lab) restore(t testing.TB, first int64) {
	t.Helper()
	var gone []string
	l.Until(t, "etcd has its initial content", func() bool {
		removed, same, err := l.store.restore(t.Context(), first)
		if err != nil {
			t.Fatalf("%v\nlast of the server's log:\n%s", err, l.log())
		}
		for _, key := range removed {
			if name, ok := strings.CutPrefix(key, begin+"namespaces/"); ok {
				gone = append(gone, name)
			}
		}
		return same
	})
	l.Until(t, "the server has no other kinds", func() bool {
		// There is one APIService for each served version, except that of APIService itself.
		services := Must(t, l.Get(t, "/apis/apiregistration.k8s.io/v1/apiservices")).Object["items"]
		return len(l.versions(t))-1 == len(list(services))
	})
	items := func(path string) []byte {
		var all struct{ Items json.RawMessage }
		if err := l.Read(path, &all); err != nil {
			t.Fatal(err)
		}
		return all.Items
	}
	for _, path := range l.collections(t) {
		l.Until(t, "the server's cache of "+path+" equals etcd", func() bool {
			return bytes.Equal(items(path), items(path+"?resourceVersion=0"))
		})
	}
	for _, name := range gone {
		l.Until(t, "namespace "+name+" is gone", func() bool {
			a := l.Create(t, "/api/v1/namespaces/"+name+"/configmaps?dryRun=All", "metadata: {name: x}")
			return a.Code == http.StatusNotFound
		})
	}
	l.decided(t)
}

// versions returns the paths of all API versions.
func (l *Lab) versions(t testing.TB) []string {
	t.Helper()
	all := []string{"/api/v1"}
	for _, g := range list(Must(t, l.Get(t, "/apis")).Object["groups"]) {
		for _, v := range list(g["versions"]) {
			all = append(all, fmt.Sprint("/apis/", v["groupVersion"]))
		}
	}
	return all
}

// collections returns the paths of all kinds with stored objects.
func (l *Lab) collections(t testing.TB) []string {
	t.Helper()
	var all []string
	for _, version := range l.versions(t) {
		for _, r := range list(Must(t, l.Get(t, version)).Object["resources"]) {
			if verbs, _ := r["verbs"].([]any); slices.Contains(verbs, any("watch")) {
				all = append(all, fmt.Sprint(version, "/", r["name"]))
			}
		}
	}
	return all
}

// markers holds a policy and a webhook of each kind. Each refuses objects with its own marker
// label.
var markers = map[string]string{
	"MutatingAdmissionPolicy": `spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}], objectSelector: {matchLabels: {marker: MutatingAdmissionPolicy}}}
  mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{data: {"a": object.data.missing}}'}}]`,
	"MutatingAdmissionPolicyBinding": `spec: {policyName: marker}`,
	"ValidatingAdmissionPolicy": `spec:
  failurePolicy: Fail
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}], objectSelector: {matchLabels: {marker: ValidatingAdmissionPolicy}}}
  validations: [{expression: "false"}]`,
	"ValidatingAdmissionPolicyBinding": `spec: {policyName: marker, validationActions: [Deny]}`,
	"MutatingWebhookConfiguration":     unreachable("MutatingWebhookConfiguration"),
	"ValidatingWebhookConfiguration":   unreachable("ValidatingWebhookConfiguration"),
}

// decided waits until no earlier policy or webhook is in force. The server sees changes in order,
// so it has seen all earlier ones once a new marker is in force.
func (l *Lab) decided(t testing.TB) {
	t.Helper()
	for kind, spec := range markers {
		Must(t, l.Create(t, places[kind], "metadata: {name: marker}\n"+spec))
	}
	for kind := range markers {
		if !strings.HasSuffix(kind, "Binding") {
			l.Until(t, "a "+kind+" is in force", func() bool {
				a := l.Create(t, "/api/v1/namespaces/default/configmaps?dryRun=All", "metadata: {name: x, labels: {marker: "+kind+"}}")
				return strings.Contains(a.Message(), "marker")
			})
		}
	}
	for kind := range markers {
		l.Delete(t, places[kind]+"/marker")
	}
}

// unreachable returns a webhook at an address where nothing listens.
func unreachable(kind string) string {
	return `webhooks:
- name: marker.snug.dev
  clientConfig: {url: "https://127.0.0.1:1/"}
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  objectSelector: {matchLabels: {marker: ` + kind + `}}
  rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]
`
}
