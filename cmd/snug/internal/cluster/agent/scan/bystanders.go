// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// The document also lists containers without a Go program, so that the webhook need not guess
// about the next pod of the workload. It lists only containers with names in which each
// process was inspected and none has Go in a library.

const (
	// settledAfter is how long a container must run before it is listed as one without Go: a
	// script may start a Go program later. A Go process must run as long to count as the
	// container's program: probes, and the program that starts the container, do not count.
	settledAfter = time.Minute
	// maxOthers bounds this list, and that of processes with Go code beside their executable.
	maxOthers = 2000
)

// bystanderOf returns the container of a process; nil if it is in no container of a pod. ok is
// false if that is unknown, for example because the process has ended.
func (s *Scanner) bystanderOf(pid int) (b *bystander, ok bool) {
	text := s.groupOf(pid)
	if text == "" {
		return nil, false
	}
	at := podid.Parse(text)
	if at.PodUID == "" || at.ContainerID == "" {
		return nil, true
	}
	return s.bystander(at), true
}

// bystander returns the state of a container, and creates it if it is new.
func (s *Scanner) bystander(at podid.Place) *bystander {
	k := keyOfPlace(at)
	b := s.bystanders[k]
	if b == nil {
		b = &bystander{at: at, since: s.at}
		s.bystanders[k] = b
	}
	return b
}

// notePresent records a process that is not a Go program. A new process may still move to its
// container, so its container is read again at each inspection.
func (s *Scanner) notePresent(pid int, o *other, looked bool) {
	if !s.named || o.kernel {
		return
	}
	if looked && o.looks <= settling {
		o.in, _ = s.bystanderOf(pid)
	}
	if o.in == nil {
		return
	}
	// PIDs are listed in ascending order, so a container's permanent processes usually come
	// before temporary ones.
	if o.in.tick != s.tick {
		o.in.pid = pid
	}
	o.in.tick = s.tick
	if o.beside != nil {
		o.in.beside = s.tick
	}
}

// noteUnseen records a process that could not be inspected.
func (s *Scanner) noteUnseen(pid int) {
	if !s.named {
		return
	}
	switch b, ok := s.bystanderOf(pid); {
	case !ok:
		if _, err := proc.StatOf(pid); err == nil { // it has not ended
			s.unplaced = s.tick
		}
	case b != nil:
		b.unseen = s.tick
	}
}

// withoutGo returns the containers without Go programs. members has those with Go programs.
func (s *Scanner) withoutGo(members map[string][]*process, now time.Time) []finding.OtherContainer {
	list := []finding.OtherContainer{}
	s.remember(members, now)
	var others []string
	for k, b := range s.bystanders {
		switch {
		case len(members[k]) > 0 || b.unseen == s.tick:
		case b.tick != s.tick:
			delete(s.bystanders, k)
		case !b.hasGo && b.beside != s.tick && s.unplaced != s.tick:
			others = append(others, k)
		}
	}
	slices.Sort(others)
	for _, k := range others {
		b := s.bystanders[k]
		if len(list) == maxOthers || !b.hasSettled(now, s.settledAfter) {
			continue
		}
		if n, ok := s.opts.Names.Lookup(b.at.PodUID, b.at.ContainerID); ok && n.Container != "" {
			list = append(list, finding.OtherContainer{
				ContainerNames: n.Document(), PodUID: names.Text(b.at.PodUID), ID: names.Text(b.at.ContainerID),
			})
		}
	}
	return list
}

// remember records which containers have Go programs, until the container ends.
func (s *Scanner) remember(members map[string][]*process, now time.Time) {
	for _, list := range members {
		at := list[0].in.place
		if at.PodUID == "" || at.ContainerID == "" {
			continue
		}
		b := s.bystander(at)
		b.hasGo = b.hasGo || slices.ContainsFunc(list, func(p *process) bool {
			return now.Sub(p.last.Go.Stat.Started) >= s.settledAfter
		})
	}
}

// hasSettled reports whether a container is known for as long as after, or its first process
// is that old.
func (b *bystander) hasSettled(now time.Time, after time.Duration) bool {
	b.settled = b.settled || now.Sub(b.since) >= after
	if !b.settled {
		if p, err := proc.Open(b.pid); err == nil {
			b.settled = now.Sub(p.First().Started) >= after
			p.Close()
		}
	}
	return b.settled
}

// unlisted is Go code in a process beyond the maxOthers that are listed.
var unlisted = &finding.Unsupported{}

// lookBeside looks for Go code beside the executable of a process that is not a Go program. It reads
// the process's mappings only if the process has mapped code since the last look, and if no process of
// the same program without Go had as much.
func (s *Scanner) lookBeside(pid int, o *other) {
	code := proc.CodeOf(pid)
	if o.looks > 0 && code == o.code {
		return
	}
	o.code, o.beside = code, nil
	b := s.budgets.of(proc.OneLook, s.groupOf(pid))
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
		o.due, o.much = repeat(b, s.tick)
	} else if g.Guest.Path != "" {
		if o.beside, s.besides = unlisted, s.besides+1; s.besides <= maxOthers {
			g.Path, _, _ = p.Exe()
			o.beside = new(observe.Unsupported(&g))
		}
	}
}

// unsupported returns the processes with Go code beside their executable, with their containers, and counts them.
func (s *Scanner) unsupported() []finding.UnsupportedHere {
	list := []finding.UnsupportedHere{}
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
		u := finding.UnsupportedHere{PodUID: names.Text(at.PodUID), ID: names.Text(at.ContainerID), Unsupported: *o.beside}
		if s.opts.Names != nil && at.PodUID != "" {
			if n, ok := s.opts.Names.Lookup(at.PodUID, at.ContainerID); ok {
				u.ContainerNames = n.Document()
			}
		}
		list = append(list, u)
	}
	return list
}
