// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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
		if r := w.get(n, key); r != nil && r.Kind == yaml.MappingNode && (w.get(r, "limits") != nil || w.get(r, "requests") != nil) {
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
	if !slices.ContainsFunc(c.Env, func(e Env) bool { return slices.Contains(knobNames, e.Name) || misspelt(e.Name) != "" }) {
		return
	}
	c.Resources = w.resources(bounds)
	p := &Pod{Object: o, Containers: []*Container{c}}
	c.Pod = p
	o.Pods = append(o.Pods, p)
}

// named reads variables from a mapping of names to values.
func (w *walker) named(n *yaml.Node) []Env {
	var all []Env
	for i := 0; i+1 < len(n.Content) && w.left > 0; i += 2 {
		w.left--
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		if key == nil || value == nil || key.Kind != yaml.ScalarNode || !slices.Contains(knobNames, key.Value) && misspelt(key.Value) == "" {
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

// inner parses the YAML of a block scalar, such as the values of a chart in an Application of Argo CD, and moves its nodes to
// where they are in the document; nil if it is none, or cannot be placed.
func (w *walker) inner(n *yaml.Node) *yaml.Node {
	if n.Style&yaml.LiteralStyle == 0 || !slices.ContainsFunc(knobNames, func(name string) bool { return strings.Contains(n.Value, name) }) {
		return nil
	}
	text := []byte(n.Value)
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
