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

// Shared is the variable that names the file in which a server tells of itself that tests
// of several processes share. Each has it to itself, and finds it as it was at first.
const Shared = "SNUG_LAB"

// shared is what that file holds.
type shared struct {
	Address string `json:"address"` // host and port
	Token   string `json:"token"`   // of its administrator
	CA      string `json:"ca"`      // PEM
	Etcd    string `json:"etcd"`    // URL
	// First is the revision of etcd at which everything was there that a server makes by
	// itself, and nothing else.
	First int64  `json:"first"`
	Log   string `json:"log"` // file
}

// Serve runs a server to share until the context ends, and tells of it in a file as soon as
// it can be used. Nothing of it is left.
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
	// Whole or not at all.
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

// settled waits until the server has made all that it makes by itself, and returns the
// revision of etcd: it has renewed its leases and changed nothing else meanwhile.
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
	return 0, fmt.Errorf("the server does not come to rest, last of its log:\n%s", l.server.Log())
}

// lock is the file on which a test has a lock while it has the server.
func lock(file string) string { return file + ".lock" }

// share waits until the server is this test's, and as it was at first.
func share(t testing.TB, file string) *Lab {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%s: %v; is go run ./e2e/cluster/lab still there?", Shared, err)
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
		l.sound(t, log.Size())
	})
	l.restore(t, s.First)
	return l
}

// restore makes the server what it was at a revision of etcd, for all that looks at it.
// What an earlier test has left is removed where it is stored, and the server hears of that
// as of anything that another server has done.
func (l *Lab) restore(t testing.TB, first int64) {
	t.Helper()
	var gone []string
	l.Until(t, "what is stored is as it was", func() bool {
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
	l.Until(t, "the server knows no other kinds", func() bool {
		// Each version that it serves has one, but their own.
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
		l.Until(t, "the server's cache of "+path+" is what is stored", func() bool {
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

// versions are the paths of all that the server knows, of each group.
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

// collections are the paths of all kinds whose objects are stored.
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

// markers are a policy and a webhook of each kind that refuse what is marked for them.
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

// decided waits until the server goes by no policy and no webhook that was there before: it
// hears of them in their order, so it does when it goes by one that comes after them.
func (l *Lab) decided(t testing.TB) {
	t.Helper()
	for kind, spec := range markers {
		Must(t, l.Create(t, places[kind], "metadata: {name: marker}\n"+spec))
	}
	for kind := range markers {
		if !strings.HasSuffix(kind, "Binding") {
			l.Until(t, "a "+kind+" decides", func() bool {
				a := l.Create(t, "/api/v1/namespaces/default/configmaps?dryRun=All", "metadata: {name: x, labels: {marker: "+kind+"}}")
				return strings.Contains(a.Message(), "marker")
			})
		}
	}
	for kind := range markers {
		l.Delete(t, places[kind]+"/marker")
	}
}

// unreachable is a webhook that nobody answers for.
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
