// SPDX-License-Identifier: Apache-2.0

package gobin

import "strconv"

// voter is a function of the runtime that is always linked, by its name without the package path.
// Further names are those in other releases, or of closures, whose code counts as the function's.
type voter []string

func voters(names ...string) []voter {
	var v []voter
	for _, name := range names {
		v = append(v, voter{name})
	}
	return v
}

// closures returns a function together with its closures.
func closures(name string) voter {
	v := voter{name}
	for i := 1; i <= 6; i++ {
		v = append(v, name+".func"+strconv.Itoa(i))
	}
	return v
}

// The voters for each variable. runtime.GOMAXPROCS is not among them, because it is linked only
// into programs that call it.
var (
	gomaxprocsVoters = append(voters("procresize", "stopTheWorldWithSema", "startTheWorldWithSema", "gcStart",
		"gcMarkDone", "gcBgMarkStartWorkers", "sysmon", "handoffp", "schedtrace", "(*gcControllerState).enlistWorker"),
		voter{"globrunqget", "globrunqgetbatch"})
	gcControllerVoters = voters("gcinit", "(*mcache).refill", "(*mcache).releaseAll", "(*mcache).allocLarge", "gcStart",
		"gcMarkDone", "(*gcWork).put", "(*gcWork).putBatch", "(*gcWork).balance", "gcBgMarkWorker", "gcMark")
	pauseVoters    = []voter{closures("gcMarkTermination")}
	cpuStatsVoters = []voter{closures("gcMarkTermination"), closures("gcStart"), closures("gcMarkDone")}
	customVoters   = voters("schedinit", "sysmonUpdateGOMAXPROCS", "updateMaxProcsGoroutine")
	spinningVoters = append(voters("resetspinning", "wakep", "handoffp", "retake", "gcstopm", "schedtrace", "checkdead"),
		voter{"findRunnable", "findrunnable"})
)

const accumulate = "(*cpuStats).accumulate"

// Distances in runtime.mstats. pause_ns and pause_end, 256 uint64 each, are between
// pause_total_ns and numgc since Go 1.4.
const (
	numGC         = 8 + 2*8*256
	gcCPUFraction = numGC + 8
)

// ballot holds the uses of addresses by the voters of a program.
type ballot struct {
	img   *image
	funcs map[string]fn
	uses  map[string]uses
	code  func(fn) []byte
}

func vote(f *File) Vars {
	wanted := map[string]bool{accumulate: true}
	for _, list := range [][]voter{gomaxprocsVoters, gcControllerVoters, pauseVoters, cpuStatsVoters, customVoters,
		spinningVoters, allGsVoters, allPsVoters} {
		for _, v := range list {
			for _, name := range v {
				wanted[name] = true
			}
		}
	}
	b := &ballot{img: f.img, funcs: f.tab.lookup(wanted), uses: map[string]uses{}, code: f.tab.code}
	return Vars{
		GOMAXPROCS:       b.gomaxprocs(),
		GCController:     b.gcController(),
		PauseTotal:       b.pauseTotal(),
		CPUStats:         b.cpuStats(),
		CustomGOMAXPROCS: b.custom(),
		Spinning:         b.spinning(),
		AllGs:            b.count(allGsVoters, slices8).unanimous(2),
		AllPs:            b.count(allPsVoters, slices8).unanimous(5),
	}
}

// of returns what a voter's code uses. ok is false if the program does not have the voter.
func (b *ballot) of(v voter) (all uses, ok bool) {
	for _, name := range v {
		f, found := b.funcs[name]
		if !found {
			continue
		}
		ok = true
		u, done := b.uses[name]
		if !done {
			u.disassemble(b.img.arch, b.code(f), f.entry)
			b.uses[name] = u
		}
		all.data = append(all.data, u.data...)
		all.calls = append(all.calls, u.calls...)
	}
	return all, ok
}

// count lets each voter name addresses, and returns the address with the most votes.
func (b *ballot) count(list []voter, names func(uses) []uint64) Var {
	var v Var
	votes := map[uint64]int{}
	for _, voter := range list {
		u, ok := b.of(voter)
		if !ok {
			continue
		}
		v.Of++
		seen := map[uint64]bool{}
		for _, addr := range names(u) {
			if !seen[addr] && b.img.writableAt(addr) {
				seen[addr] = true
				votes[addr]++
			}
		}
	}
	for addr, n := range votes {
		switch {
		case n > v.Votes:
			v.Rival, v.Votes, v.Addr = v.Votes, n, addr
		case n > v.Rival:
			v.Rival = n
		}
	}
	return v
}

// unless clears the address if it was not elected.
func (v Var) unless(elected bool) Var {
	if !elected {
		v.Addr = 0
	}
	return v
}

// clear reports a clear majority: at least 70 % of the votes and 3 ahead of the second. The
// smallest seen in practice is 8 of 9 and 5 ahead.
func (v Var) clear() bool { return 10*v.Votes >= 7*v.Of && v.Votes-v.Rival >= 3 }

// sized returns the addresses at which size bytes are read or written; for size 0, those that are
// taken.
func sized(size int) func(uses) []uint64 {
	return func(u uses) []uint64 {
		var addrs []uint64
		for _, d := range u.data {
			if d.size == size {
				addrs = append(addrs, d.addr)
			}
		}
		return addrs
	}
}

func (b *ballot) gomaxprocs() Var {
	v := b.count(gomaxprocsVoters, sized(4))
	return v.unless(v.clear())
}

func (b *ballot) gcController() Var {
	v := b.count(gcControllerVoters, sized(0))
	return v.unless(v.clear())
}

// custom finds customGOMAXPROCS. Other fields of the same struct are only one vote behind.
func (b *ballot) custom() Var {
	v := b.count(customVoters, sized(1))
	return v.unless(v.Of == 3 && v.Votes == 3 && v.Rival < 3)
}

// spinning finds nmspinning, which has close rivals too. npidle, the field before it, must be used as
// well.
func (b *ballot) spinning() Var {
	v := b.count(spinningVoters, sized(4))
	idle := b.count(spinningVoters, func(u uses) []uint64 {
		for _, addr := range sized(4)(u) {
			if addr == v.Addr-4 {
				return []uint64{addr}
			}
		}
		return nil
	})
	return v.unless(v.Of == 8 && v.Votes >= 7 && v.Rival < v.Votes && idle.Votes > 0)
}

// pauseTotal finds pause_total_ns by the fields after it. The three fields are the votes.
func (b *ballot) pauseTotal() Var {
	u, ok := b.of(pauseVoters[0])
	if !ok {
		return Var{}
	}
	at := map[use]bool{}
	for _, d := range u.data {
		at[d] = true
	}
	v := Var{Of: 3}
	for d := range at {
		if d.size != 8 || !b.img.writableAt(d.addr) {
			continue
		}
		n := 1
		if at[use{d.addr + numGC, 4}] {
			n++
		}
		if at[use{d.addr + gcCPUFraction, 8}] {
			n++
		}
		switch {
		case n > v.Votes:
			v.Rival, v.Votes, v.Addr = v.Votes, n, d.addr
		case n > v.Rival:
			v.Rival = n
		}
	}
	return v.unless(v.Votes == 3 && v.Rival < 3)
}

// cpuStats finds the receiver of calls of its method accumulate.
func (b *ballot) cpuStats() Var {
	method, ok := b.funcs[accumulate]
	if !ok {
		return Var{}
	}
	var callers []voter
	named := func(u uses) []uint64 {
		var addrs []uint64
		for _, c := range u.calls {
			if c.target == method.entry {
				addrs = append(addrs, c.arg)
			}
		}
		return addrs
	}
	for _, v := range cpuStatsVoters {
		if u, _ := b.of(v); len(named(u)) > 0 {
			callers = append(callers, v)
		}
	}
	v := b.count(callers, named)
	return v.unless(v.Of > 0 && v.Votes == v.Of && v.Rival == 0)
}
