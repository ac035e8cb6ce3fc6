// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
)

// machine is the input of plan.
type machine struct {
	fsys      fs.FS                 // rooted at /
	uid       int                   // effective user
	owner     func(name string) int // owner of a file, -1 if unknown
	delegated func(dir string) bool // whether systemd marked the group as delegated
}

// A part is one directory of the group: v1 needs one in each hierarchy, v2 a single
// one.
type part struct {
	v1          bool
	controllers []string // v1: all of the hierarchy; v2: those needed
	parent      string   // parent directory
	dir         string   // its own directory
	group       string   // as in /proc/PID/cgroup
	optional    bool     // it has no limit, only counters
}

func (p part) has(controller string) bool { return slices.Contains(p.controllers, controller) }

// An attempt is one planned way to make the group.
type attempt struct {
	way   Way
	parts []part // empty for a scope: systemd makes the group
	slice string // for a scope: the slice to put it in, "" for systemd's choice
}

var errSystemdOwnsTree = errors.New("systemd manages this tree and may move processes that it did not put there")

// plan returns the ways to try, best first, and the impossible ones with their
// reasons. It only reads.
func plan(m machine, w want, name string) (list []attempt, tried []Tried) {
	cgroup, err := readText(m.fsys, "/proc/self/cgroup")
	var mounts string
	if err == nil {
		mounts, err = readText(m.fsys, "/proc/self/mountinfo")
	}
	if err != nil {
		return nil, []Tried{{"", err}}
	}

	systemd := bootedBySystemd(m.fsys)
	if systemd {
		list = append(list, attempt{way: WaySystemd, slice: ownSlice(cgroup, m.uid)})
	}

	v1, v2, err := hierarchies(m.fsys, cgroup, mounts, w)
	if err != nil {
		return list, append(tried, Tried{"", err})
	}
	way := WayV1
	if v2 != nil && len(v1) > 0 {
		way = WayHybrid
	} else if v2 != nil {
		way = WayV2
	}
	var parts []part
	for _, h := range v1 {
		parts = append(parts, newPart(h, h.dir(), h.path, name))
	}
	if v2 == nil {
		if systemd {
			return list, append(tried, Tried{way, errSystemdOwnsTree})
		}
		return append(list, attempt{way: way, parts: parts}), tried
	}

	own, above, reason := v2Parents(m, *v2, systemd)
	switch {
	case systemd:
		tried = append(tried, Tried{way, errSystemdOwnsTree})
	case own == "":
		tried = append(tried, Tried{way, reason[0]})
	default:
		list = append(list, attempt{way: way, parts: append(slices.Clone(parts), newPart(*v2, own, v2.path, name))})
	}
	switch {
	case above == "":
		tried = append(tried, Tried{WayDelegated, reason[1]})
	case systemd && len(v1) > 0:
		tried = append(tried, Tried{WayDelegated, errSystemdOwnsTree})
	default:
		group := path.Join(v2.root, strings.TrimPrefix(above, v2.mount))
		list = append(list, attempt{way: WayDelegated, parts: append(slices.Clone(parts), newPart(*v2, above, group, name))})
	}
	return list, tried
}

func newPart(h hierarchy, parent, parentGroup, name string) part {
	return part{
		v1:          h.v1,
		controllers: h.controllers,
		parent:      parent,
		dir:         path.Join(parent, name),
		group:       path.Join(parentGroup, name),
		optional:    h.countsOnly,
	}
}

// hierarchies finds the trees of the controllers that w needs: any number of v1 trees
// (each once), and the v2 tree with its controllers, nil if none is there.
func hierarchies(fsys fs.FS, cgroup, mounts string, w want) (v1 []hierarchy, v2 *hierarchy, err error) {
	add := func(controller string, countsOnly bool) error {
		h, err := findHierarchy(fsys, cgroup, mounts, controller)
		if err != nil {
			return err
		}
		if !h.v1 {
			if v2 == nil && !countsOnly {
				v2 = &h
			}
			if !countsOnly {
				v2.controllers = append(v2.controllers, controller)
			}
			return nil
		}
		for _, have := range v1 {
			if slices.Equal(have.controllers, h.controllers) {
				return nil
			}
		}
		h.countsOnly = countsOnly
		v1 = append(v1, h)
		return nil
	}
	for _, c := range w.controllers() {
		if err := add(c, false); err != nil {
			return nil, nil, err
		}
	}
	if w.counters {
		for _, c := range []string{"cpuacct", "memory"} {
			_ = add(c, true) // a missing one is no error
		}
	}
	return v1, v2, nil
}

// v2Parents returns where a v2 group may be made: the caller's own group, and the
// nearest delegated group above it. If one is "", reason says why.
func v2Parents(m machine, h hierarchy, systemd bool) (own, above string, reason [2]error) {
	missing := func(dir string) error {
		file := path.Join(dir, "cgroup.subtree_control")
		text, err := readText(m.fsys, file)
		if err != nil {
			return err
		}
		on := strings.Fields(text)
		for _, c := range h.controllers {
			if !slices.Contains(on, c) {
				return fmt.Errorf("%s: the %s controller is not enabled for child groups", file, c)
			}
		}
		return nil
	}

	levels := h.levels()
	if reason[0] = missing(levels[0]); reason[0] == nil {
		own = levels[0]
	}
	reason[1] = errors.New("no group above the caller's own is delegated to this user")
	for i, dir := range levels[:len(levels)-1] {
		if file := limitOf(m.fsys, dir, limitFiles); file != "" {
			reason[1] = &shedError{file}
			return own, "", reason
		}
		up := levels[i+1]
		if err := missing(up); err != nil {
			continue
		}
		if _, err := fs.Stat(m.fsys, rooted(path.Join(up, "cgroup.type"))); err != nil {
			continue // the root group belongs to the machine
		}
		if m.owner(up) != m.uid || m.owner(path.Join(up, "cgroup.procs")) != m.uid {
			continue
		}
		if systemd && (!m.delegated(up) || strings.HasPrefix(path.Base(up), "user@")) {
			continue // user@UID.service is delegated to systemd --user, not to snug
		}
		return own, up, reason
	}
	return own, "", reason
}

// bootedBySystemd reports whether systemd is pid 1 of this pid namespace. Its directory
// alone proves nothing: it may be that of the host, seen from inside a container, and
// the host's systemd would mistake this namespace's pids for others.
func bootedBySystemd(fsys fs.FS) bool {
	info, err := fs.Stat(fsys, "run/systemd/system")
	if err != nil || !info.IsDir() {
		return false
	}
	comm, err := readText(fsys, "/proc/1/comm")
	return err == nil && comm == "systemd"
}

// ownSlice returns the slice of this process, so that a scope in it is under the same
// limits; "" if systemd may choose.
func ownSlice(cgroup string, uid int) string {
	h, err := findGroup(cgroup, "name=systemd")
	if err != nil {
		return ""
	}
	p := h.path
	if uid != 0 {
		_, rest, ok := strings.Cut(p, fmt.Sprintf("/user@%d.service", uid))
		if !ok {
			return ""
		}
		p = rest
	}
	slice := ""
	for elem := range strings.SplitSeq(strings.TrimPrefix(p, "/"), "/") {
		if !strings.HasSuffix(elem, ".slice") {
			break
		}
		slice = elem
	}
	return slice
}

// inContainer reports whether this process is in a container: by the files of Docker,
// Podman, systemd-nspawn and others, or by a pid namespace other than the machine's
// first, whose number is fixed (PROC_PID_INIT_INO in Linux include/linux/proc_ns.h).
func inContainer(fsys fs.FS) bool {
	for _, name := range []string{"/.dockerenv", "/run/.containerenv", "/run/systemd/container"} {
		if _, err := fs.Stat(fsys, rooted(name)); err == nil {
			return true
		}
	}
	link, err := fs.ReadLink(fsys, "proc/self/ns/pid")
	return err == nil && link != "pid:[4026531836]"
}

// shed returns the file of a CPU or memory limit that holds for the caller's group but
// would not hold for a process in group, or "".
func shed(fsys fs.FS, h hierarchy, group string) string {
	for _, dir := range h.levels() {
		at := hierarchy{mount: h.mount, root: h.root, path: group}
		if slices.Contains(at.levels(), dir) {
			return ""
		}
		if !h.v1 {
			if file := limitOf(fsys, dir, sizeFiles); file != "" {
				return file
			}
			continue
		}
		if q, _, file, err := cpuLimit(fsys, dir, true); q > 0 || err != nil {
			return file
		}
		if n, file, err := memoryLimit(fsys, dir, true); n > 0 || err != nil {
			return file
		}
	}
	return ""
}

// cure says what would make a group possible, given the failed ways.
func cure(tried []Tried, m machine, w want) string {
	systemd := slices.ContainsFunc(tried, func(t Tried) bool { return t.Way == WaySystemd })
	list := strings.Join(w.controllers(), " and ")
	for _, t := range tried {
		// On a machine run by systemd, only the systemd way can be mended.
		if _, ok := errors.AsType[*shedError](t.Err); ok && (t.Way == WaySystemd || !systemd) {
			return fmt.Sprintf("start snug from a group without a limit of its own (ancestors may have limits), or from a "+
				"leaf below such a group, with %s in its cgroup.subtree_control", list)
		}
		if errors.Is(t.Err, syscall.EROFS) {
			return "in a container, set the limits on the container (docker run --cpus --memory, resources.limits in " +
				"Kubernetes), or run it with writable cgroups"
		}
	}
	if text := cureOf(tried); text != "" {
		return text
	}
	switch {
	case systemd && m.uid != 0:
		return fmt.Sprintf("check `systemctl --user status` (it needs a login session and XDG_RUNTIME_DIR) and that %s is "+
			"delegated to user@.service, or run as root", list)
	case systemd:
		return "check that systemd-run --scope works here"
	case m.uid != 0:
		return fmt.Sprintf("run as root, or in a cgroup delegated to this user with %s enabled for its children", list)
	}
	return fmt.Sprintf("start snug in a leaf of a delegated group that has %s in cgroup.subtree_control, or set the "+
		"limits on the container", list)
}

const cureFiles = "allow more open files (ulimit -n, fs.file-max)"

// scarce reports whether a resource is used up, or the shim or the watchdog ended:
// then a lack of groups is not the cause.
func scarce(tried []Tried) bool {
	return slices.ContainsFunc(tried, func(t Tried) bool {
		for _, e := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EAGAIN, syscall.ENOMEM, errWatchdog} {
			if errors.Is(t.Err, e) {
				return true
			}
		}
		_, silent := errors.AsType[*errSilent](t.Err)
		return silent
	})
}

// cureOf says what helps against reasons other than permissions and the caller's place
// in the tree; "" if there is no such reason.
func cureOf(tried []Tried) string {
	const elsewhere = ", or set the limits on the container"
	for _, t := range tried {
		path, _ := errors.AsType[*fs.PathError](t.Err)
		has := func(list ...error) bool {
			return slices.ContainsFunc(list, func(e error) bool { return errors.Is(t.Err, e) })
		}
		switch {
		case path != nil && strings.HasPrefix(path.Path, "/proc/self/") && has(fs.ErrNotExist):
			return "mount /proc (mount -t proc proc /proc)"
		case has(errNotMounted):
			return "mount the cgroup filesystem (mount -t cgroup2 none /sys/fs/cgroup)" + elsewhere
		case has(errNotSeen):
			return "mount the cgroup filesystem again in this cgroup namespace" + elsewhere
		case has(errCovered):
			return "unmount the file system that covers the cgroup filesystem there" + elsewhere
		case errors.As(t.Err, new(noControllerError)):
			return "use a kernel that has the controller; see cgroup_disable in /proc/cmdline"
		case has(syscall.EMFILE, syscall.ENFILE):
			return cureFiles
		case has(syscall.EAGAIN):
			return "allow more processes or groups (ulimit -u, pids.max, cgroup.max.descendants)"
		case has(syscall.ENOMEM):
			return "free memory, or raise the limit of the group that snug is in"
		}
		if shim, ok := errors.AsType[*errSilent](t.Err); ok {
			if shim.exit.Signal == int(syscall.SIGKILL) {
				return "raise the memory limit; if it was large enough, see the kernel's log (dmesg) for what killed it"
			}
			return "see the kernel's log (dmesg): a crash or a security policy ended it"
		}
	}
	return ""
}
