// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// row is a value in the README's table: its key and its default, as JSON.
var row = regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| `(.*?)` \\|")

// TestReadme: its table has every value with its default, and so has the schema.
func TestReadme(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var values kube.Object
	if err := yaml.Unmarshal(read("values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	var schema kube.Object
	if err := json.Unmarshal(read("values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	leaves(t, "", values, schema, want)
	got := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(read("README.md")), -1) {
		got[m[1]] = m[2]
	}
	for key, value := range want {
		if got[key] != value {
			t.Errorf("%s: the table says %q, its default is %s", key, got[key], value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if _, ok := want[key]; !ok {
			t.Errorf("%s: there is no such value", key)
		}
	}
}

// leaves collects values by their keys. A mapping is one value where the schema does not
// say which keys it has, or they are an object of Kubernetes.
func leaves(t *testing.T, at string, values, schema kube.Object, to map[string]string) {
	t.Helper()
	properties, _ := schema["properties"].(kube.Object)
	for key := range properties {
		if _, ok := values[key]; !ok && key != "global" {
			t.Errorf("%s%s: the schema has it, values.yaml has not", at, key)
		}
	}
	for key, value := range values {
		s, ok := properties[key].(kube.Object)
		if !ok {
			t.Errorf("%s%s: values.yaml has it, the schema has not", at, key)
		}
		if m, ok := value.(kube.Object); ok && s["properties"] != nil {
			leaves(t, at+key+".", m, s, to)
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		to[at+key] = string(text)
	}
}
