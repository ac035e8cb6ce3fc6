// SPDX-License-Identifier: Apache-2.0

package law_test

import "math"

// Group shares a memory limit between Go processes and other memory.
type Group struct {
	At       float64 // simulated seconds
	Limit    int64   // bytes above which the kernel kills; 0 = none
	NonGo    float64 // bytes outside Go: cgo, mmap, tmpfs, other processes
	Heaps    []*Heap
	Killed   bool
	KilledAt float64
	Peak     float64 // highest use in bytes
}

// Used returns the bytes charged to the group.
func (g *Group) Used() int64 {
	used := g.NonGo
	for _, h := range g.Heaps {
		used += h.Held()
	}
	return int64(used)
}

// Step advances the group by dt seconds, 0.001 to 0.01. After an OOM kill nothing changes any more.
func (g *Group) Step(dt float64) {
	if g.Killed {
		return
	}
	g.At += dt
	for _, h := range g.Heaps {
		h.step(g.At, dt)
	}
	used := g.Used()
	g.Peak = max(g.Peak, float64(used))
	if g.Limit > 0 && used > g.Limit {
		g.Killed, g.KilledAt = true, g.At
	}
}

// step advances the process by dt seconds to now.
func (h *Heap) step(now, dt float64) {
	h.now = now
	cpu := h.Cores * dt
	faults := 0.0
	if d := h.Live - h.reach; d > 0 {
		faults = h.allocate(d)
	}
	h.reach = h.Live
	if goal := h.goal(); !h.marking && (h.forced || h.objects >= h.trigger(goal)) {
		h.begin()
	}

	// The operations requested.
	want := math.Inf(1)
	if h.Rate > 0 {
		h.backlog += h.Rate * dt
		if most := h.Rate + h.Rate*dt; h.backlog > most {
			h.Lost += h.backlog - most
			h.backlog = most
		}
		want = h.backlog
	}
	opCPU := h.OpCPU + h.OpBytes*(1+h.Frag)*min(0.3, h.Refault*max(0, h.goal()-h.marked))*h.FaultCPU
	mutator, gc := cpu, 0.0
	if h.marking {
		gc = max(share25*cpu, cpu-want*opCPU)
		gc = min(gc, (h.markTotal-h.markDone)/h.MarkRate)
		mutator = cpu - gc
		h.credit += gc * h.MarkRate
		h.markDone += gc * h.MarkRate
	}
	mutator = max(0, mutator-faults*h.FaultCPU)
	ops := min(want, mutator/opCPU)
	assist := 0.0
	if left := h.markTotal - h.markDone; h.marking && left > 0 && h.bucket < float64(h.Procs) {
		ops, assist = h.assist(ops, mutator, opCPU, left)
	}
	if want != math.Inf(1) {
		h.backlog -= ops
	}
	faulted := h.allocate(ops * h.OpBytes)
	h.Faulted += faults + faulted
	work := min(cpu, ops*h.OpCPU+(faults+faulted)*h.FaultCPU)
	h.AssistShare = assist / max(cpu, 1e-12)
	gc += assist
	h.Ops += ops
	h.WorkSeconds += work
	h.GCSeconds += gc
	h.cycleGC += gc
	h.cycleWork += work
	h.cycleAl += ops * h.OpBytes
	h.bucket = min(max(0, h.bucket+2*gc-float64(h.Procs)*dt), float64(h.Procs))

	if h.marking && h.markDone >= h.markTotal-1 {
		h.end()
	}
	if h.limit != math.MaxInt64 {
		h.scavenge(0.95*float64(h.limit), scavengeRate*dt)
	}
	h.scavenge(1.1*max(h.lastInUse, h.goal()*(1+h.Frag)+h.Stacks+h.Globals+h.Fixed), scavengeRate*dt)
}

// scavengeRate is the rate of the background scavenger, in bytes per second.
const scavengeRate = 100 << 20

// assist makes allocation do its share of the remaining marking, so that the cycle ends at the goal
// (gcControllerState.revise).
func (h *Heap) assist(ops, cpu, opCPU, left float64) (done, spent float64) {
	goal := h.goal()
	room := goal - h.objects
	if room <= 0 {
		room = max(1.1*goal-h.objects, 64<<10)
	}
	ratio := left / room // bytes to mark per byte allocated
	debt := ops*h.OpBytes*ratio - h.credit
	if debt <= 0 {
		h.credit -= ops * h.OpBytes * ratio
		return ops, 0
	}
	x := (cpu + h.credit/h.MarkRate) / (opCPU + h.OpBytes*ratio/h.MarkRate)
	x = min(max(x, 0), ops)
	spent = min(max(0, x*h.OpBytes*ratio-h.credit), left) / h.MarkRate
	h.credit = 0
	h.markDone += spent * h.MarkRate
	return x, spent
}

// begin starts a cycle.
func (h *Heap) begin() {
	h.marking, h.forced = true, false
	h.markTotal = h.reach + h.Stacks + h.Globals
	h.markDone, h.black, h.credit = 0, 0, 0
	h.cycleMark()
}

// cycleMark resets what consMark counts since the last cycle's start.
func (h *Heap) cycleMark() { h.cycleAl, h.cycleWork, h.cycleGC = 0, 0, 0 }

// end ends a cycle: objects reachable at its start or allocated since then survive.
func (h *Heap) end() {
	if h.cycleWork > 0 && h.cycleGC > 0 {
		c := (h.cycleAl / h.cycleWork) / h.MarkRate
		h.consMark = max(c, 0.75*h.consMark)
	}
	live := min(h.objects, h.markTotal-h.Stacks-h.Globals+h.black)
	h.lastInUse = h.mapped() - h.free
	h.free += (h.objects - live) * (1 + h.Frag)
	h.objects, h.marked = live, live
	h.marking = false
	h.cycles++
	h.pubGC, h.pubWork = h.GCSeconds, h.WorkSeconds
	if h.now-h.shareAt >= 1 {
		if all := h.pubGC + h.pubWork - h.sharedGC - h.sharedWork; all > 0 {
			h.share = (h.pubGC - h.sharedGC) / all
		}
		h.shareAt, h.sharedGC, h.sharedWork = h.now, h.pubGC, h.pubWork
	}
}
