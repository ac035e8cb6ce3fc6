// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// In a cgroup namespace the kernel shows groups by their way from the namespace's root,
// which with cgroup v2 is mostly the agent's own container: "/../../kubepods.slice/...".
// A process in a group beside it has only the end of its path left, "/../../podUID/ID",
// which tells neither its class nor where its limits are. A view puts such ways into the
// node's tree again. See cgroup_namespaces(7).

// view is how one hierarchy is seen from another cgroup namespace than the node's.
type view struct {
	*cgroup.Mount
	// own is the namespace's root in the node's tree: "/kubepods/podUID"; "" = it was not
	// found.
	own string
}

// viewsOf are those hierarchies of a node's tree whose top is another group than the root of
// the own namespace: one above or beside that, or one below, which is mounted alone. There is
// none where the tree is no cgroup file system.
func viewsOf(tree fs.FS, tops []string) []view {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	type shown struct {
		mount *cgroup.Mount
		info  fs.FileInfo // of its point
	}
	var outside []shown
	var roots []fs.FileInfo // of the namespace, in each hierarchy that is mounted from there
	for _, m := range cgroup.Mounts(text) {
		switch info, err := os.Stat(m.Point); {
		case err != nil:
		case m.Root == "/":
			roots = append(roots, info)
		default:
			outside = append(outside, shown{m, info})
		}
	}
	var views []view
	for _, top := range tops {
		info, err := fs.Stat(tree, top)
		if err != nil {
			continue
		}
		i := slices.IndexFunc(outside, func(s shown) bool { return os.SameFile(info, s.info) })
		if i < 0 {
			continue
		}
		v := view{Mount: outside[i].mount}
		// Limits are those of CPU and memory; in other hierarchies nothing is looked up.
		if v.Above() > 0 && (!v.V1 || v.has("cpu") || v.has("memory")) {
			v.own = findGroup(tree, top, v.Above(), isOneOf(tree, roots))
			if v.own == "" {
				v.own = findGroup(tree, top, v.Above(), holds(tree, os.Getpid()))
			}
		}
		views = append(views, v)
	}
	return views
}

// leaves reports whether the tree's root is outside of the namespace's, which in the node's
// own namespace none is.
func (v *view) leaves() bool { return v.Root == "/.." || strings.HasPrefix(v.Root, "/../") }

// has reports whether a hierarchy of v1 has a controller.
func (v *view) has(controller string) bool { return cgroup.HasWord(v.Options, controller) }

// mostGroups are looked at to find one.
const mostGroups = 100_000

// findGroup is which group of a tree's hierarchy it is, among those so many levels below
// its top; "" = none.
func findGroup(tree fs.FS, top string, depth int, it func(name string) bool) string {
	found, seen := "", 0
	_ = fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups come and go
		}
		if seen++; seen > mostGroups {
			return fs.SkipAll
		}
		below := strings.TrimPrefix(name, top)
		switch level := strings.Count(below, "/"); {
		case level < depth:
			return nil
		case it(name):
			found = "/" + strings.TrimPrefix(below, "/")
			return fs.SkipAll
		}
		return fs.SkipDir
	})
	return found
}

// isOneOf tells whether a directory is one of those, wherever they are seen.
func isOneOf(tree fs.FS, those []fs.FileInfo) func(string) bool {
	return func(name string) bool {
		info, err := fs.Stat(tree, name)
		return err == nil && slices.ContainsFunc(those, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
	}
}

// holds tells whether a process is in a group.
func holds(tree fs.FS, pid int) func(string) bool {
	return func(name string) bool {
		text, err := fs.ReadFile(tree, path.Join(name, "cgroup.procs"))
		return err == nil && cgroup.Names(text, int64(pid))
	}
}

// inTree rewrites the text of a /proc/PID/cgroup, as the own namespace shows it, to what
// the node would show. What cannot be put into the node's tree stays as it is, and then
// is in no mount.
func inTree(text string, views []view) string {
	if len(views) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(line, ":")
		controllers, way, ok := strings.Cut(strings.TrimSuffix(rest, "\n"), ":")
		first, _, _ := strings.Cut(controllers, ",")
		i := slices.IndexFunc(views, func(v view) bool { return !v.V1 && controllers == "" || v.V1 && first != "" && v.has(first) })
		if !ok || i < 0 {
			b.WriteString(line)
			continue
		}
		b.WriteString(id + ":" + controllers + ":" + views[i].place(way) + "\n")
	}
	return b.String()
}

// place is where a way from the namespace's root leads to in the node's tree.
func (v *view) place(way string) string {
	rest, ok := cgroup.Below(way, v.Root)
	if !ok && v.own != "" {
		rest, ok = cgroup.Join(v.own, way)
	}
	switch {
	case !ok:
		return way // it is outside of the tree
	case rest == "":
		return "/"
	}
	return rest
}
