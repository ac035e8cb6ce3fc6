// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
)

// TestTrouble: a failure is a warning for each of its lines, with a hint if one is known.
func TestTrouble(t *testing.T) {
	for text, want := range map[string]string{
		"cannot read the Secret a/b, trying again: GET /x: 401 Unauthorized":                  "the API server rejects the token",
		"cannot read the Secret a/b, trying again: GET /x: 403 secrets is forbidden":          "a Role has to permit it",
		"there is no webhook configuration named snug-webhook":                                "snug cluster webhook --register --namespace hook | kubectl apply -f -",
		`cannot write the Secret a/b, trying again: POST /x: 404 namespaces "hook" not found`: "kubectl create namespace hook",
		"lookup x: no such host\nGET /x: EOF":                                                 "",
	} {
		var out bytes.Buffer
		u := &ui.UI{Err: &out}
		trouble(u, text, &webhookOptions{namespace: "hook"})
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

// TestTroubleRegister: the command in the hint registers this webhook.
func TestTroubleRegister(t *testing.T) {
	for want, o := range map[string]webhookOptions{
		"--namespace NAME":                                      {},
		"--namespace hook":                                      {namespace: "hook", service: webhookService},
		"--namespace hook --config 'my team.yaml'":              {namespace: "hook", config: "my team.yaml", service: webhookService},
		"--namespace hook --config FILE --service a":            {namespace: "hook", config: "-", service: "a"},
		"--namespace hook --configuration another":              {namespace: "hook", configuration: "another", service: webhookService},
		"--namespace hook --url https://127.0.0.1:9443":         {namespace: "hook", url: "https://127.0.0.1:9443", service: webhookService},
		"--namespace hook --url 'https://[::1]:9443'":           {namespace: "hook", url: "https://[::1]:9443", service: webhookService},
		"--namespace hook --config " + strings.Repeat("a", 300): {namespace: "hook", config: flagvalue.Text(strings.Repeat("a", 300))},
	} {
		var out bytes.Buffer
		u := &ui.UI{Err: &out}
		trouble(u, "there is no webhook configuration named x", &o)
		if got := out.String(); !strings.HasSuffix(got, "\nsnug: hint: snug cluster webhook --register "+want+" | kubectl apply -f -\n") {
			t.Errorf("want %s: it says %q", want, got)
		}
	}
}
