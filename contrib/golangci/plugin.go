// SPDX-License-Identifier: Apache-2.0

// Package golangci makes the analyzers of snug vet a module plugin of golangci-lint.
package golangci

import (
	"errors"

	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/snug-go/snug/cmd/snug/vet"
)

func init() { register.Plugin("snug", newPlugin) }

// newPlugin takes the settings of the linter, and there are none. A setting that does
// nothing is an error.
func newPlugin(settings any) (register.LinterPlugin, error) {
	if given, ok := settings.(map[string]any); settings != nil && (!ok || len(given) > 0) {
		return nil, errors.New("snug has no settings: remove them from linters.settings.custom.snug")
	}
	return plugin{}, nil
}

type plugin struct{}

func (plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) { return vet.Analyzers(), nil }

func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
