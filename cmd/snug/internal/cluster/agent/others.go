// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// That a container has no Go program is worth to know as well: who decides on the next one
// of its workload then need not guess. It is said only of containers with names, in which
// each process was looked at.

const (
	// settledAfter is how long a container has to run before it is said that no program in
	// it is Go's: a script may start one when it is done with other things. A Go process has
	// to run as long to be the container's program: a probe, or what starts the container, is
	// none.
	settledAfter = time.Minute
	// mostOthers are listed.
	mostOthers = 2000
)

// bystander is a container, and what is known of the processes in it that are none of Go's.
type bystander struct {
	at      podid.Place
	since   time.Time // of the scan at which it was first there
	pid     int       // the first of its processes at the last scan, and so mostly the oldest
	tick    int       // the scan at which such a process was there
	unseen  int       // the scan at which one was there that was not looked at
	hasGo   bool      // a Go process has run there for settledAfter at some time
	settled bool      // it has run for settledAfter
}

// bystanderOf is the container that a process is in; nil where it is in none, or in one
// that is no pod's. ok is false where that is unknown, as when it has ended.
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

// bystander is a container, from here on if it was not known.
func (s *scanner) bystander(at podid.Place) *bystander {
	k := keyOfPlace(at)
	b := s.bystanders[k]
	if b == nil {
		b = &bystander{at: at, since: s.at}
		s.bystanders[k] = b
	}
	return b
}

// beside notes that a process, which is none of Go's, is there. One that is new may be on
// its way to its container, and is asked where it is whenever it is looked at.
func (s *scanner) beside(pid int, o *other, looked bool) {
	if !s.named || o.kernel {
		return
	}
	if looked && o.looks <= settling {
		o.in, _ = s.bystanderOf(pid)
	}
	if o.in == nil {
		return
	}
	// Numbers are listed from the lowest on, so that what a container runs all the time comes
	// before what it runs now and then.
	if o.in.tick != s.tick {
		o.in.pid = pid
	}
	o.in.tick = s.tick
}

// unseen notes that a process could not be looked at, whatever it is.
func (s *scanner) unseen(pid int) {
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

// others are the containers without Go programs. members are those that have some.
func (a *Agent) others(members map[string][]*process, now time.Time) []finding.OtherContainer {
	list, s := []finding.OtherContainer{}, a.scanner
	s.remember(members, now)
	for _, k := range slices.Sorted(maps.Keys(s.bystanders)) {
		b := s.bystanders[k]
		if b.tick != s.tick && b.unseen != s.tick && len(members[k]) == 0 {
			delete(s.bystanders, k)
			continue
		}
		if b.hasGo || len(members[k]) > 0 || b.tick != s.tick || b.unseen == s.tick || s.unplaced == s.tick || len(list) == mostOthers || !b.hasSettled(now, s.settledAfter) {
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

// remember notes which containers have Go programs, for as long as anything is in them.
func (s *scanner) remember(members map[string][]*process, now time.Time) {
	for _, list := range members {
		at := s.placeOf(list[0])
		if at.PodUID == "" || at.ContainerID == "" {
			continue
		}
		b := s.bystander(at)
		b.hasGo = b.hasGo || slices.ContainsFunc(list, func(p *process) bool {
			return now.Sub(p.last.Go.Stat.Started) >= s.settledAfter
		})
	}
}

// hasSettled reports whether a container has run for long enough: it was there so long ago,
// or its first process is as old.
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

// namesOf writes down names.
func namesOf(n Named) finding.ContainerNames {
	return finding.ContainerNames{
		Namespace: text(n.Namespace), Pod: text(n.Pod), Name: text(n.Container),
		Workload: text(n.Workload), Image: text(n.Image), Digest: text(n.Digest),
	}
}
