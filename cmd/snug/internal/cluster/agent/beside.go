// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// unlisted is Go code in a process beyond the maxOthers that are listed.
var unlisted = &finding.Unsupported{}

// lookBeside looks for Go code beside the executable of a process that is not a Go program. It reads
// the process's mappings only if the process has mapped code since the last look, and if no process of
// the same program without Go had as much.
func (s *scanner) lookBeside(pid int, o *other) {
	code := proc.CodeOf(pid)
	if o.looks > 0 && code == o.code {
		return
	}
	o.code, o.beside = code, nil
	b := s.budget(proc.OneLook, s.groupOf(pid))
	p, err := proc.OpenWithin(pid, b)
	if err != nil {
		o.code = -1 // look again
		return
	}
	defer p.Close()
	g := goproc.Facts{Pid: pid, Stat: p.First()}
	if observe.Momentary(&g.Stat) {
		o.code = -1 // what it has mapped is its parent's: look again
		return
	}
	if g.Guest, err = s.files.Guest(p); err != nil {
		o.code = -1
		o.due, o.much = s.again(b)
	} else if g.Guest.Path != "" {
		if o.beside, s.besides = unlisted, s.besides+1; s.besides <= maxOthers {
			g.Path, _, _ = p.Exe()
			o.beside = new(observe.Unsupported(&g))
		}
	}
}

// unsupported returns the processes with Go code beside their executable, with their containers, and counts them.
func (a *Agent) unsupported() []finding.UnsupportedHere {
	list, s := []finding.UnsupportedHere{}, a.scanner
	s.besides = 0
	for _, pid := range slices.Sorted(maps.Keys(s.others)) {
		o := s.others[pid]
		if o.beside == nil {
			continue
		}
		if s.besides++; o.beside == unlisted {
			continue
		}
		at := podid.Parse(s.groupOf(pid))
		u := finding.UnsupportedHere{PodUID: text(at.PodUID), ID: text(at.ContainerID), Unsupported: *o.beside}
		if a.opts.Names != nil && at.PodUID != "" {
			if n, ok := a.opts.Names.Lookup(at.PodUID, at.ContainerID); ok {
				u.ContainerNames = namesOf(n)
			}
		}
		list = append(list, u)
	}
	return list
}
