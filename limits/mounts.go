// SPDX-License-Identifier: Apache-2.0

package limits

import "bytes"

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
	eachLine(text, func(line []byte) bool {
		id, rest, ok := cut(line, ':')
		list, path, ok2 := cut(rest, ':')
		if !ok || !ok2 || len(path) == 0 || path[0] != '/' {
			return true
		}
		if string(id) == "0" && len(list) == 0 {
			h.path = string(path)
			return true
		}
		if controller == "" || hasToken(list, controller) {
			h = hierarchy{v1: true, path: string(path)}
			return false
		}
		return true
	})
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
func parseMounts(text []byte) []mount {
	var mounts []mount
	eachLine(text, func(line []byte) bool {
		var fields [5][]byte
		rest, ok := line, true
		for i := range fields {
			if fields[i], rest, ok = cut(rest, ' '); !ok {
				return true
			}
		}
		point := fields[4]
		for i := range mounts {
			if bytes.Equal(mounts[i].raw, point) {
				mounts = append(mounts[:i], mounts[i+1:]...)
				break
			}
		}
		i := bytes.Index(rest, []byte(" - cgroup"))
		if i < 0 {
			return true
		}
		fstype, rest, _ := cut(rest[i+len(" - "):], ' ')
		_, options, _ := cut(rest, ' ')
		v1 := string(fstype) == "cgroup"
		if !v1 && string(fstype) != "cgroup2" {
			return true
		}
		root, ok := unescape(fields[3])
		at, ok2 := unescape(point)
		if ok && ok2 && len(root) > 0 && root[0] == '/' && len(at) > 0 && at[0] == '/' {
			mounts = append(mounts, mount{root: root, point: at, v1: v1, options: options, raw: point})
		}
		return true
	})
	return mounts
}

// unescape undoes the kernel's octal escapes (seq_path: "\040" for a space).
// Anything else behind a backslash is not the kernel's.
func unescape(b []byte) (string, bool) {
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b), true
	}
	out := make([]byte, 0, len(b))
	for len(b) > 0 {
		if b[0] != '\\' {
			out, b = append(out, b[0]), b[1:]
			continue
		}
		if len(b) < 4 || b[1] < '0' || b[1] > '3' || b[2] < '0' || b[2] > '7' || b[3] < '0' || b[3] > '7' {
			return "", false
		}
		out, b = append(out, (b[1]-'0')<<6|(b[2]-'0')<<3|(b[3]-'0')), b[4:]
	}
	return string(out), true
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
func choose(mounts []mount, h hierarchy, controller string) (best mount, rest string, ok bool) {
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
