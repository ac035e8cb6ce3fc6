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

// Edit replaces a part of a file. It says twice what it does, to the text and to
// the tree of the document, so that Apply can tell whether the new text says just
// that. It holds no tree: those are large.
type Edit struct {
	change
	splice splice
	users  int // places of the document that take the node which changes
}

// change is what an edit does to a text.
type change struct {
	doc        *document
	start, end int
	text       string
}

// splice is what an edit does to the tree of its document: it replaces children of one
// node. Places and indices are those of the document as it was read, so they depend on
// no other edit.
type splice struct {
	at     *yaml.Node   // the place of the node, for tree.node
	index  int          // of the first child to remove, or before which to insert
	remove int          // number of children
	insert []*yaml.Node // new children; for a scalar, which has none, the one that replaces it
}

// tree is the tree of which edits of an object are made; nil where it cannot have any.
func (o *Object) tree() *tree {
	if o.Form == Unit || o.Form == EnvFile {
		return nil
	}
	return o.doc.tree()
}

// edit makes an edit of node n: the text from start to end becomes text, and s happens
// to the children; s.at is filled in. ok is false where no place of the document uses n.
func (t *tree) edit(n *yaml.Node, start, end int, text string, s splice) (Edit, bool) {
	s.at = spot(n)
	e := Edit{change{t.doc, start, end, text}, s, t.uses(n)}
	return e, e.users > 0
}

// Users is how many places of its document an edit changes, through aliases.
func (e Edit) Users() int { return e.users }

// Key is the same for edits that do the same, and can be compared.
func (e Edit) Key() any { return e.change }

// Replace gives a field another text, in its own style of quotes. ok is false
// where it cannot be done by exchanging a few characters: block scalars,
// anchors, tags, text over several lines.
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

// bare tells whether a text is a string without quotes, whoever reads it.
func bare(text string) bool {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9./_=-]*$`).MatchString(text) && isString(&yaml.Node{Kind: yaml.ScalarNode, Tag: resolved(text), Value: text})
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

// empty is the text behind the colon of a key whose value is null.
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

// insert writes a key behind the one whose value is a scalar of the same
// mapping, in the mapping's style.
func (t *tree) insert(in, behind *yaml.Node, key, value string) (Edit, bool) {
	i := slices.Index(in.Content, behind)
	start, end, ok := t.doc.scalar(behind)
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
	// Behind the line, and what may be a comment on it.
	if bytes.ContainsRune(text[line:begin], '\t') || end > last {
		return Edit{}, false
	}
	return t.edit(in, last, last, f.ending(begin)+strings.Repeat(" ", begin-line)+written, s)
}

// RemoveEnv takes a variable out of a container's list. ok is false where it is
// not a few lines of its own, or the only one, and where something takes its
// value: $(NAME) in a later variable, or in the container's arguments.
func (c *Container) RemoveEnv(e *Env) (Edit, bool) {
	t := c.Pod.Object.tree()
	if t == nil {
		return Edit{}, false
	}
	env, item, of := t.node(c.env), t.node(e.node), t.node(c.node)
	if env == nil || item == nil || of == nil || env.Style&yaml.FlowStyle != 0 || len(env.Content) < 2 || item.Kind != yaml.MappingNode || item.Style&yaml.FlowStyle != 0 {
		return Edit{}, false
	}
	i := slices.Index(env.Content, item)
	begin, ok := t.doc.offset(item)
	last, ok2 := t.doc.end(item)
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
	// Comments that are further in than the dash are of the item.
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

// Before tells whether an edit begins before another.
func (e Edit) Before(other Edit) bool { return e.start < other.start }

// Same tells whether two edits do the same.
func (e Edit) Same(other Edit) bool { return e.change == other.change }

var errEdit = errors.New("the text that was made does not say what it should")

// Apply makes edits, which must not overlap, and reads the result. It is an
// error when that says anything else than the file with these changes.
func (f *File) Apply(edits []Edit) (*File, error) {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.start, b.start) })
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

// check holds that a file is another one with edits, which are sorted: of each
// document that has any the tree, of the others the text.
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

// becomes tells whether a document is another one after edits, which are sorted.
func (d *document) becomes(made *document, edits []Edit) bool {
	old := d.grow()
	if old == nil || !old.splice(edits) {
		return false
	}
	root, err := parseYAML(made.text)
	return err == nil && same(old.root, root, map[[2]*yaml.Node]bool{})
}

// splice makes the edits, which are sorted, in a tree. ok is false where a node or its
// children are missing.
func (t *tree) splice(edits []Edit) (ok bool) {
	// A node is found by its place, so find all of them before any changes.
	nodes := make([]*yaml.Node, len(edits))
	for i := range edits {
		if nodes[i] = t.node(edits[i].splice.at); nodes[i] == nil {
			return false
		}
	}
	// Begin with the last, so that the indices of the others stay right.
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

// Moved tells where places of a file are after edits.
func (f *File) Moved(edits []Edit, after *File) func(Pos) Pos {
	edits = slices.Clone(edits)
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.start, b.start) })
	shifts := []int{0} // behind so many edits
	for i, e := range edits {
		shifts = append(shifts, shifts[i]+len(e.text)-(e.end-e.start))
	}
	return func(at Pos) Pos {
		f.pos(0)
		if at.Line < 1 || at.Line > len(f.lines) {
			return at
		}
		offset := f.lines[at.Line-1] + at.Column - 1
		n, _ := slices.BinarySearchFunc(edits, offset, func(e Edit, offset int) int {
			if e.start <= offset {
				return -1
			}
			return 1
		})
		if n > 0 && edits[n-1].end > offset {
			n, offset = n-1, edits[n-1].start
		}
		return after.pos(min(offset+shifts[n], len(after.Text)))
	}
}
