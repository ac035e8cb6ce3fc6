// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func pairs(all []Pair) *yaml.Node {
	m := mapping(nil)
	for _, p := range all {
		m.Content = append(m.Content, pair(p.Name, str(p.Value))...)
	}
	return m
}

// value returns the value of a key of a mapping; nil if it is an alias, or in is no mapping. missing says that there is none,
// or an empty one that can be replaced.
func value(in *yaml.Node, key string) (n *yaml.Node, missing bool) {
	if in == nil || in.Kind != yaml.MappingNode {
		return nil, false
	}
	for i := 0; i+1 < len(in.Content); i += 2 {
		if in.Content[i].Value == key {
			n = in.Content[i+1]
			if n.Kind == yaml.AliasNode {
				return nil, false
			}
			return n, null(n) || n.Kind != yaml.ScalarNode && len(n.Content) == 0
		}
	}
	return nil, true
}

// put sets a key of a mapping that is missing, null or empty.
func (t *tree) put(in *yaml.Node, key string, value *yaml.Node) (Edit, bool) {
	if in.Anchor != "" {
		return Edit{}, false
	}
	for i := 0; i+1 < len(in.Content); i += 2 {
		if in.Content[i].Value == key {
			return t.replace(in, i, value)
		}
	}
	return t.append(in, str(key), value)
}

// replace replaces a value that is null or empty, of the key at index i of a mapping.
func (t *tree) replace(in *yaml.Node, i int, value *yaml.Node) (Edit, bool) {
	d, key, old := t.doc, in.Content[i], in.Content[i+1]
	text := d.file.Text[:d.start+len(d.text)]
	start, end, ok := 0, 0, false
	if null(old) {
		start, end, ok = d.empty(key, old)
	} else if start, ok = d.offset(old); ok && old.Anchor == "" && old.Style&yaml.FlowStyle != 0 {
		for end = start + 1; end < len(text) && (text[end] == ' ' || text[end] == '\t'); end++ {
		}
		ok = end < len(text) && (text[end] == '}' || text[end] == ']')
		end++
	}
	if !ok {
		return Edit{}, false
	}
	s := splice{index: i + 1, remove: 1, insert: []*yaml.Node{value}}
	if in.Style&yaml.FlowStyle != 0 {
		if start > 0 && text[start-1] == ':' {
			return t.edit(in, start, end, " "+inFlow(value, key.Style&yaml.DoubleQuotedStyle != 0), s)
		}
		return t.edit(in, start, end, inFlow(value, key.Style&yaml.DoubleQuotedStyle != 0), s)
	}
	indent, ok := t.indentOf(in)
	if !ok {
		return Edit{}, false
	}
	for start > 0 && text[start-1] == ' ' {
		start--
	}
	// A comment behind the old value stays on its line.
	_, last := d.file.around(end)
	rest := strings.TrimRight(string(text[end:last]), " \t")
	lines := inBlock(mapping(pair(key.Value, value)))[1:]
	return t.edit(in, start, last, rest+d.file.below(end, indent, lines), s)
}

// append adds a value to a mapping or, without a key, to a list. In a container the key stands after its image or name.
func (t *tree) append(in, key, value *yaml.Node) (Edit, bool) {
	d := t.doc
	if len(in.Content) == 0 || in.Anchor != "" {
		return Edit{}, false
	}
	made := []*yaml.Node{value}
	if key != nil {
		made = []*yaml.Node{key, value}
	}
	s := splice{index: len(in.Content), insert: made}
	if in.Style&yaml.FlowStyle != 0 {
		end, ok := d.last(in.Content[len(in.Content)-1])
		if !ok {
			return Edit{}, false
		}
		quoted := in.Content[0].Style&yaml.DoubleQuotedStyle != 0
		if key == nil && len(in.Content[0].Content) > 0 {
			quoted = in.Content[0].Content[0].Style&yaml.DoubleQuotedStyle != 0
		}
		text := inFlow(value, quoted)
		if key != nil {
			text = inFlow(key, quoted) + ": " + text
		}
		return t.edit(in, end, end, ", "+text, s)
	}
	indent, ok := t.indentOf(in)
	if !ok {
		return Edit{}, false
	}
	all := mapping(made)
	if key == nil {
		all.Kind = yaml.SequenceNode
	}
	for i := 0; key != nil && i+1 < len(in.Content); i += 2 {
		if at := in.Content[i].Value; at == "image" || at == "name" && s.index == len(in.Content) {
			s.index = i + 2
		}
	}
	end, ok := d.last(in.Content[s.index-1])
	if !ok {
		return Edit{}, false
	}
	_, line := d.file.around(end)
	return t.edit(in, line, line, d.file.below(end, indent, inBlock(all)), s)
}

// indentOf returns the indentation of the keys of a block mapping.
func (t *tree) indentOf(in *yaml.Node) (string, bool) {
	at, ok := t.doc.offset(in)
	if !ok {
		return "", false
	}
	indent, alone := t.doc.indent(at)
	return strings.Repeat(" ", len(indent)), alone || strings.Trim(indent, " -") == ""
}

// inFlow writes a value on one line.
func inFlow(n *yaml.Node, quoted bool) string {
	var parts []string
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, inFlow(n.Content[i], quoted)+": "+inFlow(n.Content[i+1], quoted))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		for _, item := range n.Content {
			parts = append(parts, inFlow(item, quoted))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if quoted || !bare(n.Value) {
		return strconv.Quote(n.Value)
	}
	return n.Value
}

// inBlock writes a mapping or a list on lines.
func inBlock(n *yaml.Node) []string {
	var lines []string
	if n.Kind == yaml.SequenceNode {
		for _, item := range n.Content {
			more := inBlock(item)
			indentBy(more[1:], "  ")
			more[0] = "- " + more[0]
			lines = append(lines, more...)
		}
		return lines
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i].Value, n.Content[i+1]
		if value.Kind == yaml.ScalarNode {
			lines = append(lines, key+": "+inFlow(value, false))
			continue
		}
		more := inBlock(value)
		if value.Kind == yaml.MappingNode {
			indentBy(more, "  ")
		}
		lines = append(append(lines, key+":"), more...)
	}
	return lines
}

func indentBy(lines []string, by string) {
	for i := range lines {
		lines[i] = by + lines[i]
	}
}
