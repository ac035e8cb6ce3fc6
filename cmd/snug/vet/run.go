// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"fmt"
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

// Found is a diagnostic and the name of the analyzer that gives it.
type Found struct {
	analysis.Diagnostic
	By string
}

// Run runs all analyzers over a package: base without what differs between analyzers.
func Run(base *analysis.Pass) ([]Found, error) {
	found, _, err := run(base)
	return found, err
}

func run(base *analysis.Pass) (found []Found, results map[*analysis.Analyzer]any, err error) {
	results = map[*analysis.Analyzer]any{}
	var each func(*analysis.Analyzer) error
	each = func(a *analysis.Analyzer) error {
		if _, ran := results[a]; ran {
			return nil
		}
		pass := *base
		pass.Analyzer, pass.ResultOf = a, map[*analysis.Analyzer]any{}
		for _, r := range a.Requires {
			if err := each(r); err != nil {
				return err
			}
			pass.ResultOf[r] = results[r]
		}
		pass.Report = func(d analysis.Diagnostic) { found = append(found, Found{d, a.Name}) }
		result, err := a.Run(&pass)
		results[a] = result
		return err
	}
	for _, a := range Analyzers() {
		if err := each(a); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return found, results, nil
}

// Info is what analyzers need of a package's types, yet empty.
func Info() *types.Info {
	return &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}
}
