// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
)

// older: the README's way from a chart that lacks a value. --reuse-values is refused;
// --reset-then-reuse-values keeps what the user set, and adds the new default.
func (l *lab) older(t *testing.T) {
	old := filepath.Join(t.TempDir(), "snug")
	if err := os.CopyFS(old, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	edit := func(name string, decode func([]byte, any) error, encode func(any) ([]byte, error), change func(kube.Object)) {
		t.Helper()
		name = filepath.Join(old, name)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var o kube.Object
		if err := decode(text, &o); err != nil {
			t.Fatal(err)
		}
		change(o)
		if text, err = encode(o); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const key = "networkPolicy"
	edit("values.yaml", yaml.Unmarshal, yaml.Marshal, func(o kube.Object) { delete(o, key) })
	edit("values.schema.json", json.Unmarshal, json.Marshal, func(o kube.Object) {
		delete(o["properties"].(kube.Object), key)
		o["required"] = slices.DeleteFunc(o["required"].([]any), func(v any) bool { return v == key })
	})
	if err := os.Remove(filepath.Join(old, "templates", "network.yaml")); err != nil {
		t.Fatal(err)
	}
	h := newHelm(t, "helm4", l.kubeconfig)
	h.run(t, "agent: {interval: 1m}", "install", release, old, "-n", namespace, "-f", "-")
	if _, err := h.try(t, "", "upgrade", release, folder, "-n", namespace, "--reuse-values"); err == nil || !strings.Contains(err.Error(), "missing property") {
		t.Errorf("with --reuse-values: %v", err)
	}
	h.run(t, "", "upgrade", release, folder, "-n", namespace, "--reset-then-reuse-values")
	values := h.run(t, "", "get", "values", release, "-n", namespace, "--all")
	if !strings.Contains(values, "interval: 1m\n") || !strings.Contains(values, key+":") {
		t.Errorf("the values are\n%s", values)
	}
	h.run(t, "", "uninstall", release, "-n", namespace)
	l.gone(t)
}
