// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
)

func TestGridBreaksAtTheWidth(t *testing.T) {
	g := content.Grid{}
	g.Key("setting", []string{"default", "a very long name of a setting that goes on and on"})
	for range 12 {
		g.Add("a heading", []string{"12.345 ms", "-"})
	}
	var p Page
	p.grid(g)
	names := 0
	for line := range strings.Lines(p.String()) {
		if len(line) > Width+1 {
			t.Errorf("%d columns: %s", len(line), line)
		}
		if strings.HasPrefix(line, "default ") {
			names++
		}
	}
	if got := strings.Count(p.String(), "12.345 ms"); got != 12 || names < 2 {
		t.Errorf("%d values in %d blocks:\n%s", got, names, p.String())
	}
}
