// SPDX-License-Identifier: Apache-2.0

// Package chart tests the Helm chart in deploy/helm/snug: what it renders and refuses, and its life
// on a real API server from installation to removal.
package chart

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// folder is the chart's directory; namespace and release are the names in tests.
const (
	folder    = "../../../deploy/helm/snug"
	namespace = "snug"
	release   = "snug"
	// kubeVersion is a flag: Helm 3.8 built as here takes Kubernetes 1.20 for granted.
	kubeVersion = "--kube-version=" + kubebuild.KubernetesVersion
)

// client is a helm command with a configuration and a cache of its own.
type client struct {
	path string
	env  []string
}

// newHelm returns a release of Helm, and builds it if necessary. kubeconfig selects its server; ""
// = none.
func newHelm(t testing.TB, name, kubeconfig string) client {
	t.Helper()
	home := t.TempDir()
	if kubeconfig == "" {
		kubeconfig = filepath.Join(home, "none")
	}
	return client{kubebuild.Command(t, name), []string{
		"HOME=" + home, "HELM_CACHE_HOME=" + filepath.Join(home, "cache"), "HELM_CONFIG_HOME=" + filepath.Join(home, "config"),
		"HELM_DATA_HOME=" + filepath.Join(home, "data"), "KUBECONFIG=" + kubeconfig,
	}}
}

// each runs a test with each release of Helm.
func each(t *testing.T, test func(*testing.T, client)) {
	for _, name := range kubebuild.Helms {
		t.Run(name, func(t *testing.T) { test(t, newHelm(t, name, "")) })
	}
}

// try runs a command. The error is the standard error.
func (h client) try(t testing.TB, values string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), h.path, args...)
	cmd.Env, cmd.Stdin = h.env, strings.NewReader(values)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if _, exited := errors.AsType[*exec.ExitError](err); exited {
		return string(out), errors.New(said.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), nil
}

// run is try, but any failure fails the test.
func (h client) run(t testing.TB, values string, args ...string) string {
	t.Helper()
	out, err := h.try(t, values, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\nwith %s", strings.Join(args, " "), err, values)
	}
	return out
}

// template renders the chart, or one template of it ("templates/policy.yaml").
func (h client) template(t testing.TB, values string, only ...string) string {
	t.Helper()
	args := []string{"template", release, folder, "-n", namespace, kubeVersion, "-f", "-"}
	for _, name := range only {
		args = append(args, "-s", name)
	}
	return h.run(t, values, args...)
}

// documents returns the non-empty documents of a YAML stream, in order.
func documents(t testing.TB, stream string) []kube.Object {
	t.Helper()
	var all []kube.Object
	dec := yaml.NewDecoder(strings.NewReader(stream))
	for {
		var o kube.Object
		switch err := dec.Decode(&o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatalf("%v:\n%s", err, stream)
		case len(o) > 0:
			all = append(all, o)
		}
	}
}

// titles returns the titles of objects: "Deployment/snug-webhook".
func titles(all []kube.Object) []string {
	var names []string
	for _, o := range all {
		names = append(names, title(o))
	}
	return names
}

func title(o kube.Object) string { return fmt.Sprint(o["kind"], "/", meta(o)["name"]) }

func meta(o kube.Object) kube.Object {
	m, _ := o["metadata"].(kube.Object)
	return m
}
