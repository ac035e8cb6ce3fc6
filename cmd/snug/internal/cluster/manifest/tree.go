// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
	"slices"
	"sort"

	"go.yaml.in/yaml/v3"
)

// tree is all of a document, read once more for edits.
type tree struct {
	doc      *document
	root     *yaml.Node
	aliased  bool                      // there are aliases
	parents  map[*yaml.Node]*yaml.Node // and those that are aliases of a node, when asked for
	aliases  map[*yaml.Node][]*yaml.Node
	users    map[*yaml.Node]int
	mentions map[*yaml.Node]*mentions
}

// grow reads a document; nil where that cannot be.
func (d *document) grow() *tree {
	if d.file.batch == nil {
		return nil
	}
	defer d.file.batch.enter(nodes(d.text))()
	root, err := parseYAML(d.text)
	if err != nil || root == nil {
		return nil
	}
	return &tree{doc: d, root: root, mentions: map[*yaml.Node]*mentions{}}
}

// tree is that of the document which was asked for last: rules go from object to
// object.
func (d *document) tree() *tree {
	b := d.file.batch
	if b == nil {
		return nil
	}
	if b.last == nil || b.last.doc != d {
		b.last = d.grow()
	}
	return b.last
}

// node is the node of a place: the outermost of its kind that begins there.
func (t *tree) node(at *yaml.Node) *yaml.Node {
	if at == nil {
		return nil
	}
	before := func(a *yaml.Node) bool { return a.Line < at.Line || a.Line == at.Line && a.Column <= at.Column }
	for n := t.root; n != nil; {
		if n.Kind == at.Kind && n.Line == at.Line && n.Column == at.Column {
			return n
		}
		// Children follow one another.
		i := sort.Search(len(n.Content), func(i int) bool { return !before(n.Content[i]) })
		if i == 0 {
			return nil
		}
		n = n.Content[i-1]
	}
	return nil
}

// manyUsers is more than can be counted.
const manyUsers = 1 << 20

// uses is how many places of the document take a node, through aliases: what is
// below a key x or x-... at the top is there for others only.
func (t *tree) uses(n *yaml.Node) int {
	if t.parents == nil {
		t.parents, t.aliases, t.users = map[*yaml.Node]*yaml.Node{}, map[*yaml.Node][]*yaml.Node{}, map[*yaml.Node]int{t.root: 1}
		t.link(t.root)
		if t.aliased && t.root.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(t.root.Content); i += 2 {
				if key := t.root.Content[i].Value; key == "x" || len(key) > 1 && key[:2] == "x-" {
					delete(t.parents, t.root.Content[i+1])
				}
			}
		}
	}
	if !t.aliased {
		return 1
	}
	return t.count(n)
}

func (t *tree) link(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
		t.aliased = true
		t.aliases[n.Alias] = append(t.aliases[n.Alias], n)
	}
	for _, c := range n.Content {
		t.parents[c] = n
		t.link(c)
	}
}

func (t *tree) count(n *yaml.Node) int {
	if known, ok := t.users[n]; ok {
		return known
	}
	t.users[n] = manyUsers // of what is in itself
	sum := 0
	if p := t.parents[n]; p != nil {
		sum = t.count(p)
	}
	for _, a := range t.aliases[n] {
		sum += t.count(a)
	}
	t.users[n] = min(sum, manyUsers)
	return t.users[n]
}

// mentions are the variables that a container's other texts take.
type mentions struct {
	env   map[string][]int // in which items of env, from 0
	other map[string]bool
	left  int // of nodes that are looked at
}

// mention is how a variable is taken: by Kubernetes as $(NAME), by shells as
// $NAME and ${NAME}.
var mention = regexp.MustCompile(`\$[({]?([A-Z]+)`)

// mentioned are the variables that texts of a container take, but for the names
// of variables.
func (t *tree) mentioned(container, env *yaml.Node) *mentions {
	if m := t.mentions[container]; m != nil {
		return m
	}
	m := &mentions{map[string][]int{}, map[string]bool{}, maxVisits}
	t.mentions[container] = m
	for i := 0; i+1 < len(container.Content); i += 2 {
		value := container.Content[i+1]
		if value != env {
			m.walk(value, func(name string) { m.other[name] = true })
			continue
		}
		for i, item := range env.Content {
			m.walk(item, func(name string) {
				if at := m.env[name]; len(at) == 0 || at[len(at)-1] != i {
					m.env[name] = append(at, i)
				}
			})
		}
	}
	return m
}

func (m *mentions) walk(n *yaml.Node, note func(string)) {
	if n = follow(n); n == nil || m.left <= 0 {
		return
	}
	m.left--
	if n.Kind == yaml.ScalarNode {
		for _, found := range mention.FindAllStringSubmatch(n.Value, -1) {
			note(found[1])
		}
	}
	for _, c := range n.Content {
		m.walk(c, note)
	}
}

// needed tells whether something takes a variable from the item i of env: the
// value that it has up to the next item of that name.
func (t *tree) needed(container, env *yaml.Node, i int) bool {
	w := walker{doc: t.doc, left: maxVisits}
	name := text(w.get(env.Content[i], "name"))
	m := t.mentioned(container, env)
	if m.left <= 0 {
		return true
	}
	next := i + 1
	for next < len(env.Content) && text(w.get(env.Content[next], "name")) != name && w.left > 0 {
		next++
	}
	last := next == len(env.Content)
	at := m.env[name]
	after := sort.SearchInts(at, i+1)
	return after < len(at) && at[after] <= next || last && m.other[name]
}

// anchored tells whether something may refer to a part of a tree.
func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, anchored)
}

// same tells whether trees mean the same; their aliases have to be in the same
// places. seen are pairs of anchored nodes that have been compared.
func same(a, b *yaml.Node, seen map[[2]*yaml.Node]bool) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Content) != len(b.Content) || (a.Anchor == "") != (b.Anchor == "") {
		return false
	}
	if a.Kind == yaml.AliasNode {
		return same(a.Alias, b.Alias, seen)
	}
	if a.Anchor != "" {
		if pair := [2]*yaml.Node{a, b}; seen[pair] {
			return true
		} else {
			seen[pair] = true
		}
	}
	if a.Kind == yaml.ScalarNode && (a.Value != b.Value || isString(a) != isString(b)) {
		return false
	}
	for i := range a.Content {
		if !same(a.Content[i], b.Content[i], seen) {
			return false
		}
	}
	return true
}
