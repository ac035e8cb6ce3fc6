// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// page serves the last scan as HTML. It ignores unknown parameters. These are known:
//
//	?sort=COLUMN   a column, as in the links of the heads
//	?reverse=1     in reverse order
//	?wrong=1       only containers with a warning
//	?find=TEXT     only containers with this text in a name
//	?group=WORD    a row for each workload or namespace
//	?in=NAME       only containers of this group
//	?from=N        the rows after the first N
func (a *Agent) page(r *http.Request) answer {
	a.mu.Lock()
	d, trends := a.last, map[string]history{}
	for k, h := range a.history {
		trends[k] = history{throttled: slices.Clone(h.throttled), memory: slices.Clone(h.memory)}
	}
	a.mu.Unlock()
	if d == nil {
		return notNow("no scan yet, try again in a moment")
	}
	_, age := a.Last()
	o := page.NodePage{
		Age: age, Step: a.opts.Interval,
		Trend: func(c *finding.Container) (throttled, memory []float32) {
			h := trends[keyOfContainer(c)]
			return h.throttled, h.memory
		},
	}
	q := r.URL.Query()
	if order := q.Get("sort"); slices.Contains(page.NodeOrders(), order) {
		o.Order = order
	}
	o.Reverse, o.Wrong = q.Get("reverse") == "1", q.Get("wrong") == "1"
	if group := q.Get("group"); slices.Contains(page.NodeGroups(), group) {
		o.Group, o.In = group, q.Get("in")
	}
	o.Find = strings.TrimSpace(q.Get("find"))
	o.From, _ = strconv.Atoi(q.Get("from"))
	if err := a.Healthy(); err != nil {
		o.Ill = err.Error()
	}
	var b bytes.Buffer
	if err := page.NodeHTML(&b, d, o); err != nil {
		return notNow("the page cannot be made")
	}
	return answer{kind: "text/html; charset=utf-8", text: b.Bytes(), header: map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
		"Referrer-Policy":         "no-referrer",
	}}
}
