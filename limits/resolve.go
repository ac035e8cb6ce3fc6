// SPDX-License-Identifier: Apache-2.0

package limits

import "strings"

// resolve finds the process's cgroups anew and opens the files of every
// visible level.
func (h *Handle) resolve() {
	h.closeLevels()
	h.warnings, h.cpuGaps, h.memoryGaps = nil, nil, nil
	h.last = Limits{}
	h.cpuAt, h.memoryAt = hierarchy{}, hierarchy{}

	h.group.open(h.tree)
	h.group.read(h)
	text := h.group.text
	h.cpuAt, h.memoryAt = findGroup(text, "cpu"), findGroup(text, "memory")
	var mounts mountTable
	if h.cpuAt.path != "" || h.memoryAt.path != "" {
		mounts = h.mounts()
	}
	h.cpuGaps = h.levels(h.cpuAt, "cpu", mounts, func(dir, path string) *probe {
		l := cpuLevel{path: path, v1: h.cpuAt.v1}
		if l.v1 {
			l.quota.name, l.period.name = dir+"cpu.cfs_quota_us", dir+"cpu.cfs_period_us"
			l.period.open(h.tree)
		} else {
			l.quota.name = dir + "cpu.max"
		}
		l.quota.open(h.tree)
		h.cpu = append(h.cpu, l)
		return &h.cpu[len(h.cpu)-1].quota
	}, "cpu.quota_cores")
	h.memoryGaps = h.levels(h.memoryAt, "memory", mounts, func(dir, path string) *probe {
		l := memoryLevel{path: path, v1: h.memoryAt.v1}
		if l.v1 {
			l.limit.name, l.use.name = dir+"memory.limit_in_bytes", dir+"memory.usage_in_bytes"
			if len(h.memory) == 0 {
				l.sum.name = dir + "memory.stat"
				l.sum.open(h.tree)
			}
		} else {
			l.limit.name, l.use.name = dir+"memory.max", dir+"memory.current"
			l.high.name = dir + "memory.high"
			l.high.open(h.tree)
		}
		l.limit.open(h.tree)
		h.memory = append(h.memory, l)
		return &h.memory[len(h.memory)-1].limit
	}, "memory.hard_bytes")
}

// mounts reads the mount table that the process's cgroup paths are to be
// looked up in: for this process its own; for another process of this machine
// again our own, because it is through our own mounts that we read; for another
// process of another tree that tree's init's.
func (h *Handle) mounts() mountTable {
	names := []string{h.proc + "/mountinfo"}
	if h.pid != 0 {
		names = []string{"proc/self/mountinfo"}
		if !h.tree.live() {
			names = []string{"proc/1/mountinfo", "proc/self/mountinfo", h.proc + "/mountinfo"}
		}
	}
	var t mountTable
	for _, name := range names {
		t.file = name
		f, err := h.tree.open(name)
		if t.err = err; err != nil {
			continue
		}
		text, err := readWhole(f, make([]byte, 0, 16<<10))
		f.close()
		t.text, t.mounts, t.err = text, parseMounts(text), err
		if len(t.mounts) > 0 {
			break
		}
	}
	return t
}

// A mountTable is the cgroup mounts of one mountinfo file.
type mountTable struct {
	file   string
	err    error // why it could not be read
	text   []byte
	mounts []mount
}

// levels calls open for every visible cgroup from the process's own outwards,
// and lists what could not be reached. open returns the level's limit file.
func (h *Handle) levels(at hierarchy, controller string, table mountTable, open func(dir, path string) *probe, fieldName string) []Gap {
	switch {
	case h.group.err != nil:
		return []Gap{{fieldName, "/" + h.group.name, why(h.group.err)}}
	case at.path == "" && findGroup(h.group.text, "").path != "":
		return nil // there are hierarchies, and none has the controller: it is off
	case at.path == "":
		return []Gap{{fieldName, "/" + h.group.name, "names no cgroup"}}
	case table.err != nil:
		return []Gap{{fieldName, "/" + table.file, why(table.err)}}
	}
	m, rest, ok := choose(table.mounts, at, controller)
	if !ok {
		h.warn(WarnCgroupUnreachable, at)
		return []Gap{{fieldName, "/" + table.file, "no cgroup mount shows " + at.path}}
	}
	var gaps []Gap
	point := strings.Trim(m.point, "/")
	top := strings.TrimSuffix(at.path, rest)
	own := true
	for {
		dir, path := point+rest, top+rest
		if path == "" {
			path = "/"
		}
		// A group whose directory is missing has no files that could be read;
		// only the process's own can be (it was removed, or is hidden).
		if own && h.tree.missing(dir) {
			if len(gaps) == 0 {
				h.warn(WarnCgroupDeleted, at)
				gaps = append(gaps, Gap{fieldName, "/" + dir, "no such directory"})
			}
		} else {
			own = false
			open(strings.TrimPrefix(dir+"/", "/"), path)
		}
		if rest == "" {
			return gaps
		}
		rest = rest[:strings.LastIndexByte(rest, '/')]
	}
}

// warn says once that the process's own group cannot be seen.
func (h *Handle) warn(code string, at hierarchy) {
	if len(h.warnings) == 0 {
		h.warnings = append(h.warnings, Warning{code, Source{File: "/" + h.group.name, Level: at.path}})
	}
}
