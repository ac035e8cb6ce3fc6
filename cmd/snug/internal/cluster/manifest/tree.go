// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"regexp"
	"slices"
	"sort"

	"go.yaml.in/yaml/v3"
)

// tree is a whole document, parsed again for edits.
type tree struct {
	doc      *document
	root     *yaml.Node
	aliased  bool                      // there are aliases
	parents  map[*yaml.Node]*yaml.Node // this and the next maps are computed on demand
	aliases  map[*yaml.Node][]*yaml.Node
	users    map[*yaml.Node]int
	mentions map[*yaml.Node]*mentions
}

// grow parses a document; nil if that fails.
func (d *document) grow() *tree {
	if d.file.batch == nil {
		return nil
	}
	defer d.file.batch.enter(nodes(d.text))()
	root, err := parseYAML(d.text)
	if err != nil || root == nil {
		return nil
	}
	return &tree{doc: d, root: root, aliased: aliased(root), mentions: map[*yaml.Node]*mentions{}}
}

// tree returns the tree of the document. It keeps only the last one, because rules go from object to
// object.
func (d *document) tree() *tree {
	b := d.file.batch
	if b == nil || b.Light && d.nodes > lightNodes {
		return nil
	}
	if b.last == nil || b.last.doc != d {
		b.last = d.grow()
	}
	return b.last
}

// node returns the node at a position: the outermost of its kind that begins there.
func (t *tree) node(at *yaml.Node) *yaml.Node {
	if at == nil {
		return nil
	}
	before := func(a *yaml.Node) bool { return a.Line < at.Line || a.Line == at.Line && a.Column <= at.Column }
	for n := t.root; n != nil; {
		if n.Kind == at.Kind && n.Line == at.Line && n.Column == at.Column {
			return n
		}
		// Children are in order.
		i := sort.Search(len(n.Content), func(i int) bool { return !before(n.Content[i]) })
		if i == 0 {
			return nil
		}
		n = n.Content[i-1]
	}
	return nil
}

// manyUsers bounds a count of users.
const manyUsers = 1 << 20

// uses returns how many places of the document use a node, through aliases. A node below a top-level
// key x or x-... counts only where an alias uses it.
func (t *tree) uses(n *yaml.Node) int {
	if !t.aliased {
		return 1
	}
	if t.parents == nil {
		t.parents, t.aliases = map[*yaml.Node]*yaml.Node{}, map[*yaml.Node][]*yaml.Node{}
		t.users = map[*yaml.Node]int{t.root: 1}
		t.link(t.root)
		if t.root.Kind == yaml.MappingNode {
			for i := 0; i+1 < len(t.root.Content); i += 2 {
				if key := t.root.Content[i].Value; key == "x" || len(key) > 1 && key[:2] == "x-" {
					delete(t.parents, t.root.Content[i+1])
				}
			}
		}
	}
	return t.count(n)
}

// aliased reports whether there are aliases.
func aliased(n *yaml.Node) bool {
	return n.Kind == yaml.AliasNode || slices.ContainsFunc(n.Content, aliased)
}

func (t *tree) link(n *yaml.Node) {
	if n.Kind == yaml.AliasNode {
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
	t.users[n] = manyUsers // for a node inside itself
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

// mentions holds the variables that texts of a container use.
type mentions struct {
	env   map[string][]int // items of env that use a variable, from 0
	other map[string]bool  // used outside env
	left  int              // nodes left to visit
}

// mention matches the use of a variable: $(NAME) in Kubernetes, $NAME and ${NAME} in shells.
var mention = regexp.MustCompile(`\$[({]?([A-Z]+)`)

// mentioned returns the variables that texts of a container use.
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

// needed reports whether something uses the variable of item i of env, with the value that it has up
// to the next item of the same name.
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

// anchored reports whether a tree has an anchor.
func anchored(n *yaml.Node) bool {
	return n.Anchor != "" || slices.ContainsFunc(n.Content, anchored)
}

// same reports whether trees mean the same, with aliases in the same places. seen holds the pairs of
// anchored nodes compared so far.
func same(a, b *yaml.Node, seen map[[2]*yaml.Node]bool) bool {
	if a == nil || b == nil || a.Kind != b.Kind || len(a.Content) != len(b.Content) {
		return false
	}
	if (a.Anchor == "") != (b.Anchor == "") {
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
