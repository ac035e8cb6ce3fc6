// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestNodeHeaps: a page shows the last heap of a container that is gone, with the time of the read,
// and no text of a program as HTML.
func TestNodeHeaps(t *testing.T) {
	d := &finding.Node{Head: finding.NewHead(finding.KindAgent), Heaps: []finding.LastHeap{{
		ContainerNames: finding.ContainerNames{Namespace: new("shop"), Pod: new("cart-1"), Name: new("app")},
		PID:            42, Name: "cart", At: "2026-11-27T02:00:00Z", Gone: new("2026-11-27T02:01:00Z"), Memory: 60 << 20, Limit: 64 << 20,
		Holders: []finding.HeapHolder{{Function: "main.fill[<script>]", At: "main.go:31", For: "main.serve", Bytes: 40 << 20}, {Function: "main.rest", Bytes: 1 << 20}},
	}, {PID: 43, Name: "x", At: "2026-11-27T01:00:00Z", Why: "off\x1b[31m"}}}
	var b strings.Builder
	if err := NodeHTML(&b, d, NodePage{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"Who held the memory", "shop/cart-1/app", "read at 2026-11-27T02:00:00Z", "the container was gone at 2026-11-27T02:01:00Z",
		"allocated in main.fill[&lt;script&gt;] (main.go:31) for main.serve", "unknown: off",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(b.String(), "<script>]") || strings.Contains(b.String(), "\x1b") {
		t.Error("a program's text is not cleaned")
	}
}
