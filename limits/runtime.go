// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"strings"
)

// runtimeGroup is the directory in which the Go runtime since 1.25 looks for
// its CPU limit (internal/runtime/cgroup: parseCPUCgroup, parseCPUMount). It
// takes the first mount that fits, hidden or not, and gives up at the first line
// it does not understand, so that it may look elsewhere than we do, or nowhere.
func runtimeGroup(group, mountinfo []byte) (dir string, ok bool) {
	var at hierarchy
	good := true
	eachLine(group, func(line []byte) bool {
		id, rest, ok1 := cut(line, ':')
		list, path, ok2 := cut(rest, ':')
		if good = ok1 && ok2 && len(path) > 0 && path[0] == '/'; !good {
			return false
		}
		if string(id) == "0" {
			at = hierarchy{path: string(path)}
		} else if hasToken(list, "cpu") {
			at = hierarchy{v1: true, path: string(path)}
			return false
		}
		return true
	})
	if !good || at.path == "" {
		return "", false
	}
	fstype := " - cgroup2 "
	if at.v1 {
		fstype = " - cgroup "
	}
	eachLine(mountinfo, func(line []byte) bool {
		fields := bytes.SplitN(line, []byte(" "), 6)
		if good = len(fields) == 6 && len(fields[3]) > 0 && fields[3][0] == '/' && bytes.Contains(line, []byte(" - ")); !good {
			return false
		}
		_, after, matches := bytes.Cut(fields[5], []byte(fstype))
		_, options, _ := cut(after, ' ')
		if !matches || at.v1 && !hasToken(options, "cpu") {
			return true
		}
		root := unescape(fields[3])
		if good = root != ""; !good {
			return false
		}
		rest, inside := below(at.path, root)
		if !inside {
			return true
		}
		if point := unescape(fields[4]); point != "" {
			dir = strings.TrimSuffix(point, "/") + rest
		}
		return false
	})
	return dir, good && dir != ""
}
