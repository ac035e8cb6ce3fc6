// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// In a cgroup namespace the kernel shows cgroups by their path from the namespace's root,
// which with cgroup v2 is usually the agent's own container: "/../../kubepods.slice/...".
// Of a process in a sibling group only the end of the path is left, "/../../podUID/ID", which
// shows neither the pod's class nor where its limits are. A view maps such paths to the node's
// tree. See cgroup_namespaces(7).

// view maps one hierarchy from the agent's cgroup namespace to the node's tree.
type view struct {
	*cgroup.Mount
	// own is the path of the namespace's root in the node's tree: "/kubepods/podUID"; "" = not
	// found.
	own string
}

// viewsOf returns views of the hierarchies of a node's tree whose top is not the root of the
// agent's namespace: it is above or beside it, or below and mounted on its own. It returns
// none if the tree is no cgroup file system.
func viewsOf(tree fs.FS, tops []string) []view {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	type shown struct {
		mount *cgroup.Mount
		info  fs.FileInfo // of its mount point
	}
	var outside []shown
	var roots []fs.FileInfo // of the namespace, in each hierarchy mounted from there
	mounts, _ := cgroup.Mounts(text)
	for _, m := range mounts {
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
		// Only the CPU and memory hierarchies have limits.
		if v.Above() > 0 && (!v.V1 || v.has("cpu") || v.has("memory")) {
			v.own = findGroup(tree, top, v.Above(), isAnyOf(tree, roots))
			if v.own == "" {
				v.own = findGroup(tree, top, v.Above(), containsPID(tree, os.Getpid()))
			}
		}
		views = append(views, v)
	}
	return views
}

// outside reports whether the tree's root is outside of the namespace's root. In the node's
// own namespace it never is.
func (v *view) outside() bool { return v.Root == "/.." || strings.HasPrefix(v.Root, "/../") }

// has reports whether a hierarchy of v1 has a controller.
func (v *view) has(controller string) bool { return cgroup.HasWord(v.Options, controller) }

// maxGroups bounds the search for a group.
const maxGroups = 100_000

// findGroup returns the first group exactly depth levels below the top of a hierarchy that
// matches; "" = none.
func findGroup(tree fs.FS, top string, depth int, matches func(name string) bool) string {
	found, seen := "", 0
	_ = fs.WalkDir(tree, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return nil // groups come and go
		}
		if seen++; seen > maxGroups {
			return fs.SkipAll
		}
		below := strings.TrimPrefix(name, top)
		switch level := strings.Count(below, "/"); {
		case level < depth:
			return nil
		case matches(name):
			found = "/" + strings.TrimPrefix(below, "/")
			return fs.SkipAll
		}
		return fs.SkipDir
	})
	return found
}

// isAnyOf returns a function that reports whether a directory is one of dirs, under any path.
func isAnyOf(tree fs.FS, dirs []fs.FileInfo) func(string) bool {
	return func(name string) bool {
		info, err := fs.Stat(tree, name)
		return err == nil && slices.ContainsFunc(dirs, func(one fs.FileInfo) bool { return os.SameFile(one, info) })
	}
}

// containsPID returns a function that reports whether a process is in a group.
func containsPID(tree fs.FS, pid int) func(string) bool {
	return func(name string) bool {
		text, err := fs.ReadFile(tree, path.Join(name, "cgroup.procs"))
		return err == nil && cgroup.Names(text, int64(pid))
	}
}

// inTree rewrites a /proc/PID/cgroup, as the agent's namespace shows it, to what the node would
// show. A path outside of the node's tree stays unchanged; it is in no mount.
func inTree(text string, views []view) string {
	if len(views) == 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		id, rest, _ := strings.Cut(line, ":")
		controllers, group, ok := strings.Cut(strings.TrimSuffix(rest, "\n"), ":")
		first, _, _ := strings.Cut(controllers, ",")
		i := slices.IndexFunc(views, func(v view) bool {
			return !v.V1 && controllers == "" || v.V1 && first != "" && v.has(first)
		})
		if !ok || i < 0 {
			b.WriteString(line)
			continue
		}
		b.WriteString(id + ":" + controllers + ":" + views[i].place(group) + "\n")
	}
	return b.String()
}

// place returns the path in the node's tree of a path from the namespace's root.
func (v *view) place(group string) string {
	rest, ok := cgroup.Below(group, v.Root)
	if !ok && v.own != "" {
		rest, ok = cgroup.Join(v.own, group)
	}
	switch {
	case !ok:
		return group // it is outside of the tree
	case rest == "":
		return "/"
	}
	return rest
}
