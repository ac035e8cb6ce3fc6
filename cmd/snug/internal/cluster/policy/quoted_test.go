// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/policy"
)

// TestRenderQuotes: a name that YAML reads as a number, a boolean or null stays a name.
func TestRenderQuotes(t *testing.T) {
	for _, name := range []string{"42", "1e3", "0x10", "null", "true", "off", "y", "12e03", "2001-01-01"} {
		config := parsed(t, fmt.Sprintf("name: %q\ncheck: deny\nexclude: {namespaces: [%[1]q, web], containers: [%[1]q]}\n", name))
		text := policy.Render(&config)
		// YAML 1.1 has more such words than the reader below.
		for _, bare := range []string{policy.PolicyLabel + ": " + name, "[" + name + ","} {
			if strings.Contains(text, bare) {
				t.Errorf("%s: it says %s", name, bare)
			}
		}
		for dec := yaml.NewDecoder(strings.NewReader(text)); ; {
			var o struct {
				Metadata struct {
					Name   any
					Labels map[string]any
				}
				Spec struct {
					PolicyName       any `yaml:"policyName"`
					MatchConstraints struct {
						NamespaceSelector struct {
							MatchExpressions []struct{ Values []any } `yaml:"matchExpressions"`
						} `yaml:"namespaceSelector"`
					} `yaml:"matchConstraints"`
				}
			}
			if err := dec.Decode(&o); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatal(err)
			}
			texts := []any{o.Metadata.Name, o.Metadata.Labels[policy.PolicyLabel]}
			if o.Spec.PolicyName != nil {
				texts = append(texts, o.Spec.PolicyName)
			}
			for _, e := range o.Spec.MatchConstraints.NamespaceSelector.MatchExpressions {
				texts = append(texts, e.Values...)
			}
			for _, text := range texts {
				if _, ok := text.(string); !ok {
					t.Errorf("%s: %v is a %[2]T", name, text)
				}
			}
		}
	}
}
