// SPDX-License-Identifier: Apache-2.0

// Package observe tests the chart's alerts, dashboard and runbooks: against each other, with
// promtool, and on a real Prometheus that scrapes a real agent and webhook.
package observe

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/e2e/internal/gate"
)

const (
	alertsFile    = "../../../deploy/helm/snug/files/alerts.yaml"
	dashboardFile = "../../../deploy/helm/snug/files/dashboard.json"
	runbooks      = "../../../docs/runbooks"
	address       = "https://github.com/snug-go/snug/blob/main/docs/runbooks/"
)

// rule is an alert.
type rule struct {
	Alert, Expr, For    string
	Labels, Annotations map[string]string
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alerts returns all rules, by group.
func alerts(t *testing.T) map[string][]rule {
	t.Helper()
	var file struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, alertsFile)), &file); err != nil {
		t.Fatal(err)
	}
	all := map[string][]rule{}
	for _, g := range file.Groups {
		all[g.Name] = g.Rules
	}
	if len(all) != 3 {
		t.Fatalf("%d groups", len(all))
	}
	return all
}

// TestPromtool checks the rules with promtool, and runs their tests.
func TestPromtool(t *testing.T) {
	gate.Need(t, "prometheus")
	for _, args := range [][]string{{"check", "rules", "--lint=all", "--lint-fatal", alertsFile}, {"test", "rules", "testdata/alerts_test.yaml"}} {
		if out, err := exec.Command("promtool", args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// TestRules checks the labels, annotations and page of each alert.
func TestRules(t *testing.T) {
	index := read(t, filepath.Join(runbooks, "README.md"))
	pages := map[string]bool{}
	for group, rules := range alerts(t) {
		for _, r := range rules {
			pages[r.Alert+".md"] = true
			if want := address + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
				t.Errorf("%s: runbook_url %q, want %q", r.Alert, r.Annotations["runbook_url"], want)
			}
			severity := r.Labels["severity"]
			if !slices.Contains([]string{"critical", "warning", "info"}, severity) {
				t.Errorf("%s: severity %q", r.Alert, severity)
			}
			if !strings.Contains(index, "| ["+r.Alert+"]("+r.Alert+".md) | "+severity+" |") {
				t.Errorf("%s: not in the table of README.md, as %s", r.Alert, severity)
			}
			for _, name := range []string{"summary", "description"} {
				if r.Annotations[name] == "" || strings.Contains(r.Annotations[name], "\n") {
					t.Errorf("%s: %s %q", r.Alert, name, r.Annotations[name])
				}
			}
			if r.For == "" && !regexp.MustCompile(`(increase|changes)\(`).MatchString(r.Expr) {
				t.Errorf("%s fires at once", r.Alert)
			}
			if about := strings.HasPrefix(r.Alert, "Go"); about != (group == "snug-go") || about != regexp.MustCompile(`group_left \(workload\)|by \(namespace, workload, container\)`).MatchString(r.Expr) {
				t.Errorf("%s: in the group %s, or without a workload", r.Alert, group)
			}
		}
	}
	entries, err := os.ReadDir(runbooks)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !pages[e.Name()] && e.Name() != "README.md" {
			t.Errorf("%s is a page without an alert", e.Name())
		}
		delete(pages, e.Name())
	}
	for page := range pages {
		t.Errorf("there is no page %s", page)
	}
}

// TestTested: the rule tests show each alert waiting, firing and resolving.
func TestTested(t *testing.T) {
	var file struct {
		Tests []struct {
			Name  string
			Rules []struct {
				Name   string      `yaml:"alertname"`
				Alerts []yaml.Node `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "testdata/alerts_test.yaml")), &file); err != nil {
		t.Fatal(err)
	}
	fired := map[string]bool{}
	for _, test := range file.Tests {
		seen := map[string]string{} // by alert, an evaluation each: "." = none, "!" = fires
		for _, r := range test.Rules {
			if len(r.Alerts) > 0 {
				seen[r.Name] += "!"
			} else {
				seen[r.Name] += "."
			}
		}
		for alert, evaluations := range seen {
			if !regexp.MustCompile(`^\.+(!+\.+)?$`).MatchString(evaluations) {
				t.Errorf("%s: %s: %q", test.Name, alert, evaluations)
			}
			fired[alert] = fired[alert] || strings.Contains(evaluations, "!")
		}
	}
	for _, rules := range alerts(t) {
		for _, r := range rules {
			if !fired[r.Alert] {
				t.Errorf("no test shows %s firing", r.Alert)
			}
		}
	}
}
