// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/kube/lint"
	"github.com/snug-go/snug/cmd/snug/internal/kube/podpatch"
)

// lintIn runs snug lint --json in a directory.
func lintIn(t *testing.T, dir string, args ...string) (d finding.Lint, code int, talk string) {
	t.Helper()
	t.Chdir(dir)
	var out, said bytes.Buffer
	code = Main(append([]string{"lint", "--json"}, args...), strings.NewReader(""), &out, &said)
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		roundTrip(t, &d)
	}
	return d, code, said.String()
}

func ids(d *finding.Lint) string {
	var s []string
	for _, m := range d.Findings {
		s = append(s, fmt.Sprintf("%s:%d:%s", m.File, m.Line, m.ID))
	}
	return strings.Join(s, " ")
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

const lintPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: %s\n    resources: {limits: {cpu: 2, memory: 512Mi}}\n    env:\n    - name: GOMAXPROCS\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: \"1\"\n"

// TestLintFiles: objects of all files count together, and each file is read for
// what it is.
func TestLintFiles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"a/deploy.yaml": "kind: Deployment\nmetadata: {name: d}\nspec: {template: {spec: {containers: [{name: a, image: i, resources: {limits: {memory: 1Gi}}, env: [{name: GOMEMLIMIT, value: 900MiB}]}]}}}\n",
		"b/vpa.yml":     "kind: VerticalPodAutoscaler\nspec: {targetRef: {kind: Deployment, name: d}}\n",
		"c.json":        `{"kind":"ConfigMap","data":{"GOMEMLIMIT":"512m"}}`,
		"d.service":     "[Service]\nEnvironment=GOGC=0\n",
		"e.txt":         "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, value: '0'}]}]}\n",
		"vendor/f.yaml": "kind: Pod\nspec: {containers: [{name: a, env: [{name: GOGC, value: '0'}]}]}\n",
		"g.yaml":        "a: [b\n",
	})
	d, code, talk := lintIn(t, dir, ".")
	if got := ids(&d); got != "a/deploy.yaml:3:stale-under-vpa c.json:1:gomemlimit-malformed d.service:2:gogc-zero" || code != exitFinding {
		t.Errorf("%s, exit code %d, %s", got, code, talk)
	}
	if d.Files != 5 || d.Objects != 3 || d.Pods != 1 || d.Foreign != 1 || len(d.Unknown) != 0 {
		t.Errorf("%+v", d)
	}
	if d, _, _ := lintIn(t, dir, "e.txt"); ids(&d) != "e.txt:2:gogc-zero" {
		t.Errorf("named: %s", ids(&d))
	}
}

// TestLintImage: which Go built the program of an image, be it a file or in a
// layout or an archive, decides what is advised.
func TestLintImage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"pod.yaml":  fmt.Sprintf(lintPod, "example.org:5000/team/cart:v1@sha256:0"),
		"script":    "#!/bin/sh\nexec cart\n",
		"other":     "\x7fELF no program",
		"dir/x":     "",
		"notes.txt": "text",
	})
	var layer, saved bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: "cart", Mode: 0o755, Size: int64(len(program))}); err != nil {
		t.Fatal(err)
	}
	w.Write(program)
	w.Close()
	w = tar.NewWriter(&saved)
	for _, f := range []struct{ name, text string }{{"manifest.json", `[{"Config":"c","Layers":["l"]}]`}, {"c", `{"config":{"Entrypoint":["/cart"]}}`}, {"l", layer.String()}} {
		if err := w.WriteHeader(&tar.Header{Name: f.name, Mode: 0o644, Size: int64(len(f.text)), Format: tar.FormatUSTAR}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(f.text))
	}
	w.Close()
	put(t, dir, map[string]string{"image.tar": saved.String()})
	for _, c := range []struct{ flag, want string }{
		{"cart=" + self, "warning"},
		{"example.org:5000/team/cart:v1=" + self, "warning"},
		{"example.org:5000/team/cart:v2=" + self, ""},
		{"example.org:5000/team/cart=" + self, "warning"},
		{"*=image.tar", "warning"},
		{"shop=" + self, ""},
		{"cart=script", ""},
		{"cart=other", "none"},
	} {
		d, code, talk := lintIn(t, dir, "--fail-on", "never", "--image", c.flag, "pod.yaml")
		got := "none"
		for _, m := range d.Findings {
			if m.ID == "gomaxprocs-pins" {
				got = string(m.Severity)
			}
		}
		if want := c.want; got != want && (want != "" || got != "info") || code != exitFine {
			t.Errorf("%s: %s, exit code %d, %s", c.flag, got, code, talk)
		}
	}
	for _, flag := range []string{"cart=dir", "cart=", "=x", "cart=absent"} {
		if _, code, talk := lintIn(t, dir, "--image", flag, "pod.yaml"); code == exitFine || !strings.Contains(talk, "snug: hint: ") {
			t.Errorf("%s: exit code %d, %s", flag, code, talk)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "snug-image-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestLintFixImage: what an image needs is written, what it does not is taken
// out, in rounds; then there is nothing more to do.
func TestLintFixImage(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"pod.yaml": fmt.Sprintf(lintPod, "cart") + "    - name: OTHER\n      value: x\n"})
	d, code, talk := lintIn(t, dir, "--fix", "--image", "cart="+self, "pod.yaml")
	if code != exitFine {
		t.Fatalf("exit code %d, %s, %s", code, ids(&d), talk)
	}
	text, err := os.ReadFile("pod.yaml")
	want := "    env:\n    - name: OTHER\n      value: x\n    - name: GOMEMLIMIT\n      value: \"460MiB\"\n"
	if err != nil || !strings.HasSuffix(string(text), want) || strings.Contains(string(text), "GOMAXPROCS") {
		t.Errorf("%v\n%s", err, text)
	}
	if info, err := os.Stat("pod.yaml"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if d, _, _ := lintIn(t, dir, "--fix", "--image", "cart="+self, "pod.yaml"); len(d.Findings) != 0 {
		t.Errorf("once more: %s", ids(&d))
	}
}

// TestLintUnreadable: a file in a directory that cannot be read is said, one
// that was named is an error.
func TestLintUnreadable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"deploy/a.yaml": fmt.Sprintf(lintPod, "x"), "deploy/b.yaml": "kind: Pod\nspec: {containers: \xff}\n"})
	d, code, _ := lintIn(t, dir, "deploy")
	if code != exitFine || len(d.Unknown) != 1 || !strings.HasSuffix(d.Unknown[0].File, "b.yaml:1") {
		t.Errorf("exit code %d, %+v", code, d.Unknown)
	}
	_, code, talk := lintIn(t, dir, "deploy/b.yaml")
	if code != exitFailed || !strings.Contains(talk, "not text in UTF-8, deploy/b.yaml:1") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}

// TestLintIDs: each id that snug lint can give is explained once.
func TestLintIDs(t *testing.T) {
	count := map[string]int{}
	for _, e := range explanations() {
		count[e.ID]++
	}
	for _, id := range lint.IDs() {
		if count[id] != 1 {
			t.Errorf("%s is explained %d times", id, count[id])
		}
	}
	for _, code := range []string{podpatch.MemoryShare, podpatch.ProcsFollow, podpatch.EnvOpaque} {
		if count[code] != 1 {
			t.Errorf("%s is explained %d times", code, count[code])
		}
	}
}
