// SPDX-License-Identifier: Apache-2.0

package limits

import "os"

// A Follower polls this process's own limits, and reads nothing else; package auto uses it. It
// keeps no file open, and while nothing changes it allocates only the strings of the paths it
// opens. It is not safe for concurrent use. Handle reads more.
type Follower struct {
	r     reader
	polls uint
	last  Limits
}

// Follow finds this process's cgroups. On systems other than Linux the error wraps
// ErrNotSupported.
func Follow() (*Follower, error) {
	t, err := thisMachine()
	if err != nil {
		return nil, err
	}
	f := &Follower{r: reader{tree: t, tables: []string{ownMounts}, self: int64(os.Getpid())}}
	f.r.start("/proc/self")
	return f, nil
}

// Read reads the current limits into l, and reports whether they differ from the last ones. It
// notices that the process moved within four reads, and that its cgroup is gone at once.
func (f *Follower) Read(l *Limits) (changed bool) {
	r := &f.r
	if r.tree == nil { // not made by Follow
		return false
	}
	lost := f.polls%rescan == 0 && (r.cpu.gap.Field != "" || r.memory.gap.Field != "")
	stale := f.polls == 0 || f.polls%relook == 0 && r.group.read(r) || lost
	f.polls++
	for range 3 {
		if stale {
			r.resolve()
			changed = true
		}
		var news bool
		news, stale = r.readLevels()
		if changed = changed || news; !stale {
			break
		}
	}
	defer r.tree.release()
	if cpus := affinity(os.Getpid()); changed || cpus != f.last.CPU.Affinity {
		r.evaluate(&f.last, cpus)
		changed = true
	}
	*l = f.last
	return changed
}
