// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	pathpkg "path"
)

// RuntimeDir returns the directory in which the Go runtime looks for its CPU limit, given the
// texts of its /proc/self/cgroup and /proc/self/mountinfo. It may look elsewhere than snug does,
// or nowhere (""): it gives up at the first line that it cannot parse, and takes a mount whether
// or not another one hides it. Go 1.24 and earlier do not look. Two readers exist since
// (internal/runtime/cgroup: FindCPU):
//
//	Go 1.25        the first v1 mount with cpu, else the last cgroup2 mount, and below its
//	               mount point the group's whole path, whatever the root of the mount
//	               (golang/go#76390)
//	Go 1.26, 1.27  the first mount whose root is the group or above it, and below its mount
//	               point the rest of the path
//
// minor is 25 for the first; all other values are the second, the newest that is known.
func RuntimeDir(group, mountinfo []byte, minor int) (dir string, v1 bool) {
	joins := minor == 25
	path, found := "", false
	for len(group) > 0 && !v1 {
		line, rest, whole := Cut(group, '\n')
		id, after, ok1 := Cut(line, ':')
		list, at, ok2 := Cut(after, ':')
		if !whole || !ok1 || !ok2 || !joins && (len(at) == 0 || at[0] != '/') {
			return "", false
		}
		if v1 = string(id) != "0" && HasWord(list, "cpu"); v1 || string(id) == "0" {
			path, found = string(at), v1 || len(at) > 0
		}
		group = rest
	}
	if !found {
		return "", false
	}
	for len(mountinfo) > 0 {
		var line []byte
		line, mountinfo, _ = Cut(mountinfo, '\n')
		fields := bytes.SplitN(line, []byte(" "), 6)
		if len(fields) != 6 || !joins && (len(fields[3]) == 0 || fields[3][0] != '/') {
			return "", false
		}
		_, after, _ := bytes.Cut(fields[5], []byte(" - "))
		fstype, after, ok := Cut(after, ' ')
		if !ok {
			return "", false
		}
		cpu := false // a v1 mount with cpu
		switch old := string(fstype) == "cgroup"; {
		case old && (v1 || joins):
			_, options, ok := Cut(after, ' ')
			if !ok {
				return "", false
			}
			if cpu = HasWord(options, "cpu"); !cpu {
				continue
			}
		case string(fstype) != "cgroup2", v1 && !joins:
			continue
		}
		rest := path
		if !joins {
			root := Unescape(fields[3])
			if root == "" {
				return "", false
			}
			inside := false
			if rest, inside = Below(path, root); !inside {
				continue
			}
		}
		point := Unescape(fields[4])
		if point == "" {
			return "", false
		}
		dir = pathpkg.Clean(point + rest) // a group outside of the namespace begins with /..
		if !joins || cpu {
			break
		}
	}
	return dir, v1
}
