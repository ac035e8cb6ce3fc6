// SPDX-License-Identifier: Apache-2.0

package cgroup

import "bytes"

// A Mount is a line of mountinfo for a cgroup hierarchy.
type Mount struct {
	Root, Point  string
	V1           bool
	Options      []byte // super options: v1's controllers
	Major, Minor uint32 // st_dev of every directory in it
	table        *table
	at           int // its own index in table
}

// A table holds all lines of a mountinfo file. Each is in three lists, so that a search does not
// visit all lines: by its ID, by its point, and by its point and its parent.
type table struct {
	lines []line
	first []int32 // 1 + the last line of each list: a list of each kind for each line, by hash
}

const (
	byID = iota
	byPoint
	byPlace
	kinds
)

// A line of mountinfo, of any file system.
type line struct {
	id, parent uint32
	point      []byte
	next       [kinds]int32 // 1 + the line before it in each list
}

// Mounts lists the cgroup mounts in the text of /proc/PID/mountinfo (proc_pid_mountinfo(5)),
// except those replaced by another mount at the same place. Mounts hidden by one further up are
// listed: see Shows. Each line is
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	(1)(2)(3)  (4)   (5)   (6)        (7)     (8)(9)  (10)      (11)
//
// (1) mount ID, (2) ID of the mount it is on, (3) device, (4) root of the mount within its file
// system, (5) mount point, (7) any number of optional fields, (8) separator, (9) type, (11)
// super options. Blanks within a field are escaped. A malformed line is skipped. The text must
// not be changed afterwards.
//
// lxcfs reports whether lxcfs provides /proc/meminfo: it shows the container's memory, not the
// machine's (lxcfs(1)).
func Mounts(text []byte) (mounts []*Mount, lxcfs bool) {
	var all []*Mount
	n := 1 + bytes.Count(text, []byte{'\n'})
	t := &table{make([]line, 0, n), make([]int32, kinds*n)}
	var over *Mount // meminfo
	for len(text) > 0 {
		var rest []byte
		var field [5][]byte
		rest, text, _ = Cut(text, '\n')
		for i := range field {
			field[i], rest, _ = Cut(rest, ' ')
		}
		_, rest, _ = bytes.Cut(rest, []byte(" - "))
		kind, rest, ok := Cut(rest, ' ')
		if !ok {
			continue
		}
		point := decode(field[4])
		t.lines = append(t.lines, line{id: number(field[0]), parent: number(field[1]), point: point})
		t.link(len(t.lines))
		lx := string(kind) == "fuse.lxcfs" && string(point) == HostMemory
		v1 := string(kind) == "cgroup"
		if !v1 && string(kind) != "cgroup2" && !lx {
			continue
		}
		_, options, _ := Cut(rest, ' ')
		m := &Mount{Root: string(decode(field[3])), Point: string(point), V1: v1, Options: options, table: t,
			at: len(t.lines) - 1}
		major, minor, _ := Cut(field[2], ':')
		m.Major, m.Minor = number(major), number(minor)
		if lx {
			over = m
		} else if m.Root != "" && m.Point != "" {
			all = append(all, m)
		}
	}
	mounts = all[:0]
	for _, m := range all {
		if !m.replaced() {
			mounts = append(mounts, m)
		}
	}
	return mounts, over != nil && !over.replaced() && over.Shows(HostMemory)
}

// link adds a line, counted from 1, to its lists.
func (t *table) link(at int) {
	l := &t.lines[at-1]
	for kind := range l.next {
		n, key := l.parent, l.point
		switch kind {
		case byID:
			n, key = l.id, nil
		case byPoint:
			n = 0
		}
		first := t.list(kind, hash(n, key))
		l.next[kind], *first = *first, int32(at)
	}
}

func (t *table) list(kind int, h uint32) *int32 {
	n := len(t.first) / kinds
	return &t.first[kind*n+int(h%uint32(n))]
}

// find returns the last line with a key of a kind before the line after, or of all if that is -1. It
// returns -1 if there is none. h is the key's hash, n its ID or parent.
//
//go:noinline
func (t *table) find(kind int, h, n uint32, point []byte, after int) int {
	next := t.list(kind, h)
	if after >= 0 {
		next = &t.lines[after].next[kind]
	}
	for *next > 0 {
		i := int(*next) - 1
		l := &t.lines[i]
		if kind == byID && l.id == n || kind != byID && (kind == byPoint || l.parent == n) && bytes.Equal(l.point, point) {
			return i
		}
		next = &l.next[kind]
	}
	return -1
}

// hash returns the hash of a key (FNV-1a).
//
//go:noinline
func hash(n uint32, point []byte) uint32 {
	h := (hashStart ^ n) * hashPrime
	for _, c := range point {
		h = (h ^ uint32(c)) * hashPrime
	}
	return h
}

const (
	hashStart = 2166136261
	hashPrime = 16777619
)

// number parses a number; it returns 0 if there is none.
func number(b []byte) uint32 {
	n, _ := Count(b)
	return uint32(n)
}

// replaced reports whether another mount is at the very place of this one: mounted right on it,
// or reached there.
func (m *Mount) replaced() bool {
	t := m.table
	own := &t.lines[m.at]
	for i, h := -1, hash(own.id, own.point); ; {
		if i = t.find(byPlace, h, own.id, own.point, i); i < 0 {
			break
		}
		if i != m.at {
			return true
		}
	}
	shown := t.shows(m.at, own.point)
	for i, h := -1, hash(0, own.point); ; {
		if i = t.find(byPoint, h, 0, own.point, i); i < 0 {
			return false
		}
		if i != m.at && (i > m.at || !shown) && t.shows(i, own.point) {
			return true
		}
	}
}

// Shows reports whether the path to a directory at or below the mount point leads into this
// mount, rather than into one that covers it. A mount covers this one if it is mounted on it, or
// on one of its parents, at a point on the path. A mount on the root covers nothing, because
// every path starts below it (path_resolution(7)). Of two mounts listed at the same place the
// later one is on top.
func (m *Mount) Shows(dir string) bool { return m.table.shows(m.at, []byte(dir)) }

func (t *table) shows(at int, dir []byte) bool {
	from, id := -1, t.lines[at].id // the mount through which the path reaches at, and the ID of at
	for range t.lines {            // bounded: a file may list a cycle of mounts
		// What is mounted on id, other than from, at a point on the way to dir covers it; at dir itself it
		// must be listed after from, if that is one.
		h := hash(id, nil)
		for n, c := range dir {
			n++
			if h = (h ^ uint32(c)) * hashPrime; n == 1 || n < len(dir) && dir[n] != '/' {
				continue
			}
			for i := t.find(byPlace, h, id, dir[:n], -1); i >= 0 &&
				(n < len(dir) || i > from); i = t.find(byPlace, h, id, dir[:n], i) {
				if t.lines[i].id != id && i != from {
					return false
				}
			}
		}
		if at < 0 { // not listed
			break
		}
		from = at
		dir, id = t.lines[from].point, t.lines[from].parent
		if at = t.find(byID, hash(id, nil), id, nil, -1); at == from {
			break
		}
	}
	return true
}

// Unescape decodes the kernel's octal escapes (seq_path: "\040" for a space) in an absolute
// path. It returns "" for any other path, because not every backslash is the kernel's.
func Unescape(b []byte) string { return string(decode(b)) }

// decode is Unescape without a copy, if nothing is escaped.
func decode(b []byte) []byte {
	if bytes.IndexByte(b, '\\') >= 0 {
		b = bytes.Clone(b)
	}
	n := 0
	for i := 0; i < len(b); i, n = i+1, n+1 {
		c := int(b[i])
		if c == 0 { // in no path
			return nil
		}
		if c != '\\' {
			b[n] = byte(c)
			continue
		}
		c = 0
		for range 3 {
			if i++; i >= len(b) || b[i] < '0' || b[i] > '7' {
				return nil
			}
			c = c<<3 | int(b[i]-'0')
		}
		if b[n] = byte(c); c == 0 || c > 0xff {
			return nil
		}
	}
	if n == 0 || b[0] != '/' {
		return nil
	}
	return b[:n]
}

// Serves reports whether the mount shows the hierarchy in which a controller has a group.
//
//go:noinline
func (m *Mount) Serves(g Group, controller string) bool {
	return m.V1 == g.V1 && (!m.V1 || HasWord(m.Options, controller))
}

// Above returns how many levels the mount's root is above the root of the reader's cgroup
// namespace ("/../.." is 2), or 0 if it is not above it (cgroup_namespaces(7)).
//
//go:noinline
func (m *Mount) Above() int {
	n := 0
	for rest := m.Root; rest != ""; rest = rest[3:] {
		if len(rest) < 3 || rest[:3] != "/.." || len(rest) > 3 && rest[3] != '/' {
			return 0
		}
		n++
	}
	return n
}

// A Candidate is a mount that may show a group.
type Candidate struct {
	_ [0]func() // not comparable: no code for it
	*Mount
	// Rest is the group's path below the mount point: "" for the point itself, otherwise
	// starting with a slash.
	Rest string
	// Sought: Rest is unknown. The group is below a directory Above levels under the mount
	// point, which must be searched for; see Join.
	Sought bool
	// Levels is the number of groups the mount shows: the group, and its ancestors up to the
	// root of the mount.
	Levels int
}

// Candidates lists the mounts that may show a group, those that show most of its ancestors
// first, and of equal ones the last first. Only looking at the directories shows which do.
func Candidates(mounts []*Mount, g Group, controller string) []Candidate {
	var all []Candidate
	for k := len(mounts) - 1; k >= 0; k-- {
		m := mounts[k]
		if !m.Serves(g, controller) {
			continue
		}
		c := Candidate{Mount: m}
		var ok bool
		if c.Rest, ok = Below(g.Path, m.Root); ok {
			c.Levels = 1 + levels(c.Rest)
		} else {
			n := LeadingDotDots(g.Path)
			if m.Above() <= n {
				continue
			}
			c.Sought, c.Levels = true, 1+levels(g.Path[3*n:])+m.Above()-n
		}
		i := len(all)
		for i > 0 && all[i-1].Levels < c.Levels {
			i--
		}
		all = append(all, c)
		copy(all[i+1:], all[i:])
		all[i] = c
	}
	return all
}

// levels counts the names in a path.
func levels(path string) (n int) {
	for i := 1; i < len(path); i++ {
		if path[i-1] == '/' {
			n++
		}
	}
	return n
}

// Slash returns the index of the last slash, -1 if there is none.
//
//go:noinline
func Slash(path string) int {
	i := len(path) - 1
	for i >= 0 && path[i] != '/' {
		i--
	}
	return i
}

// Below returns the rest of a cgroup path below root, compared component by component: "" for
// root itself, otherwise starting with a slash. A path that leaves root through ".." is not
// below it.
func Below(path, root string) (string, bool) {
	if root == "/" {
		root = ""
	}
	if len(path) < len(root) || path[:len(root)] != root {
		return "", false
	}
	rest := path[len(root):]
	if rest == "/" {
		rest = ""
	}
	if rest != "" && rest[0] != '/' {
		return "", false
	}
	return rest, LeadingDotDots(rest) == 0
}

// LeadingDotDots returns the number of ".." a path starts with. The kernel writes none elsewhere.
//
//go:noinline
func LeadingDotDots(path string) int {
	n := 0
	for len(path) >= 3 && path[:3] == "/.." && (len(path) == 3 || path[3] == '/') {
		n, path = n+1, path[3:]
	}
	return n
}

// Up returns the path of a group's parent: "/" is above "/a", and "/.." above that.
//
//go:noinline
func Up(path string) string {
	i := Slash(path)
	switch {
	case path == "/":
		return "/.."
	case path[i:] == "/..":
		return path + "/.."
	case i == 0:
		return "/"
	}
	return path[:i]
}

// Join resolves a path that starts at a cgroup namespace's root, whose path from some higher
// group is root: "/a/b" and "/../c" give "/a/c". It returns false if the path leaves that
// higher group.
func Join(root, path string) (string, bool) {
	for n := LeadingDotDots(path); n > 0; n-- {
		i := Slash(root)
		if i < 0 {
			return "", false
		}
		root, path = root[:i], path[3:]
	}
	if path == "/" {
		path = ""
	}
	return root + path, true
}
