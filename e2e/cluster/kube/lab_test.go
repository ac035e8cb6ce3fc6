// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// TestLab: a server has the requested release. Tests that share it use it one at a time and find
// its initial state. It leaves nothing behind.
func TestLab(t *testing.T) {
	gate.Need(t, "kube")
	file := filepath.Join(t.TempDir(), "lab.json")
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, file) }()
	for !exists(file) {
		select {
		case err := <-served:
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Setenv(Shared, file)
	var l *Lab
	var before string
	t.Run("a test", func(t *testing.T) {
		l = Start(t)
		if a := Must(t, l.Get(t, "/version")); a.Object["gitVersion"] != kubebuild.Kubernetes.Version {
			t.Errorf("version %v, want %s", a.Object["gitVersion"], kubebuild.Kubernetes.Version)
		}
		if a := l.Get(t, "/api/v1/namespaces/none"); a.OK() || a.Message() != `namespaces "none" not found` {
			t.Errorf("a missing namespace: %d %s", a.Code, a.Message())
		}
		other, err := os.Open(lock(file))
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := syscall.Flock(int(other.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			t.Error("another test could lock it too")
		}
		before = l.inventory(t)
		l.spoil(t)
		if l.inventory(t) == before {
			t.Error("the changes are not visible")
		}
	})
	t.Run("a later test", func(t *testing.T) {
		l = Start(t)
		if now := l.inventory(t); now != before {
			t.Errorf("it has\n%s\nwant the initial\n%s", now, before)
		}
		// Neither policy is in force, and the kind does not exist.
		if a := Must(t, l.Create(t, "/api/v1/namespaces/default/configmaps", "metadata: {name: mine}")); a.Object["data"] != nil {
			t.Errorf("stored %v", a.Object)
		}
		if a := l.Get(t, "/apis/snug.dev/v1/spoils"); a.Code != http.StatusNotFound {
			t.Errorf("another test's kind: %d", a.Code)
		}
	})
	stop()
	if l == nil {
		t.FailNow()
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for _, path := range []string{file, lock(file), filepath.Dir(l.server.File)} {
		if exists(path) {
			t.Errorf("%s still exists", path)
		}
	}
	for _, address := range []string{l.address, strings.TrimPrefix(string(l.store), "http://")} {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			t.Errorf("a process still listens on %s", address)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// inventory returns the names of all objects on the server, and the labels of namespaces.
func (l *Lab) inventory(t *testing.T) string {
	t.Helper()
	var all []string
	for _, path := range l.collections(t) {
		for _, o := range list(Must(t, l.Get(t, path)).Object["items"]) {
			meta := o["metadata"].(Object)
			all = append(all, fmt.Sprint(path, " ", meta["namespace"], "/", meta["name"], " ", meta["labels"]))
		}
	}
	return strings.Join(all, "\n")
}

// spoil makes changes that a killed test could leave: objects of many kinds, a new kind, policies
// in force, and changed or deleted objects of the server itself.
func (l *Lab) spoil(t *testing.T) {
	t.Helper()
	for _, name := range []string{"in", "out"} {
		Must(t, l.Create(t, "/api/v1/namespaces", "metadata: {name: "+name+", labels: {snug.dev/inject: enabled}}"))
		for i := range 3 {
			Must(t, l.Create(t, "/api/v1/namespaces/"+name+"/pods", fmt.Sprintf("metadata: {name: p%d}\nspec: {containers: [{name: a, image: x}]}", i)))
		}
	}
	Must(t, l.Create(t, "/api/v1/namespaces/in/services", "metadata: {name: web}\nspec: {ports: [{port: 80}]}"))
	Must(t, l.Patch(t, "/api/v1/namespaces/kube-system", Object{"metadata": Object{"labels": Object{"snug.dev/inject": "enabled"}}}))
	l.Delete(t, "/apis/rbac.authorization.k8s.io/v1/clusterroles/view")
	Must(t, l.Create(t, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", `
metadata: {name: spoils.snug.dev}
spec:
  group: snug.dev
  names: {plural: spoils, kind: Spoil}
  scope: Cluster
  versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`))
	const rules = "resourceRules: [{apiGroups: [\"\"], apiVersions: [v1], operations: [CREATE], resources: [configmaps]}]"
	for kind, spec := range map[string]string{
		"MutatingAdmissionPolicy":          "spec: {reinvocationPolicy: Never, matchConstraints: {" + rules + "}, mutations: [{patchType: ApplyConfiguration, applyConfiguration: {expression: 'Object{data: {\"spoilt\": \"yes\"}}'}}]}",
		"MutatingAdmissionPolicyBinding":   "spec: {policyName: spoil}",
		"ValidatingAdmissionPolicy":        "spec: {matchConstraints: {" + rules + "}, validations: [{expression: '!has(object.data)'}]}",
		"ValidatingAdmissionPolicyBinding": "spec: {policyName: spoil, validationActions: [Deny]}",
	} {
		Must(t, l.Create(t, places[kind], "metadata: {name: spoil}\n"+spec))
	}
	l.Until(t, "both policies are in force, and the kind exists", func() bool {
		a := l.Create(t, "/api/v1/namespaces/in/configmaps?dryRun=All", "metadata: {name: x}")
		return a.Code == http.StatusUnprocessableEntity && l.Create(t, "/apis/snug.dev/v1/spoils", "apiVersion: snug.dev/v1\nkind: Spoil\nmetadata: {name: a}").OK()
	})
}

// TestNoServer: a server that cannot start returns the reason at once.
func TestNoServer(t *testing.T) {
	gate.Need(t, "kube")
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no flag $1 >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err = start(t.Context(), dir, broken, etcd, Options{})
	if err == nil || !strings.Contains(err.Error(), "broken ended: exit status 3") || !strings.Contains(err.Error(), "no flag --etcd-servers") {
		t.Errorf("error %v", err)
	}
}
