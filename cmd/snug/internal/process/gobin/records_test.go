// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"slices"
	"testing"
)

// TestRecords compares the places of records with the symbol table and the DWARF of each release.
func TestRecords(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, m := range []mode{exe, pie, armexe, armpie, cgoexe} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				path := build(t, toolchain, m)
				f := open(t, path)
				truth := symbols(t, path)
				r := f.Records()
				lock, cycle := "runtime.profMemActiveLock", "runtime.mProfCycle"
				if f.Minor == 18 {
					lock, cycle = "runtime.proflock", "runtime.mProf"
				}
				for _, v := range []struct {
					symbol string
					got    Var
				}{
					{"runtime.mbuckets", r.MemBuckets}, {cycle, r.MemCycle}, {lock, r.MemLock},
					{"runtime.MemProfileRate", r.MemRate}, {"runtime.allgs", r.AllGs},
				} {
					if want := truth.of(v.symbol); v.got.Addr != want {
						t.Errorf("%s at %#x, want %#x; %+v", v.symbol, v.got.Addr, want, v.got)
					}
				}
				if n := len(r.WaitReasons); n < 27 || !slices.Contains(r.WaitReasons, "chan receive") || !slices.Contains(r.WaitReasons, "select") {
					t.Errorf("wait reasons %q", r.WaitReasons)
				}
				if !r.Known || r.MemLinked {
					t.Errorf("known %v, linked %v", r.Known, r.MemLinked)
				}
				for field, got := range map[string]int64{
					"sched": r.Offsets.Sched, "syscallsp": r.Offsets.SyscallSP, "syscallpc": r.Offsets.SyscallPC, "atomicstatus": r.Offsets.Status,
					"goid": r.Offsets.ID, "waitreason": r.Offsets.WaitReason, "trackingSeq": r.Offsets.Tracking, "gopc": r.Offsets.GoPC, "startpc": r.Offsets.StartPC,
				} {
					if want := truth.field("runtime.allgs", "runtime.g", field) - truth.of("runtime.allgs"); uint64(got) != want {
						t.Errorf("g.%s at %d, want %d", field, got, want)
					}
				}
			})
		}
	}
}
