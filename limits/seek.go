// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// mostSought is how many groups are looked at to find one: some 30 ms.
const mostSought = 10_000

var (
	errNotFound = errors.New("this cgroup namespace's root was not found below it")
	errTooMany  = errors.New("this cgroup namespace's root was not found among 10000 groups")
)

// seek finds the root of the own cgroup namespace in a mount whose root is above it: a
// node's tree that is mounted into a container. The path of that root is "/../.." from
// inside, which tells how deep to look and not where. It is the same directory as
// the one that a mount with the namespace's root shows, and has its inode number;
// without such a mount it is the one below which the process is.
func (r *reader) seek(m *cgroup.Mount, res *resource, table *mountTable) (root string, err error) {
	if table.sought == m {
		return table.root, table.lost
	}
	var inode uint64
	for _, own := range table.mounts {
		if own.Root == "/" && own.Serves(res.Group, res.controller) && r.shows(own, own.Point) == nil {
			inode = r.tree.inode(own.Point)
		}
	}
	left := mostSought
	table.sought = m
	table.root, table.lost = r.below(m, "", m.Above(), inode, res.Path, &left)
	return table.root, table.lost
}

// below looks through the groups that are levels groups below dir, a path within the mount.
func (r *reader) below(m *cgroup.Mount, dir string, levels int, inode uint64, path string, left *int) (found string, err error) {
	err = errNotFound
	point := strings.TrimSuffix(m.Point, "/")
	failed := r.tree.list(point+dir, func(name string, number uint64) bool {
		if *left--; *left < 0 {
			err = errTooMany
			return false
		}
		at := dir + "/" + name
		switch {
		case levels > 1:
			found, err = r.below(m, at, levels-1, inode, path, left)
		case inode != 0 && number != 0:
			if number == inode {
				found, err = at, nil
			}
		default:
			if group, ok := cgroup.Join(at, path); ok && r.named(point+group+"/cgroup.procs") {
				found, err = at, nil
			}
		}
		return err == errNotFound
	})
	if failed != nil && levels == m.Above() {
		return "", failed
	}
	return found, err
}

// named reports whether a cgroup.procs names the process.
func (r *reader) named(file string) bool {
	pid := int64(r.pid)
	if pid == 0 {
		pid = r.self
	}
	// The mount table is in r.buf.
	buf := make([]byte, 0, 4096)
	if pid == 0 {
		status, _ := r.tree.read(r.status.name, buf, false)
		pid, _ = cgroup.Field(status, "Pid:")
		r.self = pid
	}
	procs, err := r.tree.read(file, buf, true)
	return err == nil && pid != 0 && cgroup.Names(procs, pid)
}
