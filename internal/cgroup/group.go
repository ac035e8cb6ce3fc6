// SPDX-License-Identifier: Apache-2.0

package cgroup

// A Group is where a controller has a process.
type Group struct {
	V1   bool
	Path string // from /proc/PID/cgroup; "" when there is no line for the controller
}

// Find finds the group a controller has for a process in the text of
// /proc/PID/cgroup (cgroups(7)). Each line is
//
//	9:cpu,cpuacct:/docker/abc
//	(1)(2)        (3)
//
// (1) hierarchy, 0 for v2; (2) v1 controllers, empty for v2; (3) path, which may
// hold colons. A v1 line with the controller wins: then v2 does not have it. No
// controller ("") finds v2's. list is the controllers of the line, none on v2.
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

// Any reports whether the text of a /proc/PID/cgroup names any group.
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

// HasWord reports whether a comma-separated list has exactly this word.
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

// Holds reports whether the text of a cgroup.procs (cgroups(7)) may name a
// process: it does, or it has a 0, which stands for processes of other PID
// namespaces, or it is empty.
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

// Names reports whether the text of a cgroup.procs names a process.
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
