// SPDX-License-Identifier: Apache-2.0

package golangci

import (
	"slices"
	"testing"

	"github.com/golangci/plugin-module-register/register"

	"github.com/snug-go/snug/cmd/snug/vet"
)

func TestPlugin(t *testing.T) {
	make, err := register.GetPlugin("snug")
	if err != nil {
		t.Fatal(err)
	}
	for _, none := range []any{nil, map[string]any{}} {
		p, err := make(none)
		if err != nil {
			t.Fatal(err)
		}
		got, err := p.BuildAnalyzers()
		if err != nil || !slices.Equal(got, vet.Analyzers()) {
			t.Errorf("%v, %v", got, err)
		}
		if mode := p.GetLoadMode(); mode != register.LoadModeTypesInfo {
			t.Errorf("load mode %s", mode)
		}
	}
	if _, err := make(map[string]any{"severity": "error"}); err == nil {
		t.Error("a setting that does nothing is accepted")
	}
}
