// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// TestKyvernoExample: the example for Kyverno has the policies of the default configuration,
// with the same expressions, in Kyverno's kinds. The content of a binding is in the policy
// itself, and autogen is off, because the policies name the workloads that they check.
func TestKyvernoExample(t *testing.T) {
	const file = "../../../../../docs/examples/kyverno/policy.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	config := parsed(t, "")
	var want []map[string]any
	for _, o := range documents(t, []byte(policy.Render(&config))) {
		spec := o["spec"].(map[string]any)
		if strings.HasSuffix(o["kind"].(string), "Binding") {
			// The binding follows its policy.
			if actions, ok := spec["validationActions"]; ok {
				want[len(want)-1]["spec"].(map[string]any)["validationActions"] = actions
			}
			continue
		}
		o["apiVersion"] = "policies.kyverno.io/v1"
		o["kind"] = strings.Replace(o["kind"].(string), "Admission", "", 1)
		spec["autogen"] = map[string]any{"podControllers": map[string]any{"controllers": []any{}}}
		want = append(want, o)
	}
	got := documents(t, text)
	if len(got) != len(want) {
		t.Fatalf("%s: %d policies, want %d", file, len(got), len(want))
	}
	for i := range want {
		if !reflect.DeepEqual(got[i], want[i]) {
			t.Errorf("%s: %v differs from snug cluster policy; copy the change of testdata/default.yaml", file, want[i]["metadata"].(map[string]any)["name"])
		}
	}
}
