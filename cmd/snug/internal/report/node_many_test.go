// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// manyNode returns a node with 1,000 containers of 25 workloads in 5 namespaces.
func manyNode() *finding.Node {
	d := nodeOf()
	one := d.Containers[1]
	d.Containers = nil
	for i := range 1000 {
		c := one
		w := i % 25
		c.Namespace, c.Workload, c.Name = new(fmt.Sprintf("team-%d", w%5)), new(fmt.Sprintf("Deployment/api%d", w)), new("app")
		c.Pod, c.ID = new(fmt.Sprintf("api%d-%04d", w, i)), new(fmt.Sprintf("%064d", i))
		p := one.Processes[0]
		p.GOMAXPROCS = figure.New(1<<(i/25%6), "")
		if w > 2 {
			p.Findings = nil
		}
		if w == 4 {
			c.Quota = figure.Of[float64]{}
		}
		c.Processes = []finding.NodeProcess{p}
		d.Containers = append(d.Containers, c)
	}
	d.Scan.Go = 1000
	return d
}

// TestNodeMany: of a thousand containers the worst are listed, and the others can be found.
func TestNodeMany(t *testing.T) {
	d := manyNode()
	for name, c := range map[string]struct {
		o          page.NodePage
		rows       int
		has, lacks []string
	}{
		"all": {page.NodePage{}, 200, []string{"The first 200 of 1000; search", `<input type="search" name="find" value="">`}, nil},
		"by name": {page.NodePage{Order: "name"}, 200, []string{"The first 200 of 1000",
			`<input type="hidden" name="sort" value="name">`, "?reverse=1&amp;sort=name"}, nil},
		"found":         {page.NodePage{Find: "API7-"}, 40, []string{`value="API7-"`, "Only those with “API7-”", `<a href="?">All</a>`}, []string{"The first", "api8-"}},
		"of a workload": {page.NodePage{Find: "deployment/api12"}, 40, []string{"team-2"}, []string{"api11"}},
		"found nothing": {page.NodePage{Find: "<b>"}, 0, []string{"None.", "&lt;b&gt;"}, []string{"<b>&"}},
		"a warning":     {page.NodePage{Find: "team-3", Wrong: true}, 0, []string{"None.", "Also those without a warning"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := page.NodeHTML(&b, d, c.o); err != nil {
				t.Fatal(err)
			}
			s := b.String()
			if got := strings.Count(s, "<th scope=\"row\""); got != c.rows {
				t.Errorf("%d rows, want %d", got, c.rows)
			}
			for _, want := range c.has {
				if !strings.Contains(s, want) {
					t.Errorf("no %q", want)
				}
			}
			for _, bad := range c.lacks {
				if strings.Contains(s, bad) {
					t.Errorf("%q is there", bad)
				}
			}
		})
	}
}
