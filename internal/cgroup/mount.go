// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"strconv"
)

// A Mount is one line of mountinfo that shows a cgroup hierarchy.
type Mount struct {
	Root, Point  string
	V1           bool
	Options      []byte // super options: v1's controllers
	Major, Minor uint32 // st_dev of every directory in it
	raw          []byte // the mount point as it stands in the file
}

// Mounts lists the cgroup mounts in the text of /proc/PID/mountinfo
// (proc_pid_mountinfo(5)) that are not hidden by a later mount at the same
// point. What a later mount above hides is listed: only a look at its directories
// tells. Each line is
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	(1)(2)(3)  (4)   (5)   (6)        (7)     (8)(9)  (10)      (11)
//
// (3) device, (4) root of the mount within its file system, (5) mount point, (7)
// any number of optional fields, (8) separator, (9) type, (11) super options.
// Blanks within a field are escaped. A line that makes no sense is skipped,
// alone.
func Mounts(text []byte) []*Mount {
	var mounts []*Mount
	for len(text) > 0 {
		var rest, device, root, point []byte
		rest, text, _ = Cut(text, '\n')
		for range 3 {
			device, rest, _ = Cut(rest, ' ')
		}
		root, rest, _ = Cut(rest, ' ')
		point, rest, ok := Cut(rest, ' ')
		if !ok {
			continue
		}
		for i, m := range mounts {
			if bytes.Equal(m.raw, point) {
				mounts = append(mounts[:i], mounts[i+1:]...)
				break
			}
		}
		_, rest, ok = bytes.Cut(rest, []byte(" - cgroup"))
		version, rest, _ := Cut(rest, ' ')
		_, options, _ := Cut(rest, ' ')
		v1 := len(version) == 0
		if !ok || !v1 && string(version) != "2" {
			continue
		}
		m := &Mount{Root: Unescape(root), Point: Unescape(point), V1: v1, Options: options, raw: point}
		major, minor, _ := Cut(device, ':')
		if n, ok := Count(major); ok {
			m.Major = uint32(n)
		}
		if n, ok := Count(minor); ok {
			m.Minor = uint32(n)
		}
		if m.Root != "" && m.Point != "" {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// Unescape undoes the kernel's octal escapes (seq_path: "\040" for a space) in
// an absolute path. It is "" for any other path: not every backslash is the
// kernel's.
func Unescape(b []byte) string {
	var out []byte
	for len(b) > 0 {
		c, rest := b[0], b[1:]
		if c == '\\' {
			n, err := strconv.ParseUint(string(rest[:min(3, len(rest))]), 8, 8)
			if err != nil || len(rest) < 3 {
				return ""
			}
			c, rest = byte(n), rest[3:]
		}
		out, b = append(out, c), rest
	}
	if len(out) == 0 || out[0] != '/' {
		return ""
	}
	return string(out)
}

// Serves reports whether the mount shows the hierarchy in which a controller
// has a group.
func (m *Mount) Serves(g Group, controller string) bool {
	return m.V1 == g.V1 && (!m.V1 || HasWord(m.Options, controller))
}

// Above is how many levels the root of the mount is above that of the cgroup
// namespace it is looked at from ("/../.." is 2); 0 where it is not above it
// (cgroup_namespaces(7)).
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

// A Candidate is a mount that may show a group. Whether it does only a look at
// the group's directory tells.
type Candidate struct {
	*Mount
	// Rest is the group's path below the mount point: "" for the point itself,
	// else it starts with a slash.
	Rest string
	// Sought: Rest is not known. The group is below a directory that is as many levels
	// under the mount point as Above says, and that has to be found; see Join.
	Sought bool
}

// Candidates are the mounts that may show a group, those first that show the
// most of its ancestors, of equal ones the last.
func Candidates(mounts []*Mount, g Group, controller string) []Candidate {
	var all []Candidate
	for _, m := range mounts {
		if !m.Serves(g, controller) {
			continue
		}
		c := Candidate{Mount: m}
		var ok bool
		if c.Rest, ok = Below(g.Path, m.Root); !ok {
			if m.Above() == 0 || climbs(g.Path) >= m.Above() {
				continue
			}
			c.Sought = true
		}
		i := len(all)
		for i > 0 && !all[i-1].Before(&c) {
			i--
		}
		all = append(all, c)
		copy(all[i+1:], all[i:])
		all[i] = c
	}
	return all
}

// Before reports whether c shows more of the group's ancestors than another mount.
func (c *Candidate) Before(other *Candidate) bool {
	if c.Sought != other.Sought {
		return c.Sought
	}
	return len(c.Rest) > len(other.Rest)
}

// Below returns what is left of path under root, both cgroup paths, compared
// component by component: "" for root itself, else it starts with a slash.
// What climbs out again by ".." cannot be reached.
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
	return rest, climbs(rest) == 0
}

// climbs counts the ".." that a path starts with. The kernel writes none anywhere
// else.
func climbs(path string) int {
	n := 0
	for len(path) >= 3 && path[:3] == "/.." && (len(path) == 3 || path[3] == '/') {
		n, path = n+1, path[3:]
	}
	return n
}

// Join is where a path leads to that starts at a cgroup namespace's root, whose
// own path from some higher group is root: "/a/b" and "/../c" are "/a/c". It is
// false where the path leaves that higher group.
func Join(root, path string) (string, bool) {
	for n := climbs(path); n > 0; n-- {
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
