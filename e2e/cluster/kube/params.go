// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"net/http"
	"testing"
)

// KeepParams applies a policy that matches nothing and refers to a ConfigMap, for as long as the server runs.
// A server (1.36.3) that has removed its last policy with ConfigMaps never sees new ones again for policies
// that come later, until it restarts.
func (l *Lab) KeepParams(t testing.TB) {
	t.Helper()
	for kind, spec := range map[string]string{
		"MutatingAdmissionPolicy": `{paramKind: {apiVersion: v1, kind: ConfigMap}, failurePolicy: Ignore, reinvocationPolicy: Never,
  matchConstraints: {resourceRules: [{apiGroups: [other.dev], apiVersions: [v1], operations: [CREATE], resources: [nothings]}]},
  mutations: [{patchType: JSONPatch, jsonPatch: {expression: '[JSONPatch{op: "test", path: "/kind", value: "Nothing"}]'}}]}`,
		"MutatingAdmissionPolicyBinding": `{policyName: keep-params, paramRef: {name: keep-params, namespace: default, parameterNotFoundAction: Allow}}`,
	} {
		a := l.Create(t, places[kind], "apiVersion: admissionregistration.k8s.io/v1\nkind: "+kind+"\nmetadata: {name: keep-params}\nspec: "+spec+"\n")
		if !a.OK() && a.Code != http.StatusConflict {
			t.Fatalf("%s: %s", kind, a.Message())
		}
	}
}
