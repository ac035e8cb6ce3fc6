// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) given(d *finding.Given) {
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
	verdict := strconv.Itoa(some) + " of " + units.Plural(len(d.Containers), "container") + " would be given something"
	switch {
	case maybe > 0 && d.Inject == "all":
		verdict = strconv.Itoa(some+maybe) + " of " + units.Plural(len(d.Containers), "container") +
			" would be given something, " +
			strconv.Itoa(maybe) + " unless the label snug.dev/inject of the namespace says no"
	case maybe > 0:
		verdict += ", " + strconv.Itoa(maybe) + " more where the label snug.dev/inject of the namespace says so"
	}
	if len(d.Containers) == 0 {
		verdict = "no containers"
	}
	p.line("%s: %s", message.Clean(strings.Join(d.Inputs, " ")), verdict)
	if d.Mode == "observe" {
		p.line("mode observe: nothing is changed; the annotation snug.dev/observed of the pod says what would be")
	}
	object, seen := "", map[string]bool{}
	for i := range d.Containers {
		c := &d.Containers[i]
		if at := c.File + ": " + c.Object; at != object {
			object, seen = at, map[string]bool{}
			p.line("")
			p.line("%s", message.Clean(at))
		}
		role := ""
		if c.Role != "main" {
			role = c.Role + " "
		}
		condition := ""
		if c.OptedIn == nil && len(c.Env)+len(c.RestartOn) > 0 {
			if condition = ", if its namespace is opted in"; d.Inject == "all" {
				condition = ", unless its namespace is opted out"
			}
		}
		p.line("  %scontainer %s%s", message.Clean(role), message.Clean(c.Container), condition)
		p.table(givenRows(c, seen))
	}
	if len(d.Unknown) > 0 {
		p.line("")
	}
	for _, g := range d.Unknown {
		p.line("unknown: %s: %s", message.Clean(g.File), metric.Readable(g.Why))
	}
	p.next(d.Next)
}

// givenRows says what happens to each knob, and why. An error in a pod's labels is printed
// for its first container only; seen records it.
func givenRows(c *finding.GivenContainer, seen map[string]bool) [][]string {
	var rows [][]string
	said := ""
	for i, w := range c.Reasons {
		what := given(c, w.Knob)
		text := message.Clean(w.Text) + " (" + message.Clean(w.Reason) + ")"
		if w.Reason == "pod-label-wrong" {
			if said = w.Text; seen[said] {
				text = message.Clean(w.Reason) + ", as above"
			}
		}
		switch {
		case i > 0 && w.Knob == c.Reasons[i-1].Knob:
			what = "" // one more reason
		case i > 0 && w.Reason == c.Reasons[i-1].Reason && len(c.Env) == 0:
			rows[i-1][0] = "    left alone"
			seen[said] = true
			return rows
		}
		rows = append(rows, []string{"    " + message.Clean(what), text})
	}
	seen[said] = true
	return rows
}

// given says which value a container gets for a knob.
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
