// SPDX-License-Identifier: Apache-2.0

package gobin

import "strings"

// Records holds the places of what the runtime records about goroutines and sampled
// allocations: see runtime/mprof.go and runtime/proc.go.
type Records struct {
	// MemBuckets is runtime.mbuckets, the head of the list of the memory profile's buckets.
	MemBuckets Var
	// MemCycle is the uint32 runtime.mProf.cycle or, since Go 1.19, mProfCycle, which is the
	// cycle times 2 plus 1 if it was flushed.
	MemCycle Var
	// MemLock is runtime.proflock or, since Go 1.19, profMemActiveLock: 0 = unlocked.
	MemLock Var
	// MemRate is runtime.MemProfileRate, an int: bytes; 0 = off.
	MemRate Var
	// MemLinked reports that the program can read its own memory profile. The linker turns the
	// profile off in programs that cannot.
	MemLinked bool
	// AllGs is runtime.allgs, a slice of pointers to all goroutines, also ended ones.
	AllGs Var
	// WaitReasons are the texts of g.waitreason; nil = not found.
	WaitReasons []string
	// Offsets are those of the release. Known is false if the release is not in the table.
	Offsets Offsets
	Known   bool
}

// Offsets holds offsets of fields, in bytes, from the DWARF of a release; -1 = it does not have
// the field.
type Offsets struct {
	// In runtime.g.
	Sched, SyscallSP, SyscallPC, Status, ID, WaitReason, Tracking, ParentID, GoPC, StartPC int64
	// LR is in runtime.gobuf, after sp and pc.
	LR int64
	// Cycle is the size of runtime.memRecordCycle: four words, or since Go 1.27 only the two
	// numbers of objects.
	Cycle int64
	// Wrapper is the abi.FuncID of functions that the compiler made to call another.
	Wrapper uint8
}

var (
	memCycleVoters = append(voters("mProf_Malloc", "mProf_Free", "mProf_PostSweep"),
		voter{"mProf_Flush", "mProf_FlushLocked"})
	memFlushVoters = []voter{{"mProf_Flush", "mProf_FlushLocked"}, {"mProf_PostSweep", "mProf_FlushLocked"}}
	memLockVoters  = voters("mProf_Flush", "mProf_PostSweep")
	memRateVoters  = append(voters("profilealloc", "allocmcache"), voter{"parsedebugvars", "parsegodebug"})
	allGsVoters    = append(voters("allgadd", "forEachG"),
		voter{"gcMarkRootPrepare", "allGsSnapshot", "allGsSnapshotSortedForGC"})
	reasonVoters = voters("waitReason.String", "goroutineheader", "schedtrace", "forEachG")
)

// Records finds what is in Records. It takes a pass over all functions.
func (f *File) Records() Records {
	wanted := map[string]bool{"lock2": true, "unlock2": true}
	for _, list := range [][]voter{memCycleVoters, memFlushVoters, memLockVoters, memRateVoters, allGsVoters, reasonVoters,
		{{"stkbucket"}}} {
		for _, v := range list {
			for _, name := range v {
				wanted[name] = true
			}
		}
	}
	b := &ballot{img: f.img, funcs: f.tab.lookup(wanted), uses: map[string]uses{}, code: f.tab.code}
	r := Records{
		MemBuckets: b.memBuckets().unanimous(2),
		MemCycle:   b.count(memCycleVoters, sized(4)).unanimous(3),
		MemLock:    b.memLock().unanimous(1),
		MemRate:    b.count(memRateVoters, sized(8)).unanimous(3),
		AllGs:      b.count(allGsVoters, slices8).unanimous(2),
		MemLinked:  f.Has("runtime.", "MemProfile", "memProfileInternal", "pprof_memProfileInternal"),
	}
	r.WaitReasons = b.waitReasons()
	if r.Offsets, r.Known = records[f.Minor]; !released(f.Version) {
		r.Known = false
	}
	return r
}

// unanimous clears the address if not all of least or more voters named it, and only it. Rivals
// are close: each variable is beside others in most of its voters.
func (v Var) unanimous(least int) Var {
	return v.unless(v.Of >= least && v.Votes == v.Of && v.Rival < v.Of)
}

// slices8 returns the addresses of slices: a word and the next one are used.
func slices8(u uses) []uint64 {
	words := map[uint64]bool{}
	for _, addr := range sized(8)(u) {
		words[addr] = true
	}
	var list []uint64
	for addr := range words {
		if words[addr+8] && !words[addr-8] {
			list = append(list, addr)
		}
	}
	return list
}

// memBuckets finds the head of the list that all flushes read, and that stkbucket prepends to
// directly or by its address.
func (b *ballot) memBuckets() Var {
	made, ok := b.of(voter{"stkbucket"})
	if !ok {
		return Var{}
	}
	adds := map[uint64]bool{}
	for _, d := range made.data {
		adds[d.addr] = d.size == 0 || d.size == 8 || adds[d.addr]
	}
	return b.count(memFlushVoters, func(u uses) []uint64 {
		var addrs []uint64
		for _, addr := range sized(8)(u) {
			if adds[addr] {
				addrs = append(addrs, addr)
			}
		}
		return addrs
	})
}

// memLock finds the lock that all flushes take.
func (b *ballot) memLock() Var {
	return b.count(memLockVoters, func(u uses) []uint64 {
		var addrs []uint64
		for _, c := range u.calls {
			for _, name := range []string{"lock2", "unlock2"} {
				if method, ok := b.funcs[name]; ok && c.target == method.entry && c.arg != 0 {
					addrs = append(addrs, c.arg)
				}
			}
		}
		return addrs
	})
}

// waitReasons reads the texts at the address that starts like them. Releases differ in the
// others.
func (b *ballot) waitReasons() []string {
	const first, maxReasons, maxText = "GC assist marking", 256, 64
	for _, v := range reasonVoters {
		u, _ := b.of(v)
		for _, d := range u.data {
			texts := []string{""}
			for i := uint64(1); i < maxReasons; i++ {
				w, ok := b.img.words(d.addr+16*i, 2)
				if !ok || w[1] == 0 || w[1] > maxText {
					break
				}
				p := make([]byte, w[1])
				if b.img.read(p, w[0]) < len(p) ||
					strings.ContainsFunc(string(p), func(r rune) bool { return r < ' ' || r > '~' }) {
					break
				}
				texts = append(texts, string(p))
				if i == 1 && texts[1] != first {
					break
				}
			}
			if len(texts) > 1 && texts[1] == first {
				return texts
			}
		}
	}
	return nil
}
