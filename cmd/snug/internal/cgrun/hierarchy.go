// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A hierarchy is one cgroup tree as a process sees it.
type hierarchy struct {
	v1          bool
	controllers []string // those mounted together, on v1; nil on v2
	mount       string   // where it is mounted
	root        string   // which group is mounted there
	path        string   // the process's group, as in /proc/PID/cgroup
	countsOnly  bool     // wanted for its counters, not for a limit
}

// dir returns the directory of the process's group.
func (h hierarchy) dir() string {
	rel, _ := below(h.root, h.path)
	return path.Join(h.mount, rel)
}

// levels returns the directories from the process's group up to the mount
// point: all that can be seen of its ancestors.
func (h hierarchy) levels() []string {
	list := []string{h.dir()}
	for d := h.dir(); d != h.mount && d != "/"; {
		d = path.Dir(d)
		list = append(list, d)
	}
	return list
}

// below returns p relative to root, if it is root or below it.
func below(root, p string) (rel string, ok bool) {
	if root == "/" {
		// In a cgroup namespace a group outside of it shows as /../x.
		return p, p != "/.." && !strings.HasPrefix(p, "/../")
	}
	rest, ok := strings.CutPrefix(p, root)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return rest, true
}

// What can be wrong with the trees of a machine.
var (
	errNotMounted = errors.New("no cgroup filesystem is mounted")
	errNotSeen    = errors.New("own group cannot be seen from here")
	errCovered    = errors.New("not a cgroup filesystem")
)

// noControllerError is the name of a controller that is in neither kind of tree.
type noControllerError string

func (e noControllerError) Error() string {
	return fmt.Sprintf("no group has the %s controller, /proc/self/cgroup", string(e))
}

// findHierarchy finds the tree that has a controller, given the texts of
// /proc/PID/cgroup and /proc/PID/mountinfo. A v1 tree that has it wins: then v2
// cannot have it. Of several mounts it is the one that shows the most of the
// group's ancestors, of equal ones the last.
func findHierarchy(cgroup, mountinfo, controller string) (hierarchy, error) {
	h, err := findGroup(cgroup, controller)
	if err != nil {
		return hierarchy{}, err
	}
	seen, deepest := false, -1
	for _, m := range mounted(mountinfo) {
		if h.v1 && (m.fstype != "cgroup" || !slices.Contains(m.super, controller)) || !h.v1 && m.fstype != "cgroup2" {
			continue
		}
		seen = true
		if rest, ok := below(m.root, h.path); ok && len(rest) >= deepest {
			deepest, h.mount, h.root = len(rest), m.point, m.root
		}
	}
	if deepest >= 0 {
		return h, nil
	}
	if seen {
		return hierarchy{}, fmt.Errorf("%w, %s controller in /proc/self/mountinfo (%s)", errNotSeen, controller, h.path)
	}
	return hierarchy{}, fmt.Errorf("%w, %s controller in /proc/self/mountinfo", errNotMounted, controller)
}

// findGroup finds the group a process has for a controller in the text of
// /proc/PID/cgroup (cgroups(7)), whose lines are
//
//	4:cpu,cpuacct:/user/x
//	(1)(2)        (3)
//
// (1) hierarchy, 0 for v2; (2) controllers, none for v2; (3) group, which may
// hold colons.
func findGroup(text, controller string) (hierarchy, error) {
	var v2 *hierarchy
	for line := range strings.Lines(text) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(f) != 3 || !strings.HasPrefix(f[2], "/") {
			continue
		}
		if f[0] == "0" && f[1] == "" {
			v2 = &hierarchy{path: f[2]}
			continue
		}
		if list := strings.Split(f[1], ","); slices.Contains(list, controller) {
			return hierarchy{v1: true, controllers: list, path: f[2]}, nil
		}
	}
	if v2 == nil {
		return hierarchy{}, noControllerError(controller)
	}
	return *v2, nil
}

type mount struct {
	root, point, fstype string
	super               []string
}

// mounted lists the mounts of a mountinfo, without cgroup trees that a later one
// at the same point covers. What else covers one is told when a group is made.
func mounted(mountinfo string) []mount {
	var list []mount
	for line := range strings.Lines(mountinfo) {
		m, ok := parseMount(line)
		if !ok || !strings.HasPrefix(m.fstype, "cgroup") {
			continue
		}
		list = slices.DeleteFunc(list, func(below mount) bool { return below.point == m.point })
		list = append(list, m)
	}
	return list
}

// parseMount reads a line of /proc/PID/mountinfo (proc_pid_mountinfo(5)):
//
//	36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
//	(1)(2)(3)  (4)   (5)   (6)        (7)...  (8)(9) (10)       (11)
//
// (4) root, (5) mount point, (7) any number of tags, ended by the dash (8);
// (9) type, (11) super options, which name a v1 tree's controllers.
func parseMount(line string) (mount, bool) {
	f := strings.Fields(line)
	if len(f) < 9 {
		return mount{}, false
	}
	dash := slices.Index(f[6:], "-")
	if dash < 0 || len(f) < 6+dash+4 {
		return mount{}, false
	}
	rest := f[6+dash+1:]
	m := mount{root: unescape(f[3]), point: unescape(f[4]), fstype: rest[0], super: strings.Split(rest[2], ",")}
	return m, strings.HasPrefix(m.root, "/") && strings.HasPrefix(m.point, "/")
}

// unescape undoes the octal escapes of mountinfo: \040 for a space and the like.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// readText returns a small file's text without the spaces around it. Names are
// absolute; fsys is rooted at /.
func readText(fsys fs.FS, name string) (string, error) {
	b, err := fs.ReadFile(fsys, rooted(name))
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = &fs.PathError{Op: e.Op, Path: name, Err: e.Err}
	}
	return strings.TrimSpace(string(b)), err
}

// rooted turns an absolute name into one for an fs.FS rooted at /.
func rooted(name string) string {
	if name = strings.TrimPrefix(path.Clean(name), "/"); name == "" {
		return "."
	}
	return name
}
