// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

const examples = "../../../docs/examples"

// gitops: the server accepts the examples for Flux and Argo CD, by the definitions of their
// releases, and the chart accepts their values. Neither of the two runs here.
func (l *lab) gitops(t *testing.T) {
	for _, d := range []struct{ module, version, file string }{
		{"github.com/fluxcd/source-controller", "v1.7.0", "config/crd/bases/source.toolkit.fluxcd.io_ocirepositories.yaml"},
		{"github.com/fluxcd/helm-controller", "v1.4.0", "config/crd/bases/helm.toolkit.fluxcd.io_helmreleases.yaml"},
		{"github.com/argoproj/argo-cd/v3", "v3.2.0", "manifests/crds/application-crd.yaml"},
	} {
		file, err := os.ReadFile(filepath.Join(kubebuild.Downloaded(t, d.module, d.version), filepath.FromSlash(d.file)))
		if err != nil {
			t.Fatal(err)
		}
		var definition kube.Object
		if err := yaml.Unmarshal(file, &definition); err != nil {
			t.Fatal(err)
		}
		l.must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
	}
	l.must(t, http.MethodPost, "/api/v1/namespaces", object("v1", "Namespace", "argocd"))
	h := newHelm(t, "helm4", "")
	for _, name := range []string{"flux", "argocd"} {
		file, err := os.ReadFile(filepath.Join(examples, name, "snug.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		values := 0
		for _, o := range documents(t, string(file)) {
			if o["kind"] == "Namespace" {
				continue // it exists
			}
			l.Until(t, title(o)+" is valid", func() bool {
				l.discover(t)
				_, known := l.kinds[text(o["apiVersion"])+" "+text(o["kind"])]
				return known
			})
			code, got := l.ask(t, http.MethodPost, l.collection(t, o)+"?dryRun=All&fieldValidation=Strict", o)
			if code != http.StatusCreated {
				t.Errorf("%s of %s: %d %v", title(o), name, code, got["message"])
			}
			for _, v := range []any{of(o, "spec", "values"), of(o, "spec", "source", "helm", "valuesObject")} {
				if v == nil {
					continue
				}
				values++
				encoded, err := yaml.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				if found := titles(documents(t, h.template(t, string(encoded)))); !slices.Contains(found, "Namespace/snug-webhook") {
					t.Errorf("%s renders %q", name, found)
				}
			}
		}
		if values != 1 {
			t.Errorf("%s: %d values", name, values)
		}
	}
}

// TestKustomize: the base has the objects of the chart's defaults.
func TestKustomize(t *testing.T) {
	gate.Need(t, "chart")
	h := newHelm(t, "helm4", "") // Helm 3.8, built as here, takes Kubernetes 1.20 for granted
	cmd := exec.CommandContext(t.Context(), kubebuild.Command(t, "kubectl"), "kustomize", "--enable-helm", "--helm-command", h.path, filepath.Dir(folder))
	cmd.Env = append(os.Environ(), h.env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got, want := titles(documents(t, string(out))), titles(documents(t, h.template(t, "")))
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
