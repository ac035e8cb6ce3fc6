// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"

	"github.com/snug-go/snug/internal/cgroup"
)

// Bounds on the groups to visit: a search by inode number lists directories, and a search by
// process reads each cgroup.procs. Either takes some 30 ms on an idle machine.
const (
	maxListed    = 10_000
	maxProcsRead = 2_000
)

var (
	errNotFound = errors.New("this cgroup namespace's root was not found below it")
	errTooMany  = errors.New("this cgroup namespace's root was not found: too many groups")
)

// seek finds the process's own group in a mount whose root is above the root of the cgroup
// namespace, such as a node's tree mounted into a container. From inside, the path of that
// mount's root is "/../..", which gives the depth but not the names. The namespace's root has the
// same inode number as the directory that a mount of it shows. Without such a mount, the own
// group is the one whose cgroup.procs lists the process. rest is its path below the mount.
func (r *reader) seek(m *cgroup.Mount, res *resource, table *mountTable) (rest string, err error) {
	if table.lastMount == m {
		return table.lastRest, table.lastErr
	}
	var inode uint64
	for _, own := range table.mounts {
		if own.Root == "/" && own.Serves(res.Group, res.controller) && r.shows(own, own.Point) == nil {
			inode, _ = r.tree.inode(own.Point)
		}
	}
	err = errNotFound
	left := maxListed
	point := bareDir(m.Point)
	if inode != 0 {
		rest, err = r.below(m, "", m.Above(), &left, func(dir string, number uint64) bool {
			// A directory that covers another has groups too, under wrong names.
			return number == inode && r.shows(m, point+dir[:cgroup.Slash(dir)]) == nil
		})
		if err == nil {
			rest, _ = cgroup.Join(rest, res.Path)
		}
	}
	if err != nil {
		// The path lacks the names of the groups that its ".." stand for.
		n := cgroup.LeadingDotDots(res.Path)
		names := bareDir(res.Path[3*n:])
		left = maxProcsRead
		buf := make([]byte, 0, 4096) // the mount table is in r.buf
		rest, err = r.below(m, "", m.Above()-n, &left, func(dir string, _ uint64) bool {
			dir = point + dir + names
			return r.listsProcess(dir+"/cgroup.procs", buf) && r.shows(m, dir) == nil
		})
		rest += names
	}
	table.lastMount, table.lastRest, table.lastErr = m, rest, err
	return rest, err
}

// below visits the groups at a depth of levels below dir, a path within the mount.
func (r *reader) below(m *cgroup.Mount, dir string, levels int, left *int,
	match func(dir string, number uint64) bool) (found string, err error) {
	err = errNotFound
	failed := r.tree.list(bareDir(m.Point)+dir, func(name string, number uint64) bool {
		if *left--; *left < 0 {
			err = errTooMany
			return false
		}
		at := dir + "/" + name
		if levels > 1 {
			found, err = r.below(m, at, levels-1, left, match)
		} else if match(at, number) {
			found, err = at, nil
		}
		return err == errNotFound
	})
	if failed != nil && levels == m.Above() {
		return "", failed
	}
	return found, err
}

// listsProcess reports whether a cgroup.procs lists the process.
func (r *reader) listsProcess(file string, buf []byte) bool {
	pid := int64(r.pid)
	if pid == 0 {
		pid = r.self
	}
	if pid == 0 {
		status, _ := r.tree.read(r.status.name, buf, false)
		pid, _ = cgroup.Field(status, "Pid:")
		r.self = pid
	}
	procs, err := r.tree.read(file, buf, true)
	return err == nil && pid != 0 && cgroup.Names(procs, pid)
}
