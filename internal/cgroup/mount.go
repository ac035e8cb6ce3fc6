// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"strconv"
)

// A Mount is a line of mountinfo for a cgroup hierarchy.
type Mount struct {
	Root, Point  string
	V1           bool
	Options      []byte // super options: v1's controllers
	Major, Minor uint32 // st_dev of every directory in it
	table        []line // all mounts of the file
	at           int    // its own index in table
}

// A line of mountinfo, of any file system.
type line struct {
	id, parent uint32
	point      []byte // as written in the file
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
func Mounts(text []byte) []*Mount {
	var all []*Mount
	table := make([]line, 0, 1+bytes.Count(text, []byte{'\n'}))
	for len(text) > 0 {
		var rest, id, parent, device, root, point []byte
		rest, text, _ = Cut(text, '\n')
		id, rest, _ = Cut(rest, ' ')
		parent, rest, _ = Cut(rest, ' ')
		device, rest, _ = Cut(rest, ' ')
		root, rest, _ = Cut(rest, ' ')
		point, rest, _ = Cut(rest, ' ')
		_, rest, _ = bytes.Cut(rest, []byte(" - "))
		kind, rest, ok := Cut(rest, ' ')
		if !ok {
			continue
		}
		table = append(table, line{number(id), number(parent), point})
		_, options, _ := Cut(rest, ' ')
		v1 := string(kind) == "cgroup"
		if !v1 && string(kind) != "cgroup2" {
			continue
		}
		m := &Mount{Root: Unescape(root), Point: Unescape(point), V1: v1, Options: options, at: len(table) - 1}
		major, minor, _ := Cut(device, ':')
		m.Major, m.Minor = number(major), number(minor)
		if m.Root != "" && m.Point != "" {
			all = append(all, m)
		}
	}
	mounts := all[:0]
	for _, m := range all {
		if m.table = table; !m.replaced() {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// number parses a number; it returns 0 if there is none.
func number(b []byte) uint32 {
	n, _ := Count(b)
	return uint32(n)
}

// replaced reports whether another mount is at the very place of this one: mounted right on it,
// or reached there.
func (m *Mount) replaced() bool {
	own := &m.table[m.at]
	for i := range m.table {
		if l := &m.table[i]; l.parent == own.id && i != m.at && bytes.Equal(l.point, own.point) {
			return true
		}
	}
	shown := m.Shows(m.Point)
	for i := len(m.table) - 1; i >= 0 && (i > m.at || !shown); i-- {
		other := Mount{table: m.table, at: i}
		if i != m.at && bytes.Equal(m.table[i].point, own.point) && other.Shows(m.Point) {
			return true
		}
	}
	return false
}

// Shows reports whether the path to a directory at or below the mount point leads into this
// mount, rather than into one that covers it. A mount covers this one if it is mounted on it, or
// on one of its parents, at a point on the path. A mount on the root covers nothing, because
// every path starts below it (path_resolution(7)). Of two mounts listed at the same place the
// later one is on top.
func (m *Mount) Shows(dir string) bool {
	from := -1                       // the mount through which the path reaches m
	at, id := m.at, m.table[m.at].id // the parent of from, at first m; -1 if not listed
	for range m.table {              // bounded: a file may list a cycle of mounts
		for i := range m.table {
			l := &m.table[i]
			if l.parent != id || l.id == id || i == from || len(l.point) < 2 {
				continue
			}
			if from < 0 {
				if covers(l.point, dir) {
					return false
				}
				continue
			}
			before, after, _ := bytes.Cut(m.table[from].point, l.point)
			if len(before) == 0 && (len(after) == 0 && i > from || len(after) > 0 && after[0] == '/') {
				return false
			}
		}
		if at < 0 {
			break
		}
		from, id = at, m.table[at].parent
		for at = len(m.table) - 1; at >= 0 && m.table[at].id != id; at-- {
		}
		if at == from {
			break
		}
	}
	return true
}

// covers reports whether a mount point, in mountinfo's form, is a path or a parent of it.
func covers(point []byte, path string) bool {
	for len(point) > 0 {
		var c byte
		if c, point = char(point); path == "" || path[0] != c {
			return false
		}
		path = path[1:]
	}
	return path == "" || path[0] == '/'
}

// Unescape decodes the kernel's octal escapes (seq_path: "\040" for a space) in an absolute
// path. It returns "" for any other path, because not every backslash is the kernel's.
func Unescape(b []byte) string {
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		var c byte
		if c, b = char(b); c == 0 {
			return ""
		}
		out = append(out, c)
	}
	if len(out) == 0 || out[0] != '/' {
		return ""
	}
	return string(out)
}

// char returns the first character, which may be escaped, and the rest. It returns 0, which no
// path contains, for a malformed escape.
//
//go:noinline
func char(b []byte) (c byte, rest []byte) {
	c, rest = b[0], b[1:]
	if c == '\\' {
		n, err := strconv.ParseUint(string(rest[:min(3, len(rest))]), 8, 8)
		if err != nil || len(rest) < 3 {
			return 0, nil
		}
		c, rest = byte(n), rest[3:]
	}
	return c, rest
}

// Serves reports whether the mount shows the hierarchy in which a controller has a group.
func (m *Mount) Serves(g Group, controller string) bool {
	return m.V1 == g.V1 && (!m.V1 || HasWord(m.Options, controller))
}

// Above returns how many levels the mount's root is above the root of the reader's cgroup
// namespace ("/../.." is 2), or 0 if it is not above it (cgroup_namespaces(7)).
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
	for _, m := range mounts {
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
		for i > 0 && all[i-1].Levels <= c.Levels {
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
	i := len(path) - 1
	for i > 0 && path[i] != '/' {
		i--
	}
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
		i := len(root) - 1
		for i >= 0 && root[i] != '/' {
			i--
		}
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
