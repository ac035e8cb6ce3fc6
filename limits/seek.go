// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"errors"
	"strings"

	"github.com/snug-go/snug/internal/cgroup"
)

// How many groups are looked at to find one by its inode number, which a directory lists,
// and by the processes in it, for which each has to be read: some 30 ms each on a machine
// with nothing else to do.
const (
	mostSought = 10_000
	mostNamed  = 2_000
)

var (
	errNotFound = errors.New("this cgroup namespace's root was not found below it")
	errTooMany  = errors.New("this cgroup namespace's root was not found: too many groups")
)

// seek finds the process's own group in a mount whose root is above that of the own cgroup
// namespace: a node's tree that is mounted into a container. The path of that root is
// "/../.." from inside, which tells how deep to look and not where. The namespace's root
// is the same directory as the one that a mount of it shows, and has its inode number;
// otherwise the own group is the one that names the process. rest is its path below the
// mount.
func (r *reader) seek(m *cgroup.Mount, res *resource, table *mountTable) (rest string, err error) {
	if table.sought == m {
		return table.found, table.lost
	}
	var inode uint64
	for _, own := range table.mounts {
		if own.Root == "/" && own.Serves(res.Group, res.controller) && r.shows(own, own.Point) == nil {
			inode = r.tree.inode(own.Point)
		}
	}
	err = errNotFound
	left := mostSought
	point := strings.TrimSuffix(m.Point, "/")
	if inode != 0 {
		rest, err = r.below(m, "", m.Above(), &left, func(dir string, number uint64) bool {
			// What covers a directory has others, whose names lead elsewhere.
			return number == inode && r.shows(m, point+dir[:strings.LastIndexByte(dir, '/')]) == nil
		})
		if err == nil {
			rest, _ = cgroup.Join(rest, res.Path)
		}
	}
	if err != nil {
		// The names of the groups above the path's own are not in it.
		n := cgroup.Climbs(res.Path)
		names := strings.TrimSuffix(res.Path[3*n:], "/")
		left = mostNamed
		buf := make([]byte, 0, 4096) // the mount table is in r.buf
		rest, err = r.below(m, "", m.Above()-n, &left, func(dir string, _ uint64) bool {
			dir = point + dir + names
			return r.named(dir+"/cgroup.procs", buf) && r.shows(m, dir) == nil
		})
		rest += names
	}
	table.sought, table.found, table.lost = m, rest, err
	return rest, err
}

// below looks through the groups that are levels groups below dir, a path within the mount.
func (r *reader) below(m *cgroup.Mount, dir string, levels int, left *int, is func(dir string, number uint64) bool) (found string, err error) {
	err = errNotFound
	failed := r.tree.list(strings.TrimSuffix(m.Point, "/")+dir, func(name string, number uint64) bool {
		if *left--; *left < 0 {
			err = errTooMany
			return false
		}
		at := dir + "/" + name
		if levels > 1 {
			found, err = r.below(m, at, levels-1, left, is)
		} else if is(at, number) {
			found, err = at, nil
		}
		return err == errNotFound
	})
	if failed != nil && levels == m.Above() {
		return "", failed
	}
	return found, err
}

// named reports whether a cgroup.procs names the process.
func (r *reader) named(file string, buf []byte) bool {
	pid := int64(r.pid)
	if pid == 0 {
		pid = r.self
	}
	if pid == 0 {
		status, _ := r.tree.read(r.status.name, buf, false)
		pid, _ = cgroup.Field(status, "Pid:")
		r.self = pid
	}
	procs, err := r.tree.peek(file, buf)
	return err == nil && pid != 0 && cgroup.Names(procs, pid)
}
