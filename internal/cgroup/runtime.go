// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"strings"
)

// RuntimeDir returns the directory in which the Go runtime since 1.25 looks for its CPU limit
// (internal/runtime/cgroup: parseCPUCgroup, parseCPUMount), given the texts of its
// /proc/self/cgroup and /proc/self/mountinfo. The runtime takes the first mount that fits,
// hidden or not, and gives up at the first line it cannot parse. So it may look elsewhere than
// snug does, or nowhere ("").
func RuntimeDir(group, mountinfo []byte) (dir string, v1 bool) {
	var at Group
	for len(group) > 0 {
		var line []byte
		line, group, _ = Cut(group, '\n')
		id, rest, ok1 := Cut(line, ':')
		list, path, ok2 := Cut(rest, ':')
		if !ok1 || !ok2 || len(path) == 0 || path[0] != '/' {
			return "", false
		}
		if string(id) == "0" {
			at = Group{Path: string(path)}
		} else if HasWord(list, "cpu") {
			at = Group{V1: true, Path: string(path)}
			break
		}
	}
	if at.Path == "" {
		return "", false
	}
	fstype := " - cgroup2 "
	if at.V1 {
		fstype = " - cgroup "
	}
	for len(mountinfo) > 0 {
		var line []byte
		line, mountinfo, _ = Cut(mountinfo, '\n')
		fields := bytes.SplitN(line, []byte(" "), 6)
		if len(fields) != 6 || len(fields[3]) == 0 || fields[3][0] != '/' || !bytes.Contains(line, []byte(" - ")) {
			return "", false
		}
		_, after, matches := bytes.Cut(fields[5], []byte(fstype))
		_, options, _ := Cut(after, ' ')
		if !matches || at.V1 && !HasWord(options, "cpu") {
			continue
		}
		root := Unescape(fields[3])
		if root == "" {
			return "", false
		}
		rest, inside := Below(at.Path, root)
		if !inside {
			continue
		}
		point := Unescape(fields[4])
		if point == "" {
			return "", false
		}
		return strings.TrimSuffix(point, "/") + rest, at.V1
	}
	return "", false
}
