// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"debug/dwarf"
	"debug/elf"
	"testing"
)

// TestVotes: the addresses elected are those of the symbol table, the offsets
// within structs those of DWARF.
func TestVotes(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, m := range []mode{exe, pie, armexe, armpie, cgoexe, cgopie} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				path := build(t, toolchain, m)
				f := open(t, path)
				truth := symbols(t, path)
				if f.Arch != m.arch || f.PIE != (m == pie || m == armpie || m == cgopie) {
					t.Errorf("arch %s, PIE %v", f.Arch, f.PIE)
				}
				if f.BuildID != "program" {
					t.Errorf("build id %q", f.BuildID)
				}
				if f.TextStart != truth.of("runtime.text") {
					t.Errorf("text at %#x, want %#x", f.TextStart, truth.of("runtime.text"))
				}
				v := f.Vars()
				check := func(name string, got Var, want uint64) {
					if got.Addr != want {
						t.Errorf("%s at %#x, want %#x; %+v", name, got.Addr, want, got)
					}
				}
				check("GOMAXPROCS", v.GOMAXPROCS, truth.of("runtime.gomaxprocs"))
				check("GCController", v.GCController, truth.of("runtime.gcController"))
				check("PauseTotal", v.PauseTotal, truth.field("runtime.memstats", "runtime.mstats", "pause_total_ns"))
				check("Spinning", v.Spinning, truth.field("runtime.sched", "runtime.schedt", "nmspinning"))
				check("npidle", Var{Addr: v.Spinning.Addr - 4}, truth.field("runtime.sched", "runtime.schedt", "npidle"))
				check("AllGs", v.AllGs, truth.of("runtime.allgs"))
				check("AllPs", v.AllPs, truth.of("runtime.allp"))
				check("CPUStats", v.CPUStats, ifSince(t, f, 21, truth.field("runtime.work", "runtime.workType", "cpuStats")))
				check("CustomGOMAXPROCS", v.CustomGOMAXPROCS, ifSince(t, f, 25, truth.field("runtime.sched", "runtime.schedt", "customGOMAXPROCS")))
			})
		}
	}
}

// ifSince is addr from a release on, which has to know it.
func ifSince(t *testing.T, f *File, release int, addr uint64) uint64 {
	t.Helper()
	if f.Minor < release {
		return 0
	}
	if addr == 0 {
		t.Error("not in the debug information")
	}
	return addr
}

// debugInfo is what an unstripped program says of itself.
type debugInfo struct {
	t       *testing.T
	symbols map[string]uint64
	types   *dwarf.Data
}

func symbols(t *testing.T, path string) debugInfo {
	t.Helper()
	e, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	list, err := e.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	d := debugInfo{t: t, symbols: map[string]uint64{}}
	for _, s := range list {
		d.symbols[s.Name] = s.Value
	}
	if d.types, err = e.DWARF(); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d debugInfo) of(symbol string) uint64 {
	d.t.Helper()
	addr := d.symbols[symbol]
	if addr == 0 {
		d.t.Fatalf("no symbol %s", symbol)
	}
	return addr
}

// field is the address of a field of a variable; 0 when there is none.
func (d debugInfo) field(symbol, typ, name string) uint64 {
	d.t.Helper()
	r := d.types.Reader()
	for {
		e, err := r.Next()
		if err != nil {
			d.t.Fatal(err)
		}
		if e == nil {
			return 0
		}
		switch {
		case typ == "runtime.workType" && e.Tag == dwarf.TagVariable && e.Val(dwarf.AttrName) == symbol:
			// The variable's type has no name.
			off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
			if !ok {
				continue
			}
			t, err := d.types.Type(off)
			if err != nil {
				d.t.Fatal(err)
			}
			return d.of(symbol) + offset(t, name)
		case e.Tag == dwarf.TagStructType && e.Val(dwarf.AttrName) == typ:
			t, err := d.types.Type(e.Offset)
			if err != nil {
				d.t.Fatal(err)
			}
			return d.of(symbol) + offset(t, name)
		}
	}
}

func offset(t dwarf.Type, name string) uint64 {
	if def, ok := t.(*dwarf.TypedefType); ok {
		t = def.Type
	}
	if s, ok := t.(*dwarf.StructType); ok {
		for _, f := range s.Field {
			if f.Name == name {
				return uint64(f.ByteOffset)
			}
		}
	}
	return 0
}

// TestStripped: without symbols the same votes are cast, though for other
// addresses: stripping moves what stands behind.
func TestStripped(t *testing.T) {
	for _, pair := range [][2]mode{{exe, stripped}, {pie, piestrip}, {armexe, armstrip}, {cgopie, cgostrip}} {
		t.Run(pair[1].String(), func(t *testing.T) {
			whole, bare := open(t, build(t, "local", pair[0])), open(t, build(t, "local", pair[1]))
			if e, err := elf.Open(build(t, "local", pair[1])); err != nil || e.Section(".symtab") != nil {
				t.Fatal("has symbols")
			}
			sameVotes(t, bare.Vars(), whole.Vars())
		})
	}
}

func sameVotes(t *testing.T, got, want Vars) {
	t.Helper()
	list := func(v Vars) []Var {
		return []Var{v.GOMAXPROCS, v.GCController, v.PauseTotal, v.CPUStats, v.CustomGOMAXPROCS, v.Spinning, v.AllGs, v.AllPs}
	}
	for i, w := range list(want) {
		g := list(got)[i]
		if (g.Addr == 0) != (w.Addr == 0) || g.Votes != w.Votes || g.Of != w.Of {
			t.Errorf("variable %d: %+v, want %+v", i, g, w)
		}
	}
}

// TestThresholds: an address that too few name is unknown.
func TestThresholds(t *testing.T) {
	for _, c := range []struct {
		name string
		v    Var
		want bool
	}{
		{"all of eleven", Var{1, 11, 11, 4}, true},
		{"the least seen", Var{1, 8, 9, 3}, true},
		{"seven of ten", Var{1, 7, 10, 4}, true},
		{"too few", Var{1, 7, 11, 0}, false},
		{"a near rival", Var{1, 11, 11, 9}, false},
		{"one function left", Var{1, 1, 1, 0}, false},
		{"none", Var{}, false},
	} {
		if got := c.v.clear(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
