// SPDX-License-Identifier: Apache-2.0

package gobin

import "golang.org/x/arch/x86/x86asm"

// use is the use of a fixed address by an instruction.
type use struct {
	addr uint64
	size int // bytes read or written; 0 = the address is taken
}

// call is a call of a fixed address. arg is its first argument if that is a fixed address;
// otherwise 0.
type call struct{ target, arg uint64 }

// uses lists the addresses that a function uses, in order.
type uses struct {
	data  []use
	calls []call
}

func (u *uses) disassemble(arch string, code []byte, pc uint64) {
	if arch == "arm64" {
		u.arm64(code, pc)
	} else {
		u.amd64(code, pc)
	}
}

// amd64 adds the uses in amd64 code. Variables are addressed relative to the instruction
// pointer, or through a register that LEA loaded from such an address.
func (u *uses) amd64(code []byte, pc uint64) {
	var reg [16]uint64 // known content; 0 = unknown
	for len(code) > 0 {
		inst, err := x86asm.Decode(code, 64)
		if err != nil || inst.Len <= 0 || inst.Len > len(code) {
			reg = [16]uint64{}
			code, pc = code[1:], pc+1
			continue
		}
		next := pc + uint64(inst.Len)
		var addr uint64
		for _, a := range inst.Args {
			m, ok := a.(x86asm.Mem)
			if !ok {
				continue
			}
			if m.Base == x86asm.RIP {
				addr = next + uint64(int32(m.Disp)) // the decoder leaves four bytes without their sign
			} else if r, ok := register(m.Base); ok && reg[r] != 0 && m.Index == 0 {
				addr = reg[r] + uint64(int32(m.Disp))
			} else {
				continue
			}
			size := inst.MemBytes
			if inst.Op == x86asm.LEA {
				size = 0
			}
			u.data = append(u.data, use{addr, size})
		}
		switch inst.Op {
		case x86asm.CALL:
			if rel, ok := inst.Args[0].(x86asm.Rel); ok {
				u.calls = append(u.calls, call{next + uint64(rel), reg[0]})
			}
			reg = [16]uint64{}
		case x86asm.JMP, x86asm.RET:
			reg = [16]uint64{}
		case x86asm.CMP, x86asm.TEST:
		default:
			forget(&reg, inst)
			if r, ok := register(inst.Args[0]); ok && inst.Op == x86asm.LEA && inst.DataSize == 64 {
				reg[r] = addr
			}
		}
		code, pc = code[inst.Len:], next
	}
}

// forget drops the registers that inst writes: the first operand, both operands of an exchange,
// and implicit operands of some instructions.
func forget(reg *[16]uint64, inst x86asm.Inst) {
	for _, a := range inst.Args[:2] {
		if r, ok := register(a); ok && (a == inst.Args[0] || inst.Op == x86asm.XCHG || inst.Op == x86asm.XADD) {
			reg[r] = 0
		}
	}
	switch inst.Op {
	case x86asm.MUL, x86asm.IMUL, x86asm.DIV, x86asm.IDIV, x86asm.CDQ, x86asm.CQO, x86asm.CMPXCHG, x86asm.RDTSC:
		reg[0], reg[2] = 0, 0
	case x86asm.CPUID, x86asm.XGETBV, x86asm.SYSCALL, x86asm.CMPXCHG16B,
		x86asm.MOVSB, x86asm.MOVSD, x86asm.MOVSQ, x86asm.STOSB, x86asm.STOSD, x86asm.STOSQ:
		*reg = [16]uint64{}
	}
}

// register returns the number of a general register, whole or in part.
func register(a x86asm.Arg) (int, bool) {
	r, ok := a.(x86asm.Reg)
	switch {
	case !ok:
	case r >= x86asm.RAX && r <= x86asm.R15:
		return int(r - x86asm.RAX), true
	case r >= x86asm.EAX && r <= x86asm.R15L:
		return int(r - x86asm.EAX), true
	case r >= x86asm.AX && r <= x86asm.R15W:
		return int(r - x86asm.AX), true
	case r >= x86asm.AL && r <= x86asm.BL:
		return int(r - x86asm.AL), true
	case r >= x86asm.AH && r <= x86asm.BH:
		return int(r - x86asm.AH), true
	case r >= x86asm.SPB && r <= x86asm.R15B:
		return int(r-x86asm.SPB) + 4, true
	}
	return 0, false
}

// arm64 adds the uses in arm64 code. It follows addresses in registers: ADRP loads the address
// of a page; ADD, loads and stores add an offset (Arm Architecture Reference Manual, C4.1).
func (u *uses) arm64(code []byte, pc uint64) {
	var reg [32]uint64 // known content; 0 = unknown
	for ; len(code) >= 4; code, pc = code[4:], pc+4 {
		w := le.Uint32(code)
		rd, rn := w&31, w>>5&31
		base := reg[rn]
		if rn == 31 {
			base = 0 // the stack
		}
		switch {
		case w&0x9f000000 == 0x90000000: // ADRP
			imm := int64(w>>5&0x7ffff)<<2 | int64(w>>29&3)
			reg[rd] = pc&^0xfff + uint64(imm<<43>>31)
		case w&0x9f000000 == 0x10000000: // ADR
			imm := int64(w>>5&0x7ffff)<<2 | int64(w>>29&3)
			reg[rd] = pc + uint64(imm<<43>>43)
			u.data = append(u.data, use{reg[rd], 0})
		case w&0xff800000 == 0x91000000: // ADD immediate, 64 bits
			imm := uint64(w >> 10 & 0xfff)
			if w>>22&1 != 0 {
				imm <<= 12
			}
			reg[rd] = 0
			if base != 0 {
				reg[rd] = base + imm
				u.data = append(u.data, use{reg[rd], 0})
			}
		case w&0xfc000000 == 0x94000000: // BL
			u.calls = append(u.calls, call{pc + uint64(int64(w&0x3ffffff)<<38>>36), reg[0]})
			reg = [32]uint64{}
		case w&0xfffffc1f == 0xd63f0000, // BLR
			w&0xfffffc1f == 0xd65f0000, // RET
			w&0xfc000000 == 0x14000000: // B
			reg = [32]uint64{}
		case w&0xfe000000 == 0x54000000, // B.cond
			w&0x7e000000 == 0x34000000, // CBZ, CBNZ
			w&0x7e000000 == 0x36000000: // TBZ, TBNZ
		case w&0x3b000000 == 0x39000000: // LDR, STR with unsigned offset
			size := w >> 30
			load := w>>22&1 != 0 || w>>22&3 == 2
			if w>>26&1 != 0 { // of a vector register
				size |= w >> 23 & 1 << 2
				load = false
			}
			if base != 0 {
				u.data = append(u.data, use{base + uint64(w>>10&0xfff)<<size, 1 << size})
			}
			if load {
				reg[rd] = 0
			}
		case w&0x3b200c00 == 0x38000000: // LDUR, STUR
			if base != 0 && w>>26&1 == 0 {
				u.data = append(u.data, use{base + uint64(int64(w>>12&0x1ff)<<55>>55), 1 << (w >> 30)})
			}
			if w>>26&1 == 0 && w>>22&3 != 0 {
				reg[rd] = 0
			}
		case w&0x3f000000 == 0x08000000: // LDAR, STLR, LDAXR, STLXR, CAS
			if base != 0 {
				u.data = append(u.data, use{base, 1 << (w >> 30)})
			}
			reg[rd] = 0
			reg[w>>16&31] = 0
		case w&0x3b200c00 == 0x38200000: // LDADD, SWP and the like
			if base != 0 {
				u.data = append(u.data, use{base, 1 << (w >> 30)})
			}
			reg[rd] = 0
		case w&0x3a000000 == 0x28000000: // LDP, STP
			if base != 0 && w>>26&1 == 0 {
				scale := 2 + w>>31
				at := base + uint64(int64(w>>15&0x7f)<<57>>57)<<scale
				u.data = append(u.data, use{at, 1 << scale}, use{at + 1<<scale, 1 << scale})
			}
			if w>>22&1 != 0 {
				reg[rd], reg[w>>10&31] = 0, 0
			}
			if w>>23&1 != 0 {
				reg[rn] = 0 // written back
			}
		default:
			reg[rd] = 0
		}
	}
}
