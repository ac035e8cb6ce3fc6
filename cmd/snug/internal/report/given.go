// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

func (p *page) given(d *finding.Given) {
	some, maybe := 0, 0
	for i := range d.Containers {
		switch c := &d.Containers[i]; {
		case len(c.Env)+len(c.RestartOn) == 0:
		case c.OptedIn == nil:
			maybe++
		default:
			some++
		}
	}
	verdict := strconv.Itoa(some) + " of " + plural(len(d.Containers), "container") + " would be given something"
	if maybe > 0 {
		verdict += ", " + strconv.Itoa(maybe) + " more where the label snug.dev/inject of the namespace says so"
	}
	if len(d.Containers) == 0 {
		verdict = "no containers"
	}
	p.line("%s: %s", Clean(strings.Join(d.Inputs, " ")), verdict)
	object := ""
	for i := range d.Containers {
		c := &d.Containers[i]
		if at := c.File + ": " + c.Object; at != object {
			object = at
			p.line("")
			p.line("%s", Clean(at))
		}
		role := ""
		if c.Role != "main" {
			role = c.Role + " "
		}
		p.line("  %scontainer %s", Clean(role), Clean(c.Container))
		p.table(givenRows(c))
	}
	if len(d.Unknown) > 0 {
		p.line("")
	}
	for _, g := range d.Unknown {
		p.line("unknown: %s: %s", Clean(g.File), worded(g.Why))
	}
}

// givenRows say what becomes of each knob, and why.
func givenRows(c *finding.GivenContainer) [][]string {
	var rows [][]string
	for i, w := range c.Reasons {
		what := given(c, w.Knob)
		switch {
		case i > 0 && w.Knob == c.Reasons[i-1].Knob:
			what = "" // one more reason
		case i > 0 && w.Reason == c.Reasons[i-1].Reason && len(c.Env) == 0:
			rows[i-1][0] = "    left alone"
			return rows
		}
		rows = append(rows, []string{"    " + Clean(what), Clean(w.Text) + " (" + Clean(w.Reason) + ")"})
	}
	return rows
}

// given is what a container gets of a knob.
func given(c *finding.GivenContainer, knob string) string {
	for _, e := range c.Env {
		switch {
		case e.Name != knob:
		case e.Value != nil:
			return knob + "=" + *e.Value
		case e.Resource != nil:
			return knob + " from " + *e.Resource
		}
	}
	return knob + " left alone"
}
