// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/reporttest"
)

// lintIn runs snug lint --json in a directory.
func lintIn(t *testing.T, dir string, args ...string) (d finding.Lint, code int, talk string) {
	t.Helper()
	t.Chdir(dir)
	var out, said bytes.Buffer
	code = Main(append([]string{"lint", "--json"}, args...), strings.NewReader(""), &out, &said)
	if out.Len() > 0 && !strings.Contains(out.String(), `"kind":"error"`) {
		if err := json.Unmarshal(out.Bytes(), &d); err != nil {
			t.Fatal(err)
		}
		reporttest.RoundTrip(t, &d)
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

const lintPod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: a\n    image: %s\n    resources: {limits: {cpu: 1, memory: 512Mi}}\n    env:\n    - name: GOMAXPROCS\n      valueFrom:\n        resourceFieldRef:\n          resource: limits.cpu\n          divisor: \"1\"\n"

// TestLintFiles checks that objects of all files count together, and that each file is read by its
// kind.
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
	if got := ids(&d); got != "a/deploy.yaml:3:stale-under-vpa c.json:1:gomemlimit-malformed d.service:2:gogc-zero" || code != message.ExitFinding {
		t.Errorf("%s, exit code %d, %s", got, code, talk)
	}
	if d.Files != 5 || d.Objects != 3 || d.Pods != 1 || d.Foreign != 1 || len(d.Unknown) != 0 {
		t.Errorf("%+v", d)
	}
	if d, _, _ := lintIn(t, dir, "e.txt"); ids(&d) != "e.txt:2:gogc-zero" {
		t.Errorf("named: %s", ids(&d))
	}
}

// TestLintServices compares services of compose files and units with their own limits, including
// drop-ins and files of variables.
func TestLintServices(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"shop/compose.yaml":                     "services:\n  a: {image: i, mem_limit: 1g, env_file: [a.env, b.env]}\n  b: {image: i, mem_limit: 2g, env_file: b.env, environment: {GOGC: 'off'}}\n  c: {image: i, env_file: absent.env, environment: {GOGC: 'off'}}\n",
		"shop/a.env":                            "SECRET=x\nGOMEMLIMIT=2GiB\n",
		"shop/b.env":                            "# nothing\nGOGC=x\n",
		"root/usr/lib/systemd/system/a.service": "[Service]\nExecStart=/a\nMemoryMax=1G\nEnvironment=GOMEMLIMIT=900MiB\nEnvironmentFile=/etc/default/a\n",
		"root/etc/systemd/system/a.service.d/20-limit.conf":  "[Service]\nMemoryHigh=800M\n",
		"root/etc/systemd/system/a.service.d/10-limit.conf":  "[Service]\nMemoryHigh=100M\nEnvironment=GOGC=0\n",
		"root/etc/systemd/system/a.service.d/README":         "[Service]\nMemoryHigh=1M\n",
		"root/etc/systemd/system/other.service.d/limit.conf": "[Service]\nEnvironment=GOGC=off GOMAXPROCS=0\n",
		"root/etc/default/a":                                 "GOMAXPROCS=8\n",
		"one/a.service":                                      "[Service]\nEnvironment=GOGC=off\n",
		"bad.service":                                        "[Service]\n\x00",
	})
	d, code, talk := lintIn(t, dir, ".")
	want := "one/a.service:2:gogc-off-alone root/etc/systemd/system/a.service.d/10-limit.conf:3:gogc-zero " +
		"root/etc/systemd/system/other.service.d/limit.conf:2:gomaxprocs-malformed root/usr/lib/systemd/system/a.service:4:gomemlimit-above-limit shop/b.env:2:gogc-malformed shop/compose.yaml:2:gomemlimit-above-limit shop/compose.yaml:3:gogc-off-alone"
	if got := ids(&d); got != want || code != message.ExitFinding {
		t.Errorf("got  %s\nwant %s\nexit code %d, %s", got, want, code, talk)
	}
	if d.Objects != 0 || d.Pods != 0 || d.Files != 9 || len(d.Unknown) != 1 || d.Unknown[0].File != "bad.service" {
		t.Errorf("%+v", d)
	}
	if strings.Contains(fmt.Sprint(d), "SECRET") {
		t.Errorf("%+v", d)
	}
	for _, m := range d.Findings {
		if strings.HasPrefix(m.File, "root") && m.ID == "gomemlimit-above-limit" && (*m.Object != "unit a.service" || m.Container != nil || m.Fix != "GOMEMLIMIT=720MiB" || m.Evidence[1].Source != "MemoryHigh") {
			t.Errorf("%+v", m)
		}
	}
	// Named as well, a file of variables is read once.
	if d, _, _ := lintIn(t, dir, "shop/a.env", "shop/compose.yaml", "shop/b.env"); d.Files != 3 || strings.Count(ids(&d), "b.env") != 1 {
		t.Errorf("%d files, %s", d.Files, ids(&d))
	}
	if _, code, talk := lintIn(t, dir, "bad.service", "one"); code != message.ExitFailed || !strings.Contains(talk, "bad.service: it holds a NUL byte, so it is not UTF-8 text") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}

// TestLintFixCompose checks that a wrong value is fixed in both forms of environment, one that is the
// limit with room below it.
func TestLintFixCompose(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"docker-compose.yml": "# c\nx: &x\n  GOMEMLIMIT: '512Mi' # m\nservices:\n  a: {image: i, environment: *x}\n  b:\n    build: .\n    environment:\n    - GOMEMLIMIT=1Gi\n    mem_limit: 1g\n  c: {image: i, environment: *x}\n"})
	d, code, talk := lintIn(t, dir, "--fix", ".")
	text, err := os.ReadFile(filepath.Join(dir, "docker-compose.yml"))
	want := "# c\nx: &x\n  GOMEMLIMIT: '512MiB' # m\nservices:\n  a: {image: i, environment: *x}\n  b:\n    build: .\n    environment:\n    - GOMEMLIMIT=921MiB\n    mem_limit: 1g\n  c: {image: i, environment: *x}\n"
	if err != nil || string(text) != want || ids(&d) != "docker-compose.yml:3:gomemlimit-malformed docker-compose.yml:9:gomemlimit-malformed" || code != 0 {
		t.Errorf("%v, exit code %d, %s, %s\n%s", err, code, ids(&d), talk, text)
	}
}

// TestLintUnrendered checks that lint says which parts of charts and kustomizations it did not read
// and which command renders them. What may be patched is not reported as missing.
func TestLintUnrendered(t *testing.T) {
	const pod = "kind: Pod\nmetadata: {name: p}\nspec: {containers: [{name: a, image: i, env: [{name: GOGC, value: 'off'}]}]}\n"
	dir := t.TempDir()
	put(t, dir, map[string]string{
		"charts/shop/Chart.yaml":             "apiVersion: v2\nname: shop\n",
		"charts/shop/values.yaml":            "GOMEMLIMIT: 512Mi\ncontainers: [{name: a, env: [{name: GOGC, value: 'off'}]}]\n",
		"charts/shop/templates/a.yaml":       "kind: Pod\n{{- if .Values.x }}\nspec: {containers: [{name: a}]}\n{{- end }}\n",
		"charts/shop/templates/b/b.yaml":     "kind: Pod\n{{- if .Values.x }}\nspec: {containers: [{name: a}]}\n{{- end }}\n",
		"charts/shop/templates/c.yaml":       pod + "# {{ include \"x\" . }}\n",
		"charts/shop/charts/sub/Chart.yaml":  "name: sub\n",
		"charts/shop/crds/d.yaml":            "kind: Thing\nspec: {x: {containers: [{name: a}]}}\n",
		"kust/base/kustomization.yaml":       "resources:\n- pod.yaml\n",
		"kust/base/pod.yaml":                 pod,
		"kust/overlays/a/kustomization.yaml": "resources: [\"../../base\"]\npatches:\n- path: patch.json\n",
		"kust/overlays/a/patch.json":         "[{\"op\": \"add\", \"path\": \"/spec\", \"value\": {\"name\": \"GOMEMLIMIT\", \"value\": \"512Mi\"}}]\n",
		"kust/overlays/a/patch.yaml":         "- op: add\n  path: /spec\n",
		"plain/kustomization.yml":            "resources: [pod.yaml]\nnamespace: n\n",
		"plain/pod.yaml":                     pod,
	})
	helm, kustomize := "snug check --helm ", "snug check --kustomize "
	for _, c := range []struct{ name, arg, want, unknown string }{
		{"a chart", "charts", "", "charts/shop: " + helm + "charts/shop"},
		{"values of a chart", "charts/shop/values.yaml", "", "charts/shop: " + helm + "charts/shop"},
		{"an object of a chart that is no template", "charts/shop/crds/d.yaml", "", ""},
		{"an overlay and its base", "kust", "", "kust/overlays/a: " + kustomize + "kust/overlays/a"},
		{"a base alone", "kust/base", "kust/base/pod.yaml:3:gogc-off-alone", ""},
		{"a patch", "kust/overlays/a/patch.json", "", "kust/overlays/a/patch.json: kustomize build DIR | snug check -"},
		{"a patch in YAML", "kust/overlays/a/patch.yaml", "", "kust/overlays/a/patch.yaml: kustomize build DIR | snug check -"},
		{"a kustomization that changes nothing", "plain", "plain/pod.yaml:3:gogc-off-alone", ""},
	} {
		d, _, talk := lintIn(t, dir, "--fail-on", "never", c.arg)
		var said []string
		for _, g := range d.Unknown {
			said = append(said, g.File+": "+g.Why[strings.LastIndex(g.Why, ": ")+2:])
		}
		if got := strings.Join(said, "; "); ids(&d) != c.want || got != c.unknown {
			t.Errorf("%s: %s, unknown %s; want %s, unknown %s; %s", c.name, ids(&d), got, c.want, c.unknown, talk)
		}
	}
}

// TestLintUnreadable checks that an unreadable file is an error and does not hide the other files of a
// directory.
func TestLintUnreadable(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"deploy/a.yaml": fmt.Sprintf(lintPod, "x"), "deploy/b.yaml": "kind: Pod\nspec: {containers: \xff}\n"})
	d, code, _ := lintIn(t, dir, "deploy")
	if code != message.ExitFailed || len(d.Unknown) != 1 || !strings.HasSuffix(d.Unknown[0].File, "b.yaml:1") {
		t.Errorf("exit code %d, %+v", code, d.Unknown)
	}
	_, code, talk := lintIn(t, dir, "deploy/b.yaml")
	if code != message.ExitFailed || !strings.Contains(talk, "deploy/b.yaml:1: not text in UTF-8") {
		t.Errorf("exit code %d, %s", code, talk)
	}
}
