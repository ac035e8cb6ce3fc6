// SPDX-License-Identifier: Apache-2.0

package content

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestReason: every code of finding is worded, with numbers, without them, and with those that a damaged document has.
func TestReason(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "../finding/why.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	ast.Inspect(f, func(n ast.Node) bool {
		lit, ok := n.(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return true
		}
		code, _ := strconv.Unquote(lit.Value)
		if !strings.HasPrefix(code, "size-") && !strings.HasPrefix(code, "silent-") {
			return true
		}
		codes++
		if reasonWords[code] == nil {
			t.Errorf("%s is not worded", code)
		}
		for _, numbers := range [][]float64{nil, {1, 2, 3, 4, 5}, {math.MaxFloat64, -1, math.MaxFloat64, 1e308, 0}} {
			w := finding.Why{Code: code, Numbers: numbers, Of: "live_heap_bytes", Detail: "a detail", Cause: &finding.Why{Code: finding.SizeFewCollections, Numbers: numbers}}
			if text := Reason(&w); text == "" || strings.Contains(text, "%!") || text == code {
				t.Errorf("%s: %q", code, text)
			}
		}
		return true
	})
	if codes != len(reasonWords) || codes < 40 {
		t.Errorf("%d codes, %d worded", codes, len(reasonWords))
	}
	if Reason(nil) != "" || Reason(&finding.Why{}) != "" || Reason(&finding.Why{Code: "new\x1b"}) != `new\x1b` {
		t.Errorf("%q", Reason(&finding.Why{Code: "new\x1b"}))
	}
}
