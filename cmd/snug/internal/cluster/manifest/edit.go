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

// Edit replaces a part of a file. It holds the change of the text and the change of the tree, so that
// Apply can check that the new text has exactly the new tree. It holds no tree itself, because trees
// are large.
type Edit struct {
	change
	splice splice
	users  int // places of the document that use the changed node
}

// change is the change of the text.
type change struct {
	doc        *document
	start, end int
	text       string
}

// splice is the change of the tree: it replaces children of one node. Positions and indices are those
// of the original document, so they do not depend on other edits.
type splice struct {
	at     *yaml.Node   // the position of the node, for tree.node
	index  int          // of the first child to remove, or before which to insert
	remove int          // number of children
	insert []*yaml.Node // new children; for a scalar, which has none, the one that replaces it
}

// tree returns the tree for edits of an object; nil if it cannot be edited.
func (o *Object) tree() *tree {
	if o.Form == Unit || o.Form == EnvFile {
		return nil
	}
	return o.doc.tree()
}

// edit returns an edit of node n that replaces the text from start to end by text, and the children by
// s, whose at it sets. ok is false if no place of the document uses n.
func (t *tree) edit(n *yaml.Node, start, end int, text string, s splice) (Edit, bool) {
	s.at = spot(n)
	e := Edit{change{t.doc, start, end, text}, s, t.uses(n)}
	return e, e.users > 0
}

// Users returns the number of places of its document that an edit changes, through aliases.
func (e Edit) Users() int { return e.users }

// Key returns a comparable value that is equal for equal edits.
func (e Edit) Key() any { return e.change }

// Replace sets the text of a field, in its quoting style. ok is false if that takes more than replacing
// a few characters: block scalars, anchors, tags, text over several lines.
func (o *Object) Replace(f Field, text string) (Edit, bool) {
	t := o.tree()
	if t == nil {
		return Edit{}, false
	}
	n := t.node(f.node)
	start, end, ok := t.doc.scalar(n)
	if !ok {
		return Edit{}, false
	}
	text = f.prefix + text
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
	return t.edit(n, start, end, written, splice{insert: []*yaml.Node{str(text)}})
}

// bare reports whether a text is a string without quotes for every YAML parser.
func bare(text string) bool {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	n.Tag = n.ShortTag()
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./_=-]*$`).MatchString(text) && isString(n)
}

// SetDivisor sets the divisor of a reference to 1.
func (o *Object) SetDivisor(e *Env) (Edit, bool) {
	if e.Divisor.Set() {
		return o.Replace(e.Divisor, "1")
	}
	t := o.tree()
	if t == nil {
		return Edit{}, false
	}
	in := t.node(e.ref)
	if in == nil || in.Kind != yaml.MappingNode {
		return Edit{}, false
	}
	for i := 0; i+1 < len(in.Content); i += 2 {
		if key, value := in.Content[i], in.Content[i+1]; key.Value == "divisor" && value.Kind == yaml.ScalarNode {
			start, end, ok := t.doc.empty(key, value)
			if !ok {
				return Edit{}, false
			}
			return t.edit(in, start, end, ` "1"`, splice{index: i + 1, remove: 1, insert: []*yaml.Node{str("1")}})
		}
	}
	return t.insert(in, t.node(e.Resource.node), "divisor", "1")
}

// empty returns the text after the colon of a key whose value is null.
func (d *document) empty(key, value *yaml.Node) (start, end int, ok bool) {
	_, start, ok = d.scalar(key)
	if !ok || !null(value) || value.Anchor != "" {
		return 0, 0, false
	}
	text := d.file.Text[:d.start+len(d.text)]
	for start < len(text) && (text[start] == ' ' || text[start] == '\t') {
		start++
	}
	if start == len(text) || text[start] != ':' {
		return 0, 0, false
	}
	start++
	if value.Value == "" {
		return start, start, true
	}
	_, end, ok = d.scalar(value)
	return start, end, ok && end > start && len(bytes.Trim(text[start:end-len(value.Value)], " \t")) == 0
}

// insert inserts a key after the key with the scalar value after, in the style of the mapping.
func (t *tree) insert(in, after *yaml.Node, key, value string) (Edit, bool) {
	i := slices.Index(in.Content, after)
	start, end, ok := t.doc.scalar(after)
	if i%2 != 1 || !ok {
		return Edit{}, false
	}
	name := in.Content[i-1]
	begin, ok := t.doc.offset(name)
	if !ok {
		return Edit{}, false
	}
	f := t.doc.file
	text := f.Text
	line, last := f.around(begin)
	alone := len(bytes.TrimLeft(text[line:begin], " \t")) == 0
	written := key + `: "` + value + `"`
	minified := start > 0 && text[start-1] == ':'
	switch {
	case name.Style&yaml.DoubleQuotedStyle != 0 && minified:
		written = `"` + key + `":"` + value + `"`
	case name.Style&yaml.DoubleQuotedStyle != 0:
		written = `"` + key + `": "` + value + `"`
	}
	s := splice{index: i + 1, insert: pair(key, str(value))}
	if in.Style&yaml.FlowStyle != 0 {
		gap := " "
		if alone {
			gap = f.ending(begin) + string(text[line:begin])
		} else if minified {
			gap = ""
		}
		return t.edit(in, end, end, ","+gap+written, s)
	}
	// After the line, which may have a comment.
	if bytes.ContainsRune(text[line:begin], '\t') || end > last {
		return Edit{}, false
	}
	return t.edit(in, last, last, f.ending(begin)+strings.Repeat(" ", begin-line)+written, s)
}

// RemoveEnv removes a variable from a container's list. ok is false if it is not on lines of its own, if
// it is the only one, or if something uses its value: $(NAME) in a later variable, or in the
// container's arguments.
func (c *Container) RemoveEnv(e *Env) (Edit, bool) {
	t := c.Pod.Object.tree()
	if t == nil {
		return Edit{}, false
	}
	env, item, of := t.node(c.env), t.node(e.node), t.node(c.node)
	if env == nil || item == nil || of == nil || item.Kind != yaml.MappingNode {
		return Edit{}, false
	}
	if env.Style&yaml.FlowStyle != 0 || len(env.Content) < 2 {
		return Edit{}, false
	}
	i := slices.Index(env.Content, item)
	begin, ok := t.doc.offset(item)
	last, ok2 := t.doc.last(item)
	if i < 0 || !ok || !ok2 || anchored(item) || t.needed(of, env, i) {
		return Edit{}, false
	}
	f := t.doc.file
	line, _ := f.around(begin)
	before := string(f.Text[line:begin])
	if strings.Trim(before, " ") != "-" {
		return Edit{}, false
	}
	last = f.next(last)
	// Comments with more indentation than the dash belong to the item.
	for last < len(f.Text) {
		_, end := f.around(last)
		text := bytes.TrimLeft(f.Text[last:end], " ")
		if !bytes.HasPrefix(text, []byte("#")) || end-last-len(text) <= strings.Index(before, "-") {
			break
		}
		last = f.next(last)
	}
	return t.edit(env, line, last, "", splice{index: i, remove: 1})
}

// scalar returns the start and the end of a scalar in its file, including its quotes.
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

// closing returns the end of a quoted text, after its closing quote.
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

// Overlaps reports whether two edits change the same text.
func (e Edit) Overlaps(other Edit) bool {
	return e.start < other.end && other.start < e.end || e.start == other.start
}

// Compare compares the beginnings of two edits.
func (e Edit) Compare(other Edit) int { return cmp.Compare(e.start, other.start) }

// Same reports whether two edits are equal.
func (e Edit) Same(other Edit) bool { return e.change == other.change }

var errEdit = errors.New("the new text would not have the intended meaning")

// Apply makes edits, which must not overlap, and parses the result. It fails if the result is anything
// but the file with these changes.
func (f *File) Apply(edits []Edit) (*File, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, Edit.Compare)
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.start < at || e.end < e.start || e.end > len(f.Text) || e.doc.file != f {
			return nil, errEdit
		}
		b.Write(f.Text[at:e.start])
		b.WriteString(e.text)
		at = e.end
	}
	b.Write(f.Text[at:])
	after := Parse(f.Name, b.Bytes())
	after.Patched, after.batch = f.Patched, f.batch
	if err := f.check(after, edits); err != nil {
		return nil, err
	}
	return after, nil
}

// check checks that after is f with edits, which are sorted. It compares the tree of a document with
// edits, and the text of others.
func (f *File) check(after *File, edits []Edit) error {
	if len(after.Objects) != len(f.Objects) || len(after.Problems) != len(f.Problems) || after.Found != f.Found {
		return errEdit
	}
	shift := 0
	var last *document
	for i, o := range f.Objects {
		old, made := o.doc, after.Objects[i].doc
		if old == last {
			continue
		}
		last = old
		if made.start != old.start+shift {
			return errEdit
		}
		n := 0
		for n < len(edits) && edits[n].doc == old {
			shift += len(edits[n].text) - (edits[n].end - edits[n].start)
			n++
		}
		if n == 0 && !bytes.Equal(old.text, made.text) || n > 0 && !old.becomes(made, edits[:n]) {
			return errEdit
		}
		edits = edits[n:]
	}
	if len(edits) > 0 {
		return errEdit
	}
	return nil
}

// becomes reports whether a document with edits, which are sorted, has the tree of made.
func (d *document) becomes(made *document, edits []Edit) bool {
	old := d.grow()
	if old == nil || !old.splice(edits) {
		return false
	}
	root, err := parseYAML(made.text)
	return err == nil && same(old.root, root, map[[2]*yaml.Node]bool{})
}

// splice makes edits, which are sorted, in a tree. ok is false if a node or its children are missing.
func (t *tree) splice(edits []Edit) (ok bool) {
	// Find all nodes before any change, because they are found by position.
	nodes := make([]*yaml.Node, len(edits))
	for i := range edits {
		if nodes[i] = t.node(edits[i].splice.at); nodes[i] == nil {
			return false
		}
	}
	// Begin with the last, so that earlier indices stay valid.
	for i, e := range slices.Backward(edits) {
		n, s := nodes[i], e.splice
		switch {
		case n.Kind == yaml.ScalarNode:
			*n = *s.insert[0]
		case s.index+s.remove <= len(n.Content):
			n.Content = slices.Replace(n.Content, s.index, s.index+s.remove, s.insert...)
		default:
			return false
		}
	}
	return true
}

// Moved returns a function from positions in f to positions after edits.
func (f *File) Moved(edits []Edit, after *File) func(Pos) Pos {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, Edit.Compare)
	shifts := []int{0} // by number of preceding edits
	for i, e := range edits {
		shifts = append(shifts, shifts[i]+len(e.text)-(e.end-e.start))
	}
	return func(at Pos) Pos {
		f.pos(0)
		if at.Line < 1 || at.Line > len(f.lines) {
			return at
		}
		offset := f.lines[at.Line-1] + at.Column - 1
		n, _ := slices.BinarySearchFunc(edits, offset+1, func(e Edit, offset int) int { return cmp.Compare(e.start, offset) })
		if n > 0 && edits[n-1].end > offset {
			n, offset = n-1, edits[n-1].start
		}
		return after.pos(min(offset+shifts[n], len(after.Text)))
	}
}
