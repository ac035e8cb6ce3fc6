// SPDX-License-Identifier: Apache-2.0

package snugotel

import (
	"context"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// TestReadme: README.md lists every metric with its unit and attributes, and no other.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{}
	for _, f := range all {
		given[f.name] = true
		row := "| `" + f.name
		if len(f.attributes) > 0 {
			row += "{" + strings.Join(f.attributes, ",") + "}"
		}
		row += "` | "
		if f.unit != "" {
			row += "`" + f.unit + "` "
		}
		if !strings.Contains(string(text), "\n"+row+"| ") {
			t.Errorf("README.md has no row %s|", row)
		}
	}
	for _, named := range regexp.MustCompile("`(snug\\.[a-z_.]+)[`{]").FindAllStringSubmatch(string(text), -1) {
		if !given[named[1]] {
			t.Errorf("README.md speaks of %s, which is not given", named[1])
		}
	}
}

// TestPrometheusNames: in Prometheus the metrics have the names of contrib/prometheus, of which
// only those are missing that README.md says have a conventional name.
func TestPrometheusNames(t *testing.T) {
	theirs, err := os.ReadFile("../prometheus/README.md")
	if err != nil {
		t.Skip("without the repository: ", err)
	}
	ours, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(snug_[a-z_]+)[`{]").FindAllStringSubmatch(string(theirs), -1) {
		want = append(want, row[1])
	}
	for _, row := range regexp.MustCompile("(?m)^\\| `go\\..*`(snug_[a-z_]+)` \\|$").FindAllStringSubmatch(string(ours), -1) {
		got = append(got, row[1])
	}
	if len(got) != 4 {
		t.Errorf("README.md has %q beside conventional names", got)
	}
	provider, reader := open(t)
	if _, err := register(busy(), true, provider); err != nil {
		t.Fatal(err)
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &collected); err != nil {
		t.Fatal(err)
	}
	for _, m := range collected.ScopeMetrics[0].Metrics {
		got = append(got, prometheusName(m))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("in Prometheus:\n%q\ncontrib/prometheus:\n%q", got, want)
	}
}

// prometheusName translates a name as the specification says
// (https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/).
func prometheusName(m metricdata.Metrics) string {
	name := strings.ReplaceAll(m.Name, ".", "_") + map[string]string{"By": "_bytes", "s": "_seconds", "%": "_percent"}[m.Unit]
	switch data := m.Data.(type) {
	case metricdata.Gauge[float64]:
		if m.Unit == "1" {
			name += "_ratio"
		}
	case metricdata.Sum[float64]:
		if data.IsMonotonic {
			name += "_total"
		}
	}
	return name
}
