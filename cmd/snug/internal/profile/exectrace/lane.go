// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// maxLanes is the number of Ps whose course is kept; each takes 16 KiB.
const maxLanes = 32

// held is what holds a P.
type held uint8

const (
	byNone      held = iota // it is idle
	byProgram               // a goroutine runs, for the program or the runtime
	byCollector             // mark workers, idle ones too, assists and sweeping
	byOther                 // the scheduler, or a system call that keeps the P
	heldKinds
)

// lane is the course of one P over the steps of the timeline, in ns of each step.
type lane [steps][heldKinds]int64

// lane returns the lane of a P, nil for a high number.
func (l *timeline) lane(p int) *lane {
	if p >= maxLanes {
		return nil
	}
	for p >= len(l.lanes) {
		l.lanes = append(l.lanes, new(lane))
	}
	return l.lanes[p]
}

// merge makes one step of each two.
func (c *lane) merge() {
	for i := range steps / 2 {
		for k := range c[i] {
			c[i][k] = c[2*i][k] + c[2*i+1][k]
		}
	}
	clear(c[steps/2:])
}

// by returns what holds a P now.
func (p *procState) by() held {
	switch {
	case p.gc > 0 || p.idleMarking > 0:
		return byCollector
	case p.goroutines > 0:
		return byProgram
	case p.running:
		return byOther
	}
	return byNone
}

// turn is called when what holds a P may have changed, since a time that is not in the
// future. It is usually now, but a state that is reported late began earlier.
func (f *fold) turn(p *procState, since int64) {
	by := p.by()
	if p.lane == nil || by == p.heldBy && since == f.now {
		return
	}
	since = max(since, p.heldSince)
	f.fill(p, since)
	p.heldBy, p.heldSince = by, since
}

// fill accounts for what held a P until a time.
func (f *fold) fill(p *procState, until int64) {
	if p.lane == nil || p.heldBy == byNone {
		return
	}
	f.timeline.spread(p.heldSince, until, func(i int, ns int64) { p.lane[i][p.heldBy] += ns })
}

// Ps is the course of the first Ps by what held them, in equal steps; its end may cut off
// the last step. Each list has one list per P, by number, of shares of the step, 0 to 1. The
// rest of a step the P was idle.
type Ps struct {
	Step                      time.Duration
	Program, Collector, Other [][]float64
}

// maxColumns is the maximum number of steps of Ps.
const maxColumns = steps / 2

func (l *timeline) ps(end int64) Ps {
	every := (l.used + maxColumns - 1) / maxColumns // 1 or 2
	out := Ps{Step: time.Duration(every) << l.shift}
	for _, c := range l.lanes {
		var of [heldKinds][]float64
		for i := 0; i < l.used; i += every {
			begin := l.start + int64(i)<<l.shift
			long := float64(max(min(end-begin, int64(every)<<l.shift), 1))
			var sum [heldKinds]int64
			for j := i; j < min(i+every, steps); j++ {
				for k := range sum {
					sum[k] += c[j][k]
				}
			}
			for k := range sum {
				of[k] = append(of[k], min(float64(sum[k])/long, 1))
			}
		}
		out.Program, out.Collector = append(out.Program, of[byProgram]), append(out.Collector, of[byCollector])
		out.Other = append(out.Other, of[byOther])
	}
	return out
}
