// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strings"
	"testing"
)

// TestTrouble: what fails of what goes on is a warning on each of its lines, with what
// helps where that is known.
func TestTrouble(t *testing.T) {
	for text, want := range map[string]string{
		"cannot read the Secret a/b, trying again: GET /x: 401 Unauthorized":                  "the API server does not take the token",
		"cannot read the Secret a/b, trying again: GET /x: 403 secrets is forbidden":          "a Role has to allow it",
		"there are no webhook configurations named snug-webhook":                              "snug webhook --register --namespace hook | kubectl apply -f -",
		`cannot write the Secret a/b, trying again: POST /x: 404 namespaces "hook" not found`: "kubectl create namespace hook",
		"lookup x: no such host\nGET /x: EOF":                                                 "",
	} {
		var out bytes.Buffer
		u := &ui{err: &out}
		u.trouble(text, &webhookOptions{namespace: "hook"})
		got := out.String()
		for line := range strings.SplitSeq(text, "\n") {
			if !strings.Contains(got, "snug: warning: "+line+"\n") {
				t.Errorf("%q: it says %q", text, got)
			}
		}
		if !strings.Contains(got, "snug: hint: "+want) && want != "" || want == "" && strings.Contains(got, "hint") {
			t.Errorf("%q: it says %q", text, got)
		}
	}
}
