// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/cluster/kube"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// operatorModule is a release of the Prometheus operator, which defines the kinds, in the module
// proxy.
const operatorModule, operatorVersion = "github.com/prometheus-operator/prometheus-operator", "v0.85.0"

// operator adds the kinds of the Prometheus operator that the chart uses to the server.
func (l *lab) operator(t *testing.T) {
	t.Helper()
	dir := kubebuild.Downloaded(t, operatorModule, operatorVersion)
	for _, name := range []string{"servicemonitors", "prometheusrules"} {
		text, err := os.ReadFile(filepath.Join(dir, "example", "prometheus-operator-crd", "monitoring.coreos.com_"+name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var definition kube.Object
		if err := yaml.Unmarshal(text, &definition); err != nil {
			t.Fatal(err)
		}
		l.must(t, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
	}
	l.Until(t, "the server has the kinds of the Prometheus operator", func() bool {
		l.discover(t)
		found := 0
		for name := range l.kinds {
			if strings.HasPrefix(name, "monitoring.coreos.com/v1 ") {
				found++
			}
		}
		return found == 2
	})
}
