// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"strconv"
)

// A hierarchy is where one controller of one process lives.
type hierarchy struct {
	v1   bool
	path string // the process's cgroup, from /proc/PID/cgroup; "" when there is no line for it
}

// findGroup finds the cgroup a controller has for a process in the text of
// /proc/PID/cgroup (cgroups(7)). Each line is
//
//	9:cpu,cpuacct:/docker/abc
//	(1)(2)        (3)
//
// (1) hierarchy, 0 for v2; (2) v1 controllers, empty for v2; (3) path, which may
// hold colons. A v1 line with the controller wins: then v2 does not have it. An
// empty controller finds any line.
func findGroup(text []byte, controller string) hierarchy {
	var h hierarchy
	for len(text) > 0 {
		var line []byte
		line, text, _ = cut(text, '\n')
		id, rest, _ := cut(line, ':')
		list, path, _ := cut(rest, ':')
		switch {
		case len(path) == 0 || path[0] != '/':
		case string(id) == "0" && len(list) == 0:
			h.path = string(path)
		case controller == "" || hasToken(list, controller):
			return hierarchy{v1: true, path: string(path)}
		}
	}
	return h
}

// hasToken reports whether a comma-separated list has exactly this word.
func hasToken(list []byte, word string) bool {
	for len(list) > 0 {
		var w []byte
		w, list, _ = cut(list, ',')
		if string(w) == word {
			return true
		}
	}
	return false
}

// A mount is one line of mountinfo that shows a cgroup hierarchy.
type mount struct {
	root, point string
	v1          bool
	options     []byte // super options: v1's controllers
	raw         []byte // the mount point as it stands in the file
}

// parseMounts lists the cgroup mounts in the text of /proc/PID/mountinfo
// (proc_pid_mountinfo(5)) that are not hidden by a later mount at the same
// point. Each line is
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	(1)(2)(3)  (4)   (5)   (6)        (7)     (8)(9)  (10)      (11)
//
// (4) root of the mount within its file system, (5) mount point, (7) any number
// of optional fields, (8) separator, (9) type, (11) super options. Blanks within
// a field are escaped. A line that makes no sense is skipped, alone.
func parseMounts(text []byte) []*mount {
	var mounts []*mount
	for len(text) > 0 {
		var rest, root, point []byte
		rest, text, _ = cut(text, '\n')
		for range 3 {
			_, rest, _ = cut(rest, ' ')
		}
		root, rest, _ = cut(rest, ' ')
		point, rest, ok := cut(rest, ' ')
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
		version, rest, _ := cut(rest, ' ')
		_, options, _ := cut(rest, ' ')
		v1 := len(version) == 0
		if !ok || !v1 && string(version) != "2" {
			continue
		}
		m := &mount{root: unescape(root), point: unescape(point), v1: v1, options: options, raw: point}
		if m.root != "" && m.point != "" {
			mounts = append(mounts, m)
		}
	}
	return mounts
}

// unescape undoes the kernel's octal escapes (seq_path: "\040" for a space) in
// an absolute path. It is "" for any other path: not every backslash is the
// kernel's.
func unescape(b []byte) string {
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

// below returns what is left of path under root, both cgroup paths, compared
// component by component: "" for root itself, else it starts with a slash.
// What climbs out again by ".." cannot be reached.
func below(path, root string) (string, bool) {
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
	return rest, rest != "/.." && (len(rest) < 4 || rest[:4] != "/../")
}

// choose picks the mount that shows the process's group in a hierarchy and the
// most of its ancestors; of equal ones the last. rest is the group's path
// below the mount point.
func choose(mounts []*mount, h hierarchy, controller string) (best *mount, rest string, ok bool) {
	for _, m := range mounts {
		if m.v1 != h.v1 || m.v1 && !hasToken(m.options, controller) {
			continue
		}
		if r, reachable := below(h.path, m.root); reachable && (!ok || len(r) >= len(rest)) {
			best, rest, ok = m, r, true
		}
	}
	return best, rest, ok
}
