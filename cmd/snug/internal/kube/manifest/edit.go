// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"cmp"
	"errors"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Edit replaces a part of a file. It knows what it does to the tree of the
// document, so that Apply can tell whether the new text says just that.
type Edit struct {
	start, end int
	text       string
	then       func() // does the same to the tree
}

// Replace gives a field another text, in its own style of quotes. ok is false
// where it cannot be done by exchanging a few characters: block scalars,
// anchors, tags, text over several lines.
func (o *Object) Replace(f Field, text string) (Edit, bool) {
	n := f.node
	start, end, ok := o.doc.scalar(n)
	if !ok {
		return Edit{}, false
	}
	quote := `"`
	if n.Style&yaml.SingleQuotedStyle != 0 && !strings.ContainsAny(text, "'") {
		quote = "'"
	}
	written := quote + text + quote
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 && bare(text) {
		written = text
	}
	if strings.ContainsAny(text, "\"\\\n") {
		return Edit{}, false
	}
	return Edit{start, end, written, func() { n.Value, n.Tag, n.Style = text, "!!str", yaml.DoubleQuotedStyle }}, true
}

// bare tells whether a text is a string without quotes, whoever reads it.
func bare(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./_-]*$`).MatchString(text) && isString(&yaml.Node{Kind: yaml.ScalarNode, Tag: resolved(text), Value: text})
}

// resolved is the tag that YAML gives a text without quotes.
func resolved(text string) string {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	return n.ShortTag()
}

// SetDivisor gives a reference to a resource the divisor 1.
func (o *Object) SetDivisor(e *Env) (Edit, bool) {
	if e.Divisor.Set() {
		return o.Replace(e.Divisor, "1")
	}
	return o.insert(e.ref, e.Resource.node, "divisor", "1")
}

// insert writes a key behind the one whose value is a scalar of the same
// mapping, in the mapping's style.
func (o *Object) insert(in, behind *yaml.Node, key, value string) (Edit, bool) {
	if in == nil || behind == nil || in.Kind != yaml.MappingNode {
		return Edit{}, false
	}
	var name *yaml.Node
	for i := 0; i+1 < len(in.Content); i += 2 {
		if in.Content[i+1] == behind {
			name = in.Content[i]
		}
	}
	start, end, ok := o.doc.scalar(behind)
	if name == nil || !ok {
		return Edit{}, false
	}
	begin, ok := o.doc.offset(name)
	if !ok {
		return Edit{}, false
	}
	text := o.doc.file.Text
	line := bytes.LastIndexByte(text[:begin], '\n') + 1
	alone := len(bytes.TrimLeft(text[line:begin], " \t")) == 0
	written := key + `: "` + value + `"`
	minified := start > 0 && text[start-1] == ':'
	switch {
	case name.Style&yaml.DoubleQuotedStyle != 0 && minified:
		written = `"` + key + `":"` + value + `"`
	case name.Style&yaml.DoubleQuotedStyle != 0:
		written = `"` + key + `": "` + value + `"`
	}
	then := func() {
		in.Content = append(in.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	}
	ending := "\n"
	if rest := text[begin:]; bytes.IndexByte(rest, '\n') > 0 && rest[bytes.IndexByte(rest, '\n')-1] == '\r' {
		ending = "\r\n"
	}
	if in.Style&yaml.FlowStyle != 0 {
		gap := " "
		if alone {
			gap = ending + string(text[line:begin])
		} else if minified {
			gap = ""
		}
		return Edit{end, end, "," + gap + written, then}, true
	}
	// Behind the line, and what may be a comment on it.
	indent := strings.Repeat(" ", begin-line)
	if i := bytes.IndexByte(text[end:], '\n'); i >= 0 {
		end += i
		if end > 0 && text[end-1] == '\r' {
			end--
		}
	} else {
		end = len(text)
	}
	if bytes.ContainsRune(text[line:begin], '\t') {
		return Edit{}, false
	}
	return Edit{end, end, ending + indent + written, then}, true
}

// RemoveEnv takes a variable out of a container's list. ok is false where it is
// not a few lines of its own, or the only one.
func (c *Container) RemoveEnv(e *Env) (Edit, bool) {
	o := c.Pod.Object
	if c.env == nil || c.env.Style&yaml.FlowStyle != 0 || len(c.env.Content) < 2 || e.node == nil || e.node.Kind != yaml.MappingNode || e.node.Style&yaml.FlowStyle != 0 {
		return Edit{}, false
	}
	begin, ok := o.doc.offset(e.node)
	last, ok2 := o.doc.end(e.node)
	if !ok || !ok2 {
		return Edit{}, false
	}
	text := o.doc.file.Text
	line := bytes.LastIndexByte(text[:begin], '\n') + 1
	if strings.TrimLeft(string(text[line:begin]), " ") != "- " && strings.TrimSpace(string(text[line:begin])) != "-" {
		return Edit{}, false
	}
	if i := bytes.IndexByte(text[last:], '\n'); i >= 0 {
		last += i + 1
	} else {
		last = len(text)
	}
	return Edit{line, last, "", func() {
		c.env.Content = slices.DeleteFunc(slices.Clone(c.env.Content), func(n *yaml.Node) bool { return n == e.node })
	}}, true
}

// end is where the last scalar of a tree ends.
func (d *document) end(n *yaml.Node) (int, bool) {
	last := 0
	for _, c := range n.Content {
		if c.Kind == yaml.AliasNode || c.Style&yaml.FlowStyle != 0 {
			return 0, false
		}
		at, ok := 0, false
		if c.Kind == yaml.ScalarNode {
			_, at, ok = d.scalar(c)
		} else {
			at, ok = d.end(c)
		}
		if !ok {
			return 0, false
		}
		last = max(last, at)
	}
	return last, last > 0
}

// scalar is where a scalar begins and ends in its file, its quotes included.
func (d *document) scalar(n *yaml.Node) (start, end int, ok bool) {
	if n == nil || n.Kind != yaml.ScalarNode || n.Anchor != "" || n.Style&yaml.TaggedStyle != 0 {
		return 0, 0, false
	}
	start, ok = d.offset(n)
	if !ok || start >= len(d.file.Text) {
		return 0, 0, false
	}
	rest := d.file.Text[start:min(len(d.file.Text), d.start+len(d.text))]
	switch {
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return 0, 0, false
	case n.Style&yaml.DoubleQuotedStyle != 0:
		end, ok = closing(rest, '"')
	case n.Style&yaml.SingleQuotedStyle != 0:
		end, ok = closing(rest, '\'')
	default:
		end, ok = len(n.Value), n.Value != "" && bytes.HasPrefix(rest, []byte(n.Value))
	}
	if !ok || bytes.ContainsAny(rest[:end], "\n\r") {
		return 0, 0, false
	}
	return start, start + end, true
}

// closing is where a quoted text ends, behind its closing quote.
func closing(text []byte, quote byte) (int, bool) {
	if len(text) == 0 || text[0] != quote {
		return 0, false
	}
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote && quote == '\'' && i+1 < len(text) && text[i+1] == quote:
			i++
		case text[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// Overlaps tells whether two edits touch the same text.
func (e Edit) Overlaps(other Edit) bool {
	return e.start < other.end && other.start < e.end || e.start == other.start
}

// Same tells whether two edits do the same.
func (e Edit) Same(other Edit) bool {
	return e.start == other.start && e.end == other.end && e.text == other.text
}

var errEdit = errors.New("the text that was made does not say what it should")

// Apply makes edits, which must not overlap, and reads the result. It is an
// error when that says anything else than the file with these changes. The file
// that was read is of no use afterwards.
func (f *File) Apply(edits []Edit) (*File, error) {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Compare(a.start, b.start) })
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(f.Text) {
			return nil, errEdit
		}
		b.Write(f.Text[at:e.start])
		b.WriteString(e.text)
		at = e.end
		e.then()
	}
	b.Write(f.Text[at:])
	after := Parse(f.Name, b.Bytes())
	if len(after.Objects) != len(f.Objects) || len(after.Problems) != len(f.Problems) || after.Found != f.Found {
		return nil, errEdit
	}
	for i, o := range f.Objects {
		left := maxVisits
		if !same(o.node, after.Objects[i].node, &left) {
			return nil, errEdit
		}
	}
	return after, nil
}

// same tells whether two trees mean the same.
func same(a, b *yaml.Node, left *int) bool {
	a, b = follow(a), follow(b)
	if *left--; *left < 0 || a == nil || b == nil {
		return a == b
	}
	if a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	if a.Kind == yaml.ScalarNode {
		return a.Value == b.Value && isString(a) == isString(b)
	}
	if a.Kind == yaml.MappingNode {
		for i := 0; i < len(a.Content); i += 2 {
			if a.Content[i].Value != b.Content[i].Value {
				return sameKeys(a, b, left)
			}
		}
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i], left) {
			return false
		}
	}
	return true
}

// sameKeys compares mappings whose keys may be in another order.
func sameKeys(a, b *yaml.Node, left *int) bool {
	of := map[string]*yaml.Node{}
	for i := 0; i+1 < len(b.Content); i += 2 {
		of[b.Content[i].Value] = b.Content[i+1]
	}
	for i := 0; i+1 < len(a.Content); i += 2 {
		if other := of[a.Content[i].Value]; other == nil || !same(a.Content[i+1], other, left) {
			return false
		}
	}
	return true
}
