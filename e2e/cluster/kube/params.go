// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"context"
	"fmt"
	"net/http"
	"testing"
)

// KeepParams applies a policy that matches nothing and refers to a ConfigMap, for as long as the server runs.
// A server (1.36.3) that has removed its last policy with ConfigMaps never sees new ones again for policies
// that come later, until it restarts (https://github.com/kubernetes/kubernetes/issues/130887).
func (l *Lab) KeepParams(t testing.TB) {
	t.Helper()
	if err := l.keepParams(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func (l *Lab) keepParams(ctx context.Context) error {
	for kind, spec := range map[string]string{
		"MutatingAdmissionPolicy": `{paramKind: {apiVersion: v1, kind: ConfigMap}, failurePolicy: Ignore, reinvocationPolicy: Never,
  matchConstraints: {resourceRules: [{apiGroups: [other.dev], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]},
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "test", path: "/kind", value: "Nothing"}]'}}]}`,
		"MutatingAdmissionPolicyBinding": `{policyName: keep-params, paramRef: {name: keep-params, namespace: default, parameterNotFoundAction: Allow}}`,
	} {
		a, err := l.ask(ctx, http.MethodPost, places[kind], "application/yaml",
			[]byte("apiVersion: admissionregistration.k8s.io/v1\nkind: "+kind+"\nmetadata: {name: keep-params}\nspec: "+spec+"\n"))
		if err != nil {
			return err
		}
		if !a.OK() && a.Code != http.StatusConflict {
			return fmt.Errorf("%s: %s", kind, a.Message())
		}
	}
	return nil
}
