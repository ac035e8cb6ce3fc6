// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// panel is a panel of the dashboard, or a row of panels.
// Source: Grafana's documentation, "Dashboard JSON model", the classic one.
type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               struct{ Type, UID string }
	GridPos                  struct{ H, W, X, Y int }
	Collapsed                bool
	Panels                   []panel
	Targets                  []struct {
		RefID, Expr, LegendFormat, Format string
		Instant, Range                    bool
	}
	FieldConfig struct {
		Defaults  struct{ Unit string }
		Overrides []struct {
			Properties []struct {
				ID    string
				Value any
			}
		}
	}
}

// dashboard is the part of the dashboard that the tests check.
type dashboard struct {
	UID, Title, Description string
	SchemaVersion           int
	ID                      *int
	Panels                  []panel
	Templating              struct {
		List []struct {
			Name, Label, Type, AllValue string
			Query                       any
		}
	}
}

func theDashboard(t *testing.T) *dashboard {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, dashboardFile)))
	var out dashboard
	if err := d.Decode(&out); err != nil {
		t.Fatal(err)
	}
	if d.More() {
		t.Fatal("more than one document")
	}
	return &out
}

// units are the units of Grafana in use (packages/grafana-data, valueFormats/categories).
var units = []string{"short", "percentunit", "bytes", "s", "cps", "reqps"}

// TestDashboard checks that the dashboard is complete and laid out without overlaps and holes.
func TestDashboard(t *testing.T) {
	d := theDashboard(t)
	if d.UID == "" || d.Title == "" || d.Description == "" || d.SchemaVersion < 42 || d.ID != nil {
		t.Errorf("%q %q %q, schema %d, id %v", d.UID, d.Title, d.Description, d.SchemaVersion, d.ID)
	}
	text := read(t, dashboardFile)
	for _, left := range []string{"__inputs", "__requires", "${DS_", "TODO", "{{`", "{{-"} {
		if strings.Contains(text, left) {
			t.Errorf("it has %s", left)
		}
	}
	known := []string{"__rate_interval", "__all"} // built into Grafana
	for _, v := range d.Templating.List {
		known = append(known, v.Name)
		if v.Label == "" || v.Type == "query" && v.AllValue != ".*" {
			t.Errorf("variable %s: label %q, all is %q", v.Name, v.Label, v.AllValue)
		}
	}
	for _, name := range []string{"datasource", "namespace", "workload", "pod"} {
		if !slices.Contains(known, name) {
			t.Errorf("no variable %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`\$\{?(\w+)`).FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, m[1]) {
			t.Errorf("there is no variable %s", m[0])
		}
	}
	ids, titles := map[int]bool{}, map[string]bool{}
	under := ""
	for _, p := range d.flat() {
		if p.Type == "row" {
			under = p.Title
		}
		name := under + ": " + p.Title
		if ids[p.ID] || titles[name] || p.Title == "" {
			t.Errorf("%s: id %d or title twice", name, p.ID)
		}
		ids[p.ID], titles[name] = true, true
		if p.Type != "row" {
			p.judge(t, name)
		}
	}
	fills(t, d.Panels, 0)
	for _, p := range d.Panels {
		if p.Collapsed != (len(p.Panels) > 0) || p.Collapsed && p.Type != "row" {
			t.Errorf("%s: closed, and with %d panels", p.Title, len(p.Panels))
		}
		// Series per container only in closed rows, which query on demand.
		if perPod := regexp.MustCompile(`\{\{pod\}\}`); perPod.MatchString(fmt.Sprint(p.Targets)) {
			t.Errorf("%s: a line for each pod, in a row that is open", p.Title)
		}
		if p.Collapsed {
			fills(t, p.Panels, p.GridPos.Y+1)
		}
	}
}

// flat returns all panels, including those in closed rows.
func (d *dashboard) flat() []panel {
	var all []panel
	for _, p := range d.Panels {
		all = append(append(all, p), p.Panels...)
	}
	return all
}

// fills checks a layout from a line on: panels do not overlap, and there are no holes.
func fills(t *testing.T, panels []panel, from int) {
	t.Helper()
	cells := map[[2]int]string{}
	for _, p := range panels {
		g := p.GridPos
		if g.H < 1 || g.W < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: %+v is not on the grid", p.Title, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" {
					t.Fatalf("%s lies on %s", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
	}
	lowest := from
	for c := range cells {
		lowest = max(lowest, c[1])
	}
	for y := from; y <= lowest; y++ {
		for x := range 24 {
			if cells[[2]int{x, y}] == "" {
				t.Errorf("nothing at column %d of line %d", x, y)
			}
		}
	}
}

// judge checks a panel with queries.
func (p *panel) judge(t *testing.T, name string) {
	t.Helper()
	if !strings.HasSuffix(p.Description, ".") || p.Datasource.UID != "${datasource}" || p.Datasource.Type != "prometheus" || len(p.Targets) == 0 {
		t.Errorf("%s: description %q, source %+v, %d queries", name, p.Description, p.Datasource, len(p.Targets))
	}
	used := []string{p.FieldConfig.Defaults.Unit}
	for _, o := range p.FieldConfig.Overrides {
		for _, property := range o.Properties {
			if property.ID == "unit" {
				used = append(used, fmt.Sprint(property.Value))
			}
		}
	}
	if p.Type == "table" && used[0] == "" {
		used = used[1:] // by column
	}
	for _, unit := range used {
		if !slices.Contains(units, unit) {
			t.Errorf("%s: unit %q", name, unit)
		}
	}
	refs := map[string]bool{}
	for _, q := range p.Targets {
		if q.RefID == "" || refs[q.RefID] || q.Expr == "" || q.Instant == q.Range {
			t.Errorf("%s: %+v", name, q)
		}
		refs[q.RefID] = true
		if p.Type == "table" != (q.Format == "table") || p.Type == "timeseries" == q.Instant {
			t.Errorf("%s: %+v", name, q)
		}
		if p.Type != "table" && (q.LegendFormat == "" || q.LegendFormat == "__auto") {
			t.Errorf("%s: no legend for %s", name, q.Expr)
		}
	}
}
