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

// TestNodeMany: a thousand containers can be found, grouped and paged through.
func TestNodeMany(t *testing.T) {
	d := manyNode()
	for name, c := range map[string]struct {
		o          page.NodePage
		rows       int
		has, lacks []string
	}{
		"all": {page.NodePage{}, 200, []string{"Rows 1 to 200 of 1000", "?from=200", `<input type="search" name="find" value="">`, "group=workload"}, []string{"the rows before"}},
		"the last part": {page.NodePage{From: 800, Order: "name"}, 200,
			[]string{"Rows 801 to 1000 of 1000", "from=600", `<input type="hidden" name="sort" value="name">`}, []string{"the next rows", `name="from"`}},
		"beyond the end": {page.NodePage{From: 5000}, 200, []string{"Rows 1 to 200 of 1000"}, nil},
		"found":          {page.NodePage{Find: "API7-"}, 40, []string{`value="API7-"`, "Only those with “API7-”"}, []string{"Rows ", "api8-"}},
		"found nothing":  {page.NodePage{Find: "<b>"}, 0, []string{"None.", "&lt;b&gt;"}, []string{"<b>&"}},
		"by workload": {page.NodePage{Group: "workload"}, 25,
			[]string{"team-1/Deployment/api1/app", "40 containers", "1 to 32", "40 findings", "together", "group=workload&amp;in=team-1%2FDeployment%2Fapi1%2Fapp"}, []string{"Rows "}},
		"by namespace": {page.NodePage{Group: "namespace"}, 5, []string{"team-4", "200 containers", "40 not known"}, nil},
		"of a workload": {page.NodePage{Group: "workload", In: "team-1/Deployment/api1/app"}, 40,
			[]string{"Only those of team-1/Deployment/api1/app", `<a href="?group=workload">All</a>`, "api1-0001"}, []string{"api11-"}},
		"of a workload, a warning": {page.NodePage{Group: "namespace", In: "team-3", Wrong: true}, 0, []string{"None."}, nil},
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
