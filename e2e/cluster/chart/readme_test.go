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

// row matches a value in the README's table: its key and its default as JSON.
var row = regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| `(.*?)` \\|")

// TestReadme: the README's table and the schema have every value, and the table has its default.
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
			t.Errorf("%s: no such value", key)
		}
	}
}

// leaves collects values by key. A mapping is one value if the schema does not list its keys or if
// it is a Kubernetes object.
func leaves(t *testing.T, at string, values, schema kube.Object, to map[string]string) {
	t.Helper()
	properties, _ := schema["properties"].(kube.Object)
	for key := range properties {
		if _, ok := values[key]; !ok && key != "global" {
			t.Errorf("%s%s: in the schema, but not in values.yaml", at, key)
		}
	}
	for key, value := range values {
		s, ok := properties[key].(kube.Object)
		if !ok {
			t.Errorf("%s%s: in values.yaml, but not in the schema", at, key)
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
