// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
)

// Keys that hold the variables and the resources of a container outside a pod: in steps of Tekton (v1 and v1beta1),
// templates of Argo Workflows, objects of operators, and values of charts.
var (
	looseEnv       = []string{"env", "extraEnv", "extraEnvs", "extraEnvVars"}
	looseResources = []string{"resources", "computeResources"}
)

// loose reads a mapping that has the shape of a container: variables of the Go runtime, and beside them resources or an
// image. What runs is made from it by someone else, so that missing parts are unknown.
func (w *walker) loose(o *Object, n *yaml.Node) {
	if workloads[o.Kind] {
		return
	}
	c := &Container{Name: text(w.get(n, "name")), Image: text(w.get(n, "image")), node: n, partial: true, Loose: true}
	var bounds *yaml.Node
	for _, key := range looseResources {
		r := w.get(n, key)
		if r != nil && r.Kind == yaml.MappingNode && (w.get(r, "limits") != nil || w.get(r, "requests") != nil) {
			bounds = r
		}
	}
	if bounds == nil && w.get(n, "image") == nil {
		return
	}
	for _, key := range looseEnv {
		env := w.get(n, key)
		if env == nil {
			continue
		}
		if env.Kind == yaml.MappingNode {
			c.Env = append(c.Env, w.named(env)...)
			continue
		}
		for _, item := range w.items(env) {
			if e, ok := w.variable(item); ok {
				e.Value.String = true // whoever makes the container may quote it
				c.Env = append(c.Env, e)
			}
		}
		c.env = env
	}
	if !slices.ContainsFunc(c.Env, func(e Env) bool { return isKnob(e.Name) }) {
		return
	}
	c.Resources = w.resources(bounds)
	p := &Pod{Object: o, Containers: []*Container{c}}
	c.Pod = p
	o.Pods = append(o.Pods, p)
}

// isKnob reports whether a name is that of a variable of the Go runtime, or meant to be.
func isKnob(name string) bool { return slices.Contains(knobNames, name) || misspelt(name) != "" }

// named reads variables from a mapping of names to values.
func (w *walker) named(n *yaml.Node) []Env {
	var all []Env
	for key, value := range w.members(n) {
		if !isKnob(key.Value) {
			continue
		}
		e := Env{Name: key.Value, Value: field(value), node: key, at: value}
		if e.Value.String = true; !e.Value.Set() {
			e.From = Elsewhere
		}
		all = append(all, e)
	}
	return all
}

// secret reads the variables of the Go runtime in the stringData of a Secret, and nothing else.
func (w *walker) secret(n *yaml.Node) []Env {
	return slices.DeleteFunc(w.data(n), func(e Env) bool { return !slices.Contains(knobNames, e.Name) })
}

// inner parses the YAML of a block scalar, such as the values of a chart in an Application of Argo CD, and moves its
// nodes to where they are in the document; nil if it is none, or cannot be placed.
func (w *walker) inner(n *yaml.Node) *yaml.Node {
	text := []byte(n.Value)
	if n.Style&yaml.LiteralStyle == 0 || !hasKnob(text) {
		return nil
	}
	if len(text) > maxDocument || nodes(text) > w.left {
		return nil
	}
	root, err := parseYAML(text)
	if err != nil || root == nil {
		return nil
	}
	lines, at := w.doc.text, lineStarts(w.doc.text)
	if n.Line >= len(at) {
		return nil
	}
	first, _, _ := bytes.Cut(lines[at[n.Line]:], []byte("\n")) // the line below the indicator
	own, _, _ := bytes.Cut(text, []byte("\n"))
	if !bytes.HasSuffix(bytes.TrimRight(first, "\r"), own) || len(own) == 0 {
		return nil
	}
	w.move(root, n.Line, len(bytes.TrimRight(first, "\r"))-len(own), 0)
	return root
}

func (w *walker) move(n *yaml.Node, lines, columns, depth int) {
	if depth > maxDepth || w.left <= 0 {
		return
	}
	w.left--
	n.Line, n.Column = n.Line+lines, n.Column+columns
	for _, c := range n.Content {
		w.move(c, lines, columns, depth+1)
	}
}

var (
	// knobs are the variables of the Go runtime that are looked for.
	knobs = []string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"}
	// assigned finds one that a line sets: NAME=, NAME: or name: NAME.
	assigned = sync.OnceValue(func() *regexp.Regexp { // most commands do not need it
		name := `(` + strings.Join(knobs, "|") + `)["']?\s*`
		return regexp.MustCompile(`(?:^|[^A-Za-z0-9_])(?:` + name + `[=:]|name:\s*["']?` + name + `(?:[,}#]|$))`)
	})
)

// unjudged returns the lines of a file that set a variable of the Go runtime and were not judged: in a command, a
// Secret, the values of a chart, an object whose form is unknown, with a value that another tool
// fills in, or by a name that is not quite the variable's. Sources of templates are left out, and units of
// systemd, whose lines are all judged.
func (f *File) unjudged() []Problem {
	if slices.ContainsFunc(f.Problems, func(p Problem) bool { return p.Template }) ||
		slices.ContainsFunc(f.Objects, func(o *Object) bool { return o.Form == Unit }) {
		return nil
	}
	judged := map[int]bool{}
	var all []Problem
	add := func(line int, why string) { all = append(all, Problem{Line: line, Why: why}) }
	see := func(o *Object, e *Env) {
		at := o.NameAt(e).Line
		last := max(at, o.EnvAt(e).Line, o.FieldAt(e.Value).Line, at+1)
		known := slices.Contains(knobs, e.Name)
		switch {
		case known && e.From == Literal && strings.Contains(e.Value.Text, "${"):
			add(at, e.Name+" is "+e.Value.Text+": Kubernetes expands only $(NAME), another tool may replace it")
		case !known && misspelt(e.Name) != "":
			add(at, "the variable "+e.Name+" is not "+misspelt(e.Name)+", which Go reads")
		}
		for line := at; line <= last; line++ {
			judged[line] = true
		}
	}
	for _, o := range f.Objects {
		lists := [][]Env{o.Data}
		for _, p := range o.Pods {
			for _, c := range p.Containers {
				lists = append(lists, c.Env)
			}
		}
		for _, list := range lists {
			for i := range list {
				see(o, &list[i])
			}
		}
	}
	n, text := 0, f.Text
	if !hasKnob(text) {
		text = nil // most files
	}
	for line := range bytes.Lines(text) {
		n++
		text := strings.TrimSpace(string(line))
		m := assigned().FindStringSubmatch(text)
		if m == nil || judged[n] || strings.HasPrefix(text, "#") || strings.Contains(text, podpatch.Prefix) {
			continue // snug's annotations list variables
		}
		add(n, m[1]+m[2]+" is set here, in a form that was not judged")
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return a.Line - b.Line })
	return slices.CompactFunc(all, func(a, b Problem) bool { return a.Line == b.Line })
}

// misspelt returns the variable of the Go runtime that a name is meant to be: in other case, with other separators,
// or with a letter of a long name missing or added; "" if it is none, or right.
func misspelt(name string) string {
	plain := strings.ToUpper(strings.NewReplacer("_", "", "-", "").Replace(name))
	for _, knob := range knobs {
		switch {
		case name == knob:
			return ""
		case plain == knob, len(knob) > 4 && (without(knob, plain) || without(plain, knob)):
			return knob
		}
	}
	return ""
}

// without reports whether short is long without one of its letters.
func without(long, short string) bool {
	if len(long) != len(short)+1 {
		return false
	}
	for i := range short {
		if long[i] != short[i] {
			return long[i+1:] == short[i:]
		}
	}
	return true
}
