// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"
	"slices"
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

// value returns the value of a key of a mapping; nil if it is an alias, or in is no mapping. missing says that there is
// none, or an empty one that can be replaced.
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
		written := inFlow(value, key.Style&yaml.DoubleQuotedStyle != 0)
		if start > 0 && text[start-1] == ':' {
			written = " " + written
		}
		return t.edit(in, start, end, written, s)
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

func str(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Style: yaml.DoubleQuotedStyle, Value: text}
}
func pair(key string, value *yaml.Node) []*yaml.Node { return []*yaml.Node{str(key), value} }
func mapping(content []*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: content}
}

// indent returns the text before an offset on its line. alone is false if it is not only spaces.
func (d *document) indent(at int) (blank string, alone bool) {
	start, _ := d.file.around(at)
	line := d.file.Text[start:at]
	return string(line), len(bytes.Trim(line, " ")) == 0
}

// around returns the start and the end of the line of an offset, without the line ending.
func (f *File) around(at int) (start, end int) {
	n := f.pos(at).Line
	if end = len(f.Text); n < len(f.lines) {
		if end = f.lines[n] - 1; end > f.lines[n-1] && f.Text[end-1] == '\r' {
			end--
		}
	}
	return f.lines[n-1], end
}

// next returns the start of the line after that of an offset.
func (f *File) next(at int) int {
	if n := f.pos(at).Line; n < len(f.lines) {
		return f.lines[n]
	}
	return len(f.Text)
}

// ending returns the line ending of the line of an offset; for the last line, that of the line before.
func (f *File) ending(at int) string {
	n := f.pos(at).Line
	if n == len(f.lines) {
		n--
	}
	if n > 0 && f.lines[n] > 1 && f.Text[f.lines[n]-2] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// below returns lines to insert after the line of an offset.
func (f *File) below(at int, indent string, lines []string) string {
	ending := f.ending(at)
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(ending + indent + line)
	}
	return b.String()
}

var emptyLine = regexp.MustCompile(`^ *resources:[ \t]*\{[ \t]*\}[ \t]*\r?\n?$`)

// RemoveResources removes empty resources of a pod, if they are on a line of their own.
func (p *Pod) RemoveResources() (Edit, bool) {
	if p.Resources == nil || !p.Resources.Empty {
		return Edit{}, false
	}
	t := p.Object.tree()
	if t == nil {
		return Edit{}, false
	}
	spec, r := t.node(p.spec), t.node(p.Resources.node)
	if spec == nil || r == nil || anchored(r) {
		return Edit{}, false
	}
	i := slices.Index(spec.Content, r)
	at, ok := t.doc.offset(r)
	if i%2 != 1 || !ok {
		return Edit{}, false
	}
	start, _ := t.doc.file.around(at)
	end := t.doc.file.next(at)
	if !emptyLine.Match(t.doc.file.Text[start:end]) {
		return Edit{}, false
	}
	return t.edit(spec, start, end, "", splice{index: i - 1, remove: 2})
}

// SetLiteral gives a variable a value in place of its valueFrom. ok is false if a comment, an anchor or an alias is
// in between.
func (o *Object) SetLiteral(e *Env, value string) (Edit, bool) {
	t := o.tree()
	if t == nil {
		return Edit{}, false
	}
	item := t.node(e.node)
	if item == nil || item.Kind != yaml.MappingNode {
		return Edit{}, false
	}
	for i := 0; i+1 < len(item.Content); i += 2 {
		key, from := item.Content[i], item.Content[i+1]
		if key.Value != "valueFrom" {
			continue
		}
		start, ok := t.doc.offset(key)
		end, ok2 := t.doc.last(from)
		if !ok || !ok2 || anchored(from) || bytes.ContainsRune(o.doc.file.Text[start:end], '#') {
			return Edit{}, false
		}
		name := "value"
		if key.Style&yaml.DoubleQuotedStyle != 0 {
			name = `"value"`
		}
		return t.edit(item, start, end, name+`: "`+value+`"`, splice{index: i, remove: 2, insert: pair("value", str(value))})
	}
	return Edit{}, false
}

// last returns the end of a value in its file, in either style.
func (d *document) last(n *yaml.Node) (end int, ok bool) {
	flow := n.Style&yaml.FlowStyle != 0
	switch {
	case n.Kind == yaml.ScalarNode:
		_, end, ok = d.scalar(n)
		return end, ok
	case len(n.Content) > 0:
		end, ok = d.last(n.Content[len(n.Content)-1])
	case flow && n.Kind != yaml.AliasNode:
		end, ok = d.offset(n)
		end++
	}
	if !ok || !flow {
		return end, ok
	}
	text := d.file.Text[:d.start+len(d.text)]
	for end < len(text) && bytes.IndexByte([]byte(" \t\r\n,"), text[end]) >= 0 {
		end++
	}
	closing := byte('}')
	if n.Kind == yaml.SequenceNode {
		closing = ']'
	}
	return end + 1, end < len(text) && text[end] == closing
}
