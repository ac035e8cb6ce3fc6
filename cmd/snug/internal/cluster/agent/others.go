// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
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

// bystander is a container, with the state of its processes that are not Go programs.
type bystander struct {
	at      podid.Place
	since   time.Time // the first scan that found it
	pid     int       // the first of its processes at the last scan, which is usually the oldest
	tick    int       // the last scan that found such a process
	unseen  int       // the last scan that could not inspect a process in it
	beside  int       // the last scan that found a process in it with Go that is not read
	hasGo   bool      // a Go process has run in it for settledAfter
	settled bool      // it has run for settledAfter
}

// bystanderOf returns the container of a process; nil if it is in no container of a pod. ok is
// false if that is unknown, for example because the process has ended.
func (s *scanner) bystanderOf(pid int) (b *bystander, ok bool) {
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
func (s *scanner) bystander(at podid.Place) *bystander {
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
func (s *scanner) notePresent(pid int, o *other, looked bool) {
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
func (s *scanner) noteUnseen(pid int) {
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

// others returns the containers without Go programs. members has those with Go programs.
func (a *Agent) others(members map[string][]*process, now time.Time) []finding.OtherContainer {
	list, s := []finding.OtherContainer{}, a.scanner
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
		if n, ok := a.opts.Names.Lookup(b.at.PodUID, b.at.ContainerID); ok && n.Container != "" {
			list = append(list, finding.OtherContainer{
				ContainerNames: namesOf(n), PodUID: text(b.at.PodUID), ID: text(b.at.ContainerID),
			})
		}
	}
	return list
}

// remember records which containers have Go programs, until the container ends.
func (s *scanner) remember(members map[string][]*process, now time.Time) {
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

// namesOf returns names for the document.
func namesOf(n Named) finding.ContainerNames {
	return finding.ContainerNames{
		Namespace: text(n.Namespace), Pod: text(n.Pod), Name: text(n.Container),
		Workload: text(n.Workload), Image: text(n.Image), Digest: text(n.Digest),
	}
}
