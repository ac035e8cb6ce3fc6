// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// A hierarchy is one cgroup tree as a process sees it.
type hierarchy struct {
	v1          bool
	controllers []string // on v1, those mounted together; nil on v2
	mount       string   // mount point
	root        string   // the group mounted there
	path        string   // the process's group, as in /proc/PID/cgroup
	countsOnly  bool     // needed for its counters, not for a limit
}

// dir returns the directory of the process's group.
func (h hierarchy) dir() string {
	rel, _ := cgroup.Below(h.path, h.root)
	return path.Join(h.mount, rel)
}

// levels returns the directories from the process's group up to the mount point:
// all visible ancestors.
func (h hierarchy) levels() []string {
	list := []string{h.dir()}
	for d := h.dir(); d != h.mount && d != "/"; {
		d = path.Dir(d)
		list = append(list, d)
	}
	return list
}

// Errors of a machine's cgroup trees.
var (
	errNotMounted = errors.New("no cgroup filesystem is mounted")
	errNotSeen    = errors.New("own group is not visible from here")
	errCovered    = errors.New("not a cgroup filesystem")
)

// noControllerError is a controller that neither a v1 nor a v2 tree has, by name.
type noControllerError string

func (e noControllerError) Error() string {
	return fmt.Sprintf("no group has the %s controller, /proc/self/cgroup", string(e))
}

// findHierarchy returns the tree that has a controller, given the texts of
// /proc/PID/cgroup and /proc/PID/mountinfo. Of several mounts it takes the first of
// cgroup.Candidates that shows the group, as package limits does; a covered mount
// shows no cgroup.procs. If no mount shows the group it takes the first, and making a
// group there reports the error.
func findHierarchy(fsys fs.FS, text, mountinfo, controller string) (hierarchy, error) {
	h, err := findGroup(text, controller)
	if err != nil {
		return hierarchy{}, err
	}
	group := cgroup.Group{V1: h.v1, Path: h.path}
	mounts, _ := cgroup.Mounts([]byte(mountinfo))
	for _, c := range cgroup.Candidates(mounts, group, controller) {
		if c.Sought {
			continue // it shows more than this process may see; no groups are made there
		}
		at := hierarchy{v1: h.v1, controllers: h.controllers, mount: path.Clean(c.Point), root: c.Root, path: h.path}
		if _, err := fs.Stat(fsys, rooted(path.Join(at.dir(), "cgroup.procs"))); err == nil {
			return at, nil
		}
		if h.mount == "" {
			h = at
		}
	}
	if h.mount != "" {
		return h, nil
	}
	if slices.ContainsFunc(mounts, func(m *cgroup.Mount) bool { return m.Serves(group, controller) }) {
		return hierarchy{}, fmt.Errorf("%s controller in /proc/self/mountinfo (%s): %w", controller, h.path, errNotSeen)
	}
	return hierarchy{}, fmt.Errorf("%s controller in /proc/self/mountinfo: %w", controller, errNotMounted)
}

// findGroup returns the group of a process for a controller from the text of
// /proc/PID/cgroup, and on v1 the controllers mounted with it.
func findGroup(text, controller string) (hierarchy, error) {
	g, controllers := cgroup.Find([]byte(text), controller)
	if g.Path == "" {
		return hierarchy{}, noControllerError(controller)
	}
	h := hierarchy{v1: g.V1, path: g.Path}
	if g.V1 {
		h.controllers = strings.Split(string(controllers), ",")
	}
	return h, nil
}

// readText returns the text of a small file without surrounding space. Names are
// absolute; fsys is rooted at /.
func readText(fsys fs.FS, name string) (string, error) {
	b, err := readFile(fsys, name)
	return strings.TrimSpace(string(b)), err
}

// readFile is readText with surrounding space.
func readFile(fsys fs.FS, name string) ([]byte, error) {
	b, err := fs.ReadFile(fsys, rooted(name))
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: e.Op, Path: name, Err: e.Err}
	}
	return b, err
}

// rooted turns an absolute name into one for an fs.FS rooted at /.
func rooted(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}
