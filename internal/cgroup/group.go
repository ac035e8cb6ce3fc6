// SPDX-License-Identifier: Apache-2.0

package cgroup

// A Group is the cgroup of a process under one controller.
type Group struct {
	_    [0]func() // not comparable: no code for it
	V1   bool
	Path string // from /proc/PID/cgroup; "" if it has no line for the controller
}

// Find returns a controller's group for a process, from the text of /proc/PID/cgroup
// (cgroups(7)). Each line is
//
//	9:cpu,cpuacct:/docker/abc
//	(1)(2)        (3)
//
// (1) hierarchy, 0 for v2; (2) v1 controllers, empty for v2; (3) path, which may contain
// colons. A v1 line with the controller wins: then v2 does not have it. The controller "" finds
// v2's group. list holds the line's controllers, none on v2.
func Find(text []byte, controller string) (g Group, list []byte) {
	for len(text) > 0 {
		var line []byte
		line, text, _ = Cut(text, '\n')
		id, rest, _ := Cut(line, ':')
		words, path, _ := Cut(rest, ':')
		switch {
		case len(path) == 0 || path[0] != '/':
		case string(id) == "0" && len(words) == 0:
			g.Path = string(path)
		case HasWord(words, controller):
			return Group{V1: true, Path: string(path)}, words
		}
	}
	return g, nil
}

// Any reports whether the text of a /proc/PID/cgroup has any group.
func Any(text []byte) bool {
	for len(text) > 0 {
		var line []byte
		line, text, _ = Cut(text, '\n')
		_, rest, _ := Cut(line, ':')
		if _, path, _ := Cut(rest, ':'); len(path) > 0 && path[0] == '/' {
			return true
		}
	}
	return false
}

// HasWord reports whether a comma-separated list contains exactly this word.
func HasWord(list []byte, word string) bool {
	for len(list) > 0 {
		var w []byte
		w, list, _ = Cut(list, ',')
		if string(w) == word {
			return true
		}
	}
	return false
}

// Holds reports whether a group may hold a process, from the text of its cgroup.procs
// (cgroups(7)): the text lists the process, or is empty, or has a 0, which stands for a process
// of another PID namespace.
func Holds(procs []byte, pid int64) bool {
	if len(Trim(procs)) == 0 {
		return true
	}
	for len(procs) > 0 {
		var line []byte
		line, procs, _ = Cut(procs, '\n')
		if n, ok := Count(line); !ok || n == 0 || n == pid {
			return true
		}
	}
	return false
}

// Names reports whether the text of a cgroup.procs lists a process.
func Names(procs []byte, pid int64) bool {
	for len(procs) > 0 {
		var line []byte
		line, procs, _ = Cut(procs, '\n')
		if n, ok := Count(line); ok && n == pid {
			return true
		}
	}
	return false
}
