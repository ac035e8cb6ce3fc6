// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"slices"

	"golang.org/x/arch/x86/x86asm"
)

// Setters lists the functions of a program that set GOMAXPROCS or GOMEMLIMIT when called, sorted
// and without duplicates.
type Setters struct {
	GOMAXPROCS []string
	GOMEMLIMIT []string
}

// setter is a function of the runtime that sets a value. An argument below reads only reads the
// value (runtime.GOMAXPROCS: below 1; runtime/debug.SetMemoryLimit: below 0).
type setter struct {
	name  string // without "runtime"
	reads int64
}

// debug.SetMemoryLimit only calls setMemoryLimit and is inlined.
var setters = []setter{{".GOMAXPROCS", 1}, {"/debug.setMemoryLimit", 0}}

// Bounds against hostile programs: calls that are examined, and the code of the functions that
// contain them.
const (
	maxCalls = 10_000
	maxCode  = 16 << 20
)

// Setters finds the functions that call runtime.GOMAXPROCS and debug.SetMemoryLimit to set a
// value: the argument is not a constant that only reads. It reads all code of the program. It
// does not find calls through function values.
func (f *File) Setters() Setters {
	f.mu.Lock()
	defer f.mu.Unlock()
	wanted := map[string]bool{}
	for _, s := range setters {
		wanted[s.name] = true
	}
	// There may be several: a wrapper between calling conventions has the name of its callee.
	var targets []uint64
	set := map[uint64]string{}
	f.tab.named(f.tab.nameOffsets("\x00runtime", wanted), func(name string, fn fn) {
		targets = append(targets, fn.entry)
		set[fn.entry] = name
	})
	if len(targets) == 0 {
		return Setters{}
	}
	found := map[string][]string{}
	looked := map[uint64]bool{}
	calls, code := maxCalls, uint64(maxCode)
	f.img.calls(func(pc, to uint64) {
		if !slices.Contains(targets, to) || calls == 0 {
			return
		}
		calls--
		fn, ok := f.tab.find(pc)
		if !ok || looked[fn.entry] || set[fn.entry] != "" || fn.end-fn.entry > code {
			return
		}
		looked[fn.entry] = true
		code -= fn.end - fn.entry
		for _, c := range constants(f.img.arch, f.tab.code(fn), fn.entry) {
			for _, s := range setters {
				if s.name == set[c.target] && !(c.known && c.arg < s.reads) {
					found[s.name] = append(found[s.name], caller(f.tab.frames(nil, c.pc)))
				}
			}
		}
	})
	list := func(of string) []string {
		slices.Sort(found[of])
		return slices.Compact(found[of])
	}
	return Setters{list(".GOMAXPROCS"), list("/debug.setMemoryLimit")}
}

// caller returns the function that called, from the calls at a pc. It skips the inlined
// debug.SetMemoryLimit.
func caller(frames []Frame) string {
	for _, f := range frames {
		if f.Function != "runtime/debug.SetMemoryLimit" {
			return f.Function
		}
	}
	return "?"
}

// calls visits possible calls of fixed addresses in the code of all segments.
func (m *image) calls(visit func(pc, to uint64)) {
	if m.arch == "arm64" {
		m.chunks(func(p []byte, addr uint64) {
			for ; len(p) >= 4; p, addr = p[4:], addr+4 {
				if to, ok := branch(le.Uint32(p), addr); ok {
					visit(addr, to)
				}
			}
		})
		return
	}
	m.chunks(func(p []byte, addr uint64) {
		for i := 0; ; i++ {
			j := bytes.IndexByte(p[i:], 0xe8) // CALL rel32
			if j < 0 || i+j+5 > len(p) {
				return
			}
			i += j
			visit(addr+uint64(i), addr+uint64(i)+5+uint64(int64(int32(le.Uint32(p[i+1:])))))
		}
	})
}

// branch returns the target of arm64's BL.
func branch(w uint32, pc uint64) (uint64, bool) {
	return pc + uint64(int64(w&0x3ffffff)<<38>>36), w&0xfc000000 == 0x94000000
}

// chunks visits all code. Consecutive chunks overlap by four bytes, so that every
// instruction of five is whole in one of them.
func (m *image) chunks(visit func(p []byte, addr uint64)) {
	const chunk, overlap = 1 << 20, 4
	buf := make([]byte, chunk+overlap)
	budget := uint64(maxScan)
	for _, s := range m.segs {
		if !code(s) {
			continue
		}
		for at := uint64(0); at < s.filesz && budget > 0; at += chunk {
			p := buf[:min(uint64(len(buf)), s.filesz-at)]
			visit(p[:m.read(p, s.addr+at)], s.addr+at)
			budget -= min(budget, chunk)
		}
	}
}

// constant is a call with its first argument, if that is known.
type constant struct {
	pc, target uint64
	arg        int64
	known      bool
}

// constants returns the calls of fixed addresses in a function. An argument is known only from
// the instructions between the last jump target and the call.
func constants(arch string, code []byte, pc uint64) []constant {
	if arch == "arm64" {
		return constantsARM64(code, pc)
	}
	return constantsAMD64(code, pc)
}

// constantsAMD64 is constants for amd64: the first argument is in AX (Go's internal ABI, since Go
// 1.17).
func constantsAMD64(code []byte, pc uint64) []constant {
	type step struct {
		x86asm.Inst
		pc uint64
	}
	var steps []step
	joins := map[uint64]bool{}
	for len(code) > 0 {
		inst, err := x86asm.Decode(code, 64)
		if err != nil || inst.Len <= 0 || inst.Len > len(code) {
			inst = x86asm.Inst{Len: 1}
		}
		next := pc + uint64(inst.Len)
		steps = append(steps, step{inst, pc})
		if rel, ok := inst.Args[0].(x86asm.Rel); ok && inst.Op != x86asm.CALL {
			joins[next+uint64(rel)] = true
		}
		code, pc = code[inst.Len:], next
	}
	var all []constant
	var ax int64
	known := false
	for _, s := range steps {
		if joins[s.pc] {
			known = false
		}
		if s.Op == x86asm.CALL {
			if rel, ok := s.Args[0].(x86asm.Rel); ok {
				all = append(all, constant{s.pc, s.pc + uint64(s.Len) + uint64(rel), ax, known})
			}
			known = false
			continue
		}
		was := [16]uint64{0: 1}
		forget(&was, s.Inst)
		writes := was[0] == 0 && s.Op != x86asm.CMP && s.Op != x86asm.TEST
		first, _ := register(s.Args[0])
		imm, isImm := s.Args[1].(x86asm.Imm)
		switch {
		case s.Op == 0 || s.Op == x86asm.JMP || s.Op == x86asm.RET:
			known = false
		case writes && first == 0 && s.Op == x86asm.XOR && s.Args[0] == s.Args[1]:
			ax, known = 0, true
		case writes && first == 0 && s.Op == x86asm.MOV && isImm && s.DataSize >= 32:
			ax, known = int64(imm), true
			if s.DataSize == 32 {
				ax = int64(uint32(imm))
			}
		case writes:
			known = false
		}
	}
	return all
}

// constantsARM64 is constants for arm64: the first argument is in R0.
func constantsARM64(code []byte, pc uint64) []constant {
	joins := map[uint64]bool{}
	for i := 0; i+4 <= len(code); i += 4 {
		w, at := le.Uint32(code[i:]), pc+uint64(i)
		switch {
		case w&0xfc000000 == 0x14000000: // B
			joins[at+uint64(int64(w&0x3ffffff)<<38>>36)] = true
		case w&0xfe000000 == 0x54000000, w&0x7e000000 == 0x34000000: // B.cond; CBZ, CBNZ
			joins[at+uint64(int64(w>>5&0x7ffff)<<45>>43)] = true
		case w&0x7e000000 == 0x36000000: // TBZ, TBNZ
			joins[at+uint64(int64(w>>5&0x3fff)<<50>>48)] = true
		}
	}
	var all []constant
	var r0 int64
	known := false
	for ; len(code) >= 4; code, pc = code[4:], pc+4 {
		w := le.Uint32(code)
		if joins[pc] {
			known = false
		}
		to, isCall := branch(w, pc)
		switch {
		case isCall:
			all = append(all, constant{pc, to, r0, known})
			known = false
		case w == 0xaa1f03e0: // MOV X0, XZR
			r0, known = 0, true
		case w&0xffe0001f == 0xd2800000: // MOVZ X0, no shift
			r0, known = int64(w>>5&0xffff), true
		case w&0xffe0001f == 0x92800000: // MOVN X0, no shift
			r0, known = ^int64(w>>5&0xffff), true
		case w&0xfc000000 == 0x14000000, w&0xfffffc1f == 0xd63f0000, w&0xfffffc1f == 0xd65f0000: // B, BLR, RET
			known = false
		case w&31 == 0 || w>>10&31 == 0: // may write R0, as the second of a pair too
			known = false
		}
	}
	return all
}
