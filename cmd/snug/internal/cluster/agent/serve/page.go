// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// pageOf returns a scan as HTML. It ignores unknown parameters. These are known:
//
//	?sort=COLUMN   a column, as in the links of the heads
//	?reverse=1     in reverse order
//	?wrong=1       only containers with a warning
//	?find=TEXT     only containers with this text in a name
func pageOf(from *snapshot.Snapshot, interval time.Duration, r *http.Request) answer {
	if from.Node == nil {
		return notNow("no scan yet, try again in a moment")
	}
	o := page.NodePage{Age: time.Since(from.Ended), Step: interval, Trend: from.Trends.Of}
	q := r.URL.Query()
	if order := q.Get("sort"); slices.Contains(page.NodeOrders(), order) {
		o.Order = order
	}
	o.Reverse, o.Wrong = q.Get("reverse") == "1", q.Get("wrong") == "1"
	o.Find = strings.TrimSpace(q.Get("find"))
	if err := from.Healthy(interval); err != nil {
		o.Ill = err.Error()
	}
	var b bytes.Buffer
	if err := page.NodeHTML(&b, from.Node, o); err != nil {
		return notNow("the page cannot be made")
	}
	return answer{kind: "text/html; charset=utf-8", text: b.Bytes(), header: map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Referrer-Policy":         "no-referrer",
	}}
}
