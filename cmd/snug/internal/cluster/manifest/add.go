// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

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
