// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/pod"
)

// Pair is a key and its value.
type Pair struct{ Name, Value string }

// Wanted is what a container gets. A variable whose value is "" is removed.
type Wanted struct{ Requests, Limits, Env []Pair }

// errShape is the reason for a container that cannot be edited without a rewrite of more than the values.
var errShape = errors.New("an anchor, an alias, a block of text, a second one or another use is in the way")

// maxSteps bounds the edits of one container.
const maxSteps = 50

// Size returns a file in which a container has other resources and variables, and the container in it. All else stays
// as it is written. It fails if that takes more than setting, adding and removing them.
func (f *File) Size(c *Container, w Wanted) (*File, *Container, error) {
	i := slices.Index(f.Objects, c.Pod.Object)
	j := slices.Index(c.Pod.Object.Pods, c.Pod)
	k := slices.Index(c.Pod.Containers, c)
	for range maxSteps {
		e, what, ok := c.step(&w)
		switch {
		case what == "":
			return f, c, nil
		case !ok || e.Users() != 1:
			return nil, nil, errors.New(what + ": " + c.hurdle(&w, what))
		}
		after, err := f.Apply([]Edit{e})
		if err != nil {
			return nil, nil, errors.New(what + ": " + err.Error())
		}
		if len(after.Objects) <= i || len(after.Objects[i].Pods) <= j || len(after.Objects[i].Pods[j].Containers) <= k {
			return nil, nil, errors.New(what + ": " + errEdit.Error())
		}
		f, c = after, after.Objects[i].Pods[j].Containers[k]
	}
	return nil, nil, errShape
}

// step returns the next edit that a container lacks, and what it sets; "" = it lacks none.
func (c *Container) step(w *Wanted) (e Edit, what string, ok bool) {
	o := c.Pod.Object
	t := o.tree()
	if t == nil {
		return e, "the resources", false
	}
	cn := t.node(c.node)
	if cn == nil || cn.Kind != yaml.MappingNode {
		return e, "the resources", false
	}
	if tangled(cn) != "" {
		return e, "the container", false
	}
	var all []*yaml.Node
	for _, of := range []struct {
		kind  string
		pairs []Pair
	}{{"requests", w.Requests}, {"limits", w.Limits}} {
		all = append(all, pair(of.kind, pairs(of.pairs))...)
	}
	r, missing := value(cn, "resources")
	if missing {
		e, ok = t.put(cn, "resources", mapping(all))
		return e, "the resources", ok
	}
	for i := 0; i < len(all); i += 2 {
		kind := all[i].Value
		in, missing := value(r, kind)
		if missing {
			e, ok = t.put(r, kind, all[i+1])
			return e, "the " + kind, ok
		}
		if in == nil {
			return e, "the " + kind, false
		}
		for j := 0; j < len(all[i+1].Content); j += 2 {
			name, want := all[i+1].Content[j].Value, all[i+1].Content[j+1]
			has, missing := value(in, name)
			switch {
			case missing:
				e, ok = t.put(in, name, want)
				return e, "the " + name + " of the " + kind, ok
			case has == nil || has.Kind != yaml.ScalarNode:
				return e, "the " + name + " of the " + kind, false
			case has.Value != want.Value:
				e, ok = o.Replace(Field{node: has}, want.Value)
				return e, "the " + name + " of the " + kind, ok
			}
		}
	}
	for _, v := range w.Env {
		if e, todo, ok := c.variable(t, cn, v); todo {
			return e, v.Name, ok
		}
	}
	return e, "", false
}

// hurdle returns why a container does not get what it lacks.
func (c *Container) hurdle(w *Wanted, what string) string {
	t := c.Pod.Object.tree()
	if t == nil {
		return errShape.Error()
	}
	if cn := t.node(c.node); cn != nil {
		if why := tangled(cn); why != "" {
			return why
		}
		env, _ := value(cn, "env")
		only := env != nil && len(env.Content) == 1 && !anchored(env) && !t.needed(cn, env, 0)
		if only && slices.Contains(w.Env, Pair{what, ""}) {
			return "it is the only variable, and env cannot be removed with it"
		}
	}
	return errShape.Error()
}

// tangled returns what makes the keys of a container, its resources or its variables mean something else than they do
// where they are written; "" = nothing.
func tangled(cn *yaml.Node) string {
	all := []*yaml.Node{cn}
	for i := 0; i < len(all); i++ { // all grows
		keys := map[string]bool{}
		for j := 0; j+1 < len(all[i].Content); j += 2 {
			key, of := all[i].Content[j], follow(all[i].Content[j+1])
			switch {
			case key.Kind != yaml.ScalarNode:
				return errShape.Error()
			case key.Tag == "!!merge":
				return "a merge key is in the way, <<"
			case keys[key.Value]:
				return "a second " + key.Value + " is in the way"
			}
			keys[key.Value] = true
			switch at := key.Value; {
			case of.Kind == yaml.MappingNode && (i == 0 && at == "resources" || i > 0 && (at == "requests" || at == "limits")):
				all = append(all, of)
			case of.Kind == yaml.SequenceNode && i == 0 && at == "env":
				for _, item := range of.Content {
					if item = follow(item); item.Kind == yaml.MappingNode {
						all = append(all, item)
					}
				}
			}
		}
	}
	return ""
}

// variable returns the edit that sets or removes a variable; todo is false if it is as wanted.
func (c *Container) variable(t *tree, cn *yaml.Node, want Pair) (e Edit, todo, ok bool) {
	var has []*Env
	for i := range c.Env {
		if c.Env[i].Name == want.Name {
			has = append(has, &c.Env[i])
		}
	}
	switch o := c.Pod.Object; {
	case len(has) > 1:
		return e, true, false
	case len(has) == 1 && want.Value == "":
		if e, ok = c.RemoveEnv(has[0]); !ok {
			e, ok = t.removeFlow(cn, has[0])
		}
		if !ok {
			e, ok = t.removeLast(cn, has[0])
		}
		return e, true, ok
	case want.Value == "", len(has) == 1 && has[0].From == Literal && has[0].Value.is(want.Value):
		return e, false, false
	case len(has) == 1 && has[0].From == Literal:
		e, ok = o.Replace(has[0].Value, want.Value)
		return e, true, ok
	case len(has) == 1:
		if e, ok = o.SetLiteral(has[0], want.Value); !ok {
			e, ok = t.setLiteral(has[0], want.Value)
		}
		return e, true, ok
	}
	item := mapping(append(pair("name", str(want.Name)), pair("value", str(want.Value))...))
	env, missing := value(cn, "env")
	switch {
	case missing:
		e, ok = t.put(cn, "env", &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{item}})
	case env != nil && env.Kind == yaml.SequenceNode:
		e, ok = t.append(env, nil, item)
	}
	return e, true, ok
}

// is reports whether a field is a string with this text.
func (f Field) is(text string) bool { return f.Text == text && f.String }

// removeFlow removes a variable from a list in brackets.
func (t *tree) removeFlow(cn *yaml.Node, e *Env) (Edit, bool) {
	d, item := t.doc, t.node(e.node)
	env, _ := value(cn, "env")
	if env == nil || item == nil || env.Style&yaml.FlowStyle == 0 || anchored(item) {
		return Edit{}, false
	}
	i := slices.Index(env.Content, item)
	if i < 0 || t.needed(cn, env, i) {
		return Edit{}, false
	}
	start, ok := d.offset(item)
	end, ok2 := d.last(item)
	switch {
	case i > 0:
		start, ok = d.last(env.Content[i-1])
	case len(env.Content) > 1:
		end, ok2 = d.offset(env.Content[1])
	}
	if !ok || !ok2 || bytes.ContainsRune(d.file.Text[start:end], '#') {
		return Edit{}, false
	}
	return t.edit(env, start, end, "", splice{index: i, remove: 1})
}

// removeLast removes env with the only variable in it. ok is false if it is not on lines of its own, or has lines of
// comments.
func (t *tree) removeLast(cn *yaml.Node, e *Env) (Edit, bool) {
	d := t.doc
	for i := 0; i+1 < len(cn.Content); i += 2 {
		key, env := cn.Content[i], cn.Content[i+1]
		if key.Value != "env" {
			continue
		}
		begin, ok := d.offset(key)
		end, ok2 := d.last(env)
		only := len(env.Content) == 1 && env.Content[0] == t.node(e.node)
		if !ok || !ok2 || cn.Style&yaml.FlowStyle != 0 || !only || anchored(env) || t.needed(cn, env, 0) {
			return Edit{}, false
		}
		line, _ := d.file.around(begin)
		end = d.file.next(end)
		if len(bytes.Trim(d.file.Text[line:begin], " ")) > 0 {
			return Edit{}, false
		}
		for text := range bytes.Lines(d.file.Text[line:end]) {
			if bytes.HasPrefix(bytes.TrimLeft(text, " \t"), []byte("#")) {
				return Edit{}, false
			}
		}
		return t.edit(cn, line, end, "", splice{index: i, remove: 2})
	}
	return Edit{}, false
}

// setLiteral is SetLiteral for a valueFrom with comments inside: they follow the value.
func (t *tree) setLiteral(e *Env, text string) (Edit, bool) {
	d, item := t.doc, t.node(e.node)
	if item == nil || item.Kind != yaml.MappingNode || item.Style&yaml.FlowStyle != 0 {
		return Edit{}, false
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, from := item.Content[i], item.Content[i+1]
		if key.Value != "valueFrom" || anchored(from) {
			continue
		}
		start, ok := d.offset(key)
		end, ok2 := d.last(from)
		if !ok || !ok2 {
			return Edit{}, false
		}
		for line := range bytes.Lines(d.file.Text[start:end]) {
			if _, comment, ok := bytes.Cut(line, []byte(" #")); ok {
				text += " #" + string(bytes.TrimRight(comment, "\r\n"))
			} else if comment, ok := bytes.CutPrefix(bytes.TrimLeft(line, " \t"), []byte("#")); ok {
				text += " #" + string(bytes.TrimRight(comment, "\r\n"))
			}
		}
		value, _, _ := strings.Cut(text, " #")
		return t.edit(item, start, end, "value: "+inFlow(str(value), false)+text[len(value):],
			splice{index: i, remove: 2, insert: pair("value", str(value))})
	}
	return Edit{}, false
}

// Main reports whether the container is none of the init containers, sidecars and ephemeral ones.
func (c *Container) Main() bool { return c.Role == pod.Main }

// Templated reports whether the container is in the source of a template.
func (c *Container) Templated() bool { return c.Pod.Object.doc.templated() }

// Setting returns the value that a container gives a variable; "" = none. ok is false if it is not a literal, or may
// come from elsewhere.
func (c *Container) Setting(name string) (text string, ok bool) {
	for i := len(c.Env) - 1; i >= 0; i-- {
		if e := &c.Env[i]; e.Name == name {
			return e.Value.Text, e.From == Literal
		}
	}
	return "", len(c.EnvFrom) == 0 && c.Image != ""
}
