// SPDX-License-Identifier: Apache-2.0

package snugprom

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme: README.md lists every metric and no other, and quotes alerts.yml unchanged.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := os.ReadFile("alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```yaml\n"+string(alerts)+"```\n") {
		t.Error("README.md does not show alerts.yml as it is")
	}
	listed := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(snug_[a-z_]+)[`{]").FindAllStringSubmatch(string(text), -1) {
		listed[row[1]] = true
	}
	exported := map[string]bool{}
	for _, m := range all {
		exported[name(m)] = true
		if !listed[name(m)] {
			t.Errorf("README.md does not list %s", name(m))
		}
	}
	for _, named := range regexp.MustCompile(`\bsnug_[a-z_]+`).FindAllString(string(text), -1) {
		if !exported[named] {
			t.Errorf("README.md speaks of %s, which is not exported", named)
		}
	}
}
