// SPDX-License-Identifier: Apache-2.0

package limits

import "os"

// A Follower polls this process's own limits, and reads nothing else; package auto uses it. It
// keeps files open: at most 32, and a sixteenth of the descriptors that the process may have. While
// nothing changes it allocates only the paths of others. It is not safe for concurrent use. Handle
// reads more.
type Follower struct {
	r     reader
	m     *machine
	polls uint
	last  Limits
}

// Follow finds this process's cgroups. On systems other than Linux the error wraps
// ErrNotSupported.
func Follow() (*Follower, error) {
	m, err := thisMachine()
	if err != nil {
		return nil, err
	}
	m.keep()
	f := &Follower{m: m, r: reader{tree: m, tables: []string{ownMounts}, self: int64(os.Getpid())}}
	f.r.start("/proc/self")
	return f, nil
}

// Read reads the current limits into l, and reports whether they differ from the last ones. It
// notices that the process moved within four reads, and that its cgroup is gone at once. The first
// Read opens the files. A later one opens none if seccomp has been tightened since: see Sealed.
func (f *Follower) Read(l *Limits) (changed bool) {
	r := &f.r
	if r.tree == nil { // not made by Follow
		return false
	}
	first := f.polls == 0
	stale := first || r.again(f.polls, f.m)
	f.polls++
	for range 3 {
		if stale && (first || r.mayResolve()) {
			f.m.drop(groups)
			r.resolve()
			changed = true
		}
		var news bool
		news, stale = r.readLevels()
		if changed = changed || news; !stale {
			break
		}
	}
	changed = changed || r.hostChanged(f.polls, &f.last)
	if cpus := r.ownCPUs(f.polls); changed || cpus != f.last.CPU.Affinity {
		r.evaluate(&f.last, cpus)
		changed = true
	}
	r.tree.release()
	f.m.guard()
	*l = f.last
	return changed
}

// Few reports whether the process may have fewer than 64 descriptors, so that none are kept. A timer
// can then end the program, because the Go runtime opens two for the first one (runtime/time.go,
// netpollGenericInit).
func (f *Follower) Few() bool { return f != nil && f.m != nil && len(f.m.kept) == 0 }

// Close closes the open files. A later Read opens others as it needs them.
func (f *Follower) Close() {
	if f != nil && f.m != nil {
		f.m.drop(all)
	}
}
