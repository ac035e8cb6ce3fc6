// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/arch/x86/x86asm"
)

// arm returns instructions of arm64 as bytes.
func arm(words ...uint32) []byte {
	var p []byte
	for _, w := range words {
		p = le.AppendUint32(p, w)
	}
	return p
}

// bits returns bytes written in hexadecimal.
func bits(t *testing.T, text string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// said returns uses in one line: address/size, and call>target(argument).
func (u uses) said() string {
	var s []string
	for _, d := range u.data {
		s = append(s, fmt.Sprintf("%x/%d", d.addr, d.size))
	}
	for _, c := range u.calls {
		s = append(s, fmt.Sprintf("call>%x(%x)", c.target, c.arg))
	}
	return strings.Join(s, " ")
}

// Instructions of arm64. Page 0x10000, code at 0x20000.
const (
	nop   = 0xd503201f
	adrp0 = 0xf0ffff80 // ADRP X0, -13 pages: 0x13000
	adrp1 = 0x90000001 // ADRP X1, this page: 0x20000
	adrp2 = 0x90000002
	ret   = 0xd65f03c0
)

func TestARM64(t *testing.T) {
	for _, c := range []struct {
		name string
		code []byte
		want string
	}{
		{"ADRP alone uses nothing", arm(adrp1), ""},
		{"ADRP backwards, ADD", arm(adrp0, 0x91004000), "13010/0"}, // ADD X0, X0, 0x10
		{"ADD shifted by 12", arm(adrp1, 0x91400421), "21000/0"},   // ADD X1, X1, 1, LSL 12
		{"ADD of nothing known", arm(0x91004000), ""},
		{"ADD to the stack pointer", arm(adrp1, 0x910043e1), ""}, // ADD X1, SP, 0x10
		{"a register 31 is the stack", arm(0x9000001f, 0x910043e1), ""},
		{"32 bits are no address", arm(adrp1, 0x11004021), ""}, // ADD W1, W1, 0x10
		{"ADR", arm(nop, 0x10000041), "2000c/0"},               // ADR X1, .+8 at 0x20004
		{"ADR backwards", arm(0x10ffffe1), "1fffc/0"},
		{"ADR by bytes", arm(0x30000001), "20001/0"},
		{"loads of 1, 2, 4, 8", arm(adrp1, 0x39401022, 0x79401022, 0xb9401022, 0xf9401022), "20004/1 20008/2 20010/4 20020/8"},
		{"stores of 1, 2, 4, 8", arm(adrp1, 0x39001022, 0x79001022, 0xb9001022, 0xf9001022), "20004/1 20008/2 20010/4 20020/8"},
		{"a load of 16", arm(adrp1, 0x3dc00422), "20010/16"}, // LDR Q2, [X1, 16]
		{"a load of a vector register leaves the register", arm(adrp1, adrp2, 0xfd400022, 0xf9400043), "20000/8 20000/8"},
		{"a load forgets its register", arm(adrp1, 0xf9400021, 0xf9400022), "20000/8"},
		{"a load with sign too", arm(adrp1, 0xb9800021, 0xf9400022), "20000/4"},
		{"a store does not", arm(adrp1, 0xf9000021, 0xf9400022), "20000/8 20000/8"},
		{"LDUR", arm(adrp1, 0xf85f8022, 0xf8408022), "1fff8/8 20008/8"},
		{"LDUR forgets its register", arm(adrp1, 0xf8408021, 0xf9400022), "20008/8"},
		{"STUR does not", arm(adrp1, 0xb8008021, 0xf9400022), "20008/4 20000/8"},
		{"LDUR of a vector register", arm(adrp1, 0xfc408021, 0xf9400022), "20000/8"},
		{"LDAR", arm(adrp1, 0x88dffc22, 0xc8dffc22), "20000/4 20000/8"},
		{"LDAXR forgets", arm(adrp1, 0xc85ffc21, 0xf9400022), "20000/8"},
		{"STLXR forgets its status", arm(adrp1, adrp2, 0xc802fc23, 0xf9400044), "20000/8"},
		{"LDADD", arm(adrp1, 0xf8200022, 0xb8e00022), "20000/8 20000/4"},
		{"LDADD forgets", arm(adrp1, 0xf8200021, 0xf9400022), "20000/8"},
		{"LDP", arm(adrp1, 0xa9410022+3<<10), "20010/8 20018/8"},
		{"LDP of 4", arm(adrp1, 0x29410022+3<<10), "20008/4 2000c/4"},
		{"LDP backwards", arm(adrp1, 0xa97f0022+3<<10), "1fff0/8 1fff8/8"},
		{"LDP forgets both", arm(adrp1, adrp2, 0xa9400c22-1+0, 0xf9400022), "20000/8 20008/8"},
		{"LDP forgets the second", arm(adrp1, adrp2, 0xa9400823, 0xf9400044, 0xf9400025), "20000/8 20008/8 20000/8"},
		{"STP leaves both", arm(adrp1, adrp2, 0xa9000822, 0xf9400044), "20000/8 20008/8 20000/8"},
		{"STP that writes back", arm(adrp1, 0xa9810c22, 0xf9400022), "20010/8 20018/8"},
		{"LDP of vector registers", arm(adrp1, 0xad400c22, 0xf9400022), "20000/8"},
		{"BL with an argument", arm(adrp0, 0x91004000, 0x94000002, 0xf9400001), "13010/0 call>20010(13010)"},
		{"BL backwards", arm(nop, 0x97ffffff), "call>20000(0)"},
		{"BL forgets all", arm(adrp1, 0x94000000, 0xf9400022), "call>20004(0)"},
		{"RET, BLR and B forget all", arm(adrp1, ret, 0xf9400022, adrp1, 0xd63f0060, 0xf9400022, adrp1, 0x14000010, 0xf9400022), ""},
		{"conditional branches do not", arm(adrp1, 0x54000041, 0xf9400022, 0xb4000041, 0xf9400022, 0xb5000041, 0x36000041, 0x37000041, 0xf9400022), "20000/8 20000/8 20000/8"},
		{"all else forgets its register", arm(adrp1, 0x8b020021, 0xf9400022), ""},
		{"and no other", arm(adrp1, 0x8b020022, 0xf9400022), "20000/8"},
		{"three bytes are no instruction", arm(adrp1, 0xf9400022)[:7], ""},
	} {
		var u uses
		u.disassemble("arm64", c.code, 0x20000)
		if got := u.said(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestAMD64(t *testing.T) {
	for _, c := range []struct{ name, code, want string }{
		{"MOV from memory", "488b0510000000", "20017/8"},
		{"MOV to memory, 4 bytes", "890510000000", "20016/4"},
		{"MOV backwards", "488b05f0ffffff", "1fff7/8"},
		{"one byte", "803d1000000000 ", "20017/1"},
		{"LEA takes the address", "488d0510000000", "20017/0"},
		{"through a register", "488d0510000000 488b4808", "20017/0 2001f/8"},
		{"through a register, backwards", "488d0510000000 488b48f8", "20017/0 2000f/8"},
		{"by four bytes backwards", "488d0510000000 488b88f8ffffff", "20017/0 2000f/8"},
		{"through R8", "4c8d0510000000 498b4808", "20017/0 2001f/8"},
		{"not with an index", "488d0510000000 488b4c1808", "20017/0"},
		{"not through another", "488d0510000000 488b4b08", "20017/0"},
		{"LEA of 32 bits is no address", "8d0510000000 488b4808", "20016/0"},
		{"CALL with its argument", "488d0510000000 e805000000", "20017/0 call>20011(20017)"},
		{"CALL without", "e8fbffffff", "call>20000(0)"},
		{"CALL forgets all", "488d1d10000000 e800000000 488b4b08", "20017/0 call>2000c(0)"},
		{"CALL of a register forgets too", "488d1d10000000 ffd1 488b4b08", "20017/0"},
		{"JMP and RET forget all", "488d1d10000000 eb00 488b4b08 488d1d10000000 c3 488b4b08", "20017/0 20024/0"},
		{"CMP and TEST do not", "488d1d10000000 4839cb 4885db 488b4b08", "20017/0 2001f/8"},
		{"MOV forgets its first operand", "488d1d10000000 4889cb 488b4b08", "20017/0"},
		{"and not its second", "488d1d10000000 4889d9 488b4b08", "20017/0 2001f/8"},
		{"XCHG forgets both", "488d1d10000000 4887d9 488b4b08", "20017/0"},
		{"XADD forgets both", "488d1d10000000 480fc1d9 488b4b08", "20017/0"},
		{"part of a register is the register", "488d1d10000000 b301 488b4b08", "20017/0"},
		{"the second byte too", "488d1d10000000 b701 488b4b08", "20017/0"},
		{"16 and 32 bits too", "488d1d10000000 66bb0100 488b4b08 488d1d10000000 bb01000000 488b4b08", "20017/0 20026/0"},
		{"a byte of SI", "488d3510000000 40b601 488b4e08", "20017/0"},
		{"a byte of R15", "4c8d3d10000000 41b701 498b4f08", "20017/0"},
		{"R15, 16 and 32 bits", "4c8d3d10000000 6641bf0100 498b4f08 4c8d3d10000000 41bf01000000 498b4f08", "20017/0 20027/0"},
		{"MUL forgets AX and DX", "488d0510000000 488d1510000000 488d1d10000000 48f7e1 488b4808 488b4a08 488b4b08", "20017/0 2001e/0 20025/0 2002d/8"},
		{"CPUID forgets all", "488d1d10000000 0fa2 488b4b08", "20017/0"},
		{"STOSQ with REP forgets all", "488d1d10000000 f348ab 488b4b08", "20017/0"},
		{"what is no instruction forgets all", "488d1d10000000 06 488b4b08", "20017/0"},
		{"and is one byte long", "06 488b0510000000", "20018/8"},
		{"an instruction that is cut off", "488b051000", ""},
	} {
		var u uses
		u.disassemble("amd64", bits(t, c.code), 0x20000)
		if got := u.said(); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// TestConstants: the arguments of calls that are known.
func TestConstants(t *testing.T) {
	for _, c := range []struct {
		name, arch string
		code       []byte
		want       string
	}{
		{"MOV", "amd64", bits(t, "b807000000 e800000000"), "5>a(7)"},
		{"MOV of 32 bits has no sign", "amd64", bits(t, "b8ffffffff e800000000"), "5>a(4294967295)"},
		{"MOV of 64 bits", "amd64", bits(t, "48c7c0ffffffff e800000000"), "7>c(-1)"},
		{"MOV of 16 bits", "amd64", bits(t, "66b80700 e800000000"), "4>9(?)"},
		{"MOV to another register", "amd64", bits(t, "b807000000 bb08000000 e800000000"), "a>f(7)"},
		{"MOV from a register", "amd64", bits(t, "b807000000 4889d8 e800000000"), "8>d(?)"},
		{"XOR", "amd64", bits(t, "31c0 e800000000"), "2>7(0)"},
		{"XOR of two", "amd64", bits(t, "31d8 e800000000"), "2>7(?)"},
		{"XOR of another", "amd64", bits(t, "b807000000 31db e800000000"), "7>c(7)"},
		{"CMP and TEST write nothing", "amd64", bits(t, "b807000000 83f801 85c0 e800000000"), "a>f(7)"},
		{"ADD", "amd64", bits(t, "b807000000 83c001 e800000000"), "8>d(?)"},
		{"nothing", "amd64", bits(t, "e8fbffffff"), "0>0(?)"},
		{"only until the call", "amd64", bits(t, "31c0 e800000000 e800000000"), "2>7(0) 7>c(?)"},
		{"a call of a register too", "amd64", bits(t, "31c0 ffd1 e800000000"), "4>9(?)"},
		{"a jump before the call to it", "amd64", bits(t, "7402 31c0 e800000000"), "4>9(?)"},
		{"a jump back to it", "amd64", bits(t, "31c0 e800000000 75f9"), "2>7(?)"},
		{"a jump elsewhere", "amd64", bits(t, "7405 31c0 e800000000 90"), "4>9(0)"},
		{"JMP, RET, and no instruction", "amd64", bits(t, "31c0 eb01 90 e800000000 31c0 c3 e800000000 31c0 06 e800000000"), "5>a(?) d>12(?) 15>1a(?)"},
		{"MOVZ", "arm64", arm(0xd28000e0, 0x94000002), "4>c(7)"},
		{"MOVN", "arm64", arm(0x92800000, 0x97ffffff), "4>0(-1)"},
		{"MOV XZR", "arm64", arm(0xaa1f03e0, 0x94000001), "4>8(0)"},
		{"MOVZ with a shift", "arm64", arm(0xd2a000e0, 0x94000001), "4>8(?)"},
		{"MOVZ of another", "arm64", arm(0xd28000e0, 0xd2807c01, 0x94000001), "8>c(7)"},
		{"only until the call", "arm64", arm(0xd28000e0, 0x94000001, 0x94000001), "4>8(7) 8>c(?)"},
		{"B, BLR, RET", "arm64", arm(0xd28000e0, 0x14000001, 0x94000001, 0xd28000e0, 0xd63f0060, 0x94000001, 0xd28000e0, ret, 0x94000001), "8>c(?) 14>18(?) 20>24(?)"},
		{"a load into it, alone and as second", "arm64", arm(0xd28000e0, 0xf9400020, 0x94000001, 0xd28000e0, 0xa9400023, 0x94000001), "8>c(?) 14>18(?)"},
		{"B to it", "arm64", arm(0x14000002, 0xd28000e0, 0x94000001), "8>c(?)"},
		{"B back to it", "arm64", arm(0xd28000e0, 0x94000001, 0x17ffffff), "4>8(?)"},
		{"B.cond to it", "arm64", arm(0x54000041, 0xd28000e0, 0x94000001), "8>c(?)"},
		{"CBZ and CBNZ to it", "arm64", arm(0xb4000041, 0xd28000e0, 0x94000001, 0xb5000041, 0xd28000e0, 0x94000001), "8>c(?) 14>18(?)"},
		{"TBZ back to it", "arm64", arm(0xd28000e0, 0x94000001, 0x3607ffe1), "4>8(?)"},
		{"branches elsewhere", "arm64", arm(0x54000081, 0xb4000061, 0xd28000e0, 0x94000001, nop), "c>10(7)"},
		{"half an instruction", "arm64", arm(0xd28000e0, 0x94000001)[:7], ""},
	} {
		var got []string
		for _, k := range constants(c.arch, c.code, 0) {
			arg := "?"
			if k.known {
				arg = fmt.Sprint(k.arg)
			}
			got = append(got, fmt.Sprintf("%x>%x(%s)", k.pc, k.target, arg))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, %s: %s, want %s", c.arch, c.name, s, c.want)
		}
	}
}

// TestChunks: all code is visited, in pieces that overlap by four bytes, and calls that two of them share are found.
func TestChunks(t *testing.T) {
	const chunk = 1 << 20
	for _, at := range []int{0, chunk - 5, chunk - 4, chunk - 1, chunk, chunk + 3, 2*chunk - 1} {
		p := make([]byte, 2*chunk+4)
		copy(p[at:], []byte{0xe8, 0, 1, 0, 0})
		m := &image{r: strings.NewReader(string(p)), segs: []segment{{addr: 1 << 30, filesz: 64, off: 0}, {addr: 1 << 20, filesz: uint64(len(p)), flags: flagExec}}}
		var found []uint64
		m.calls(func(pc, to uint64) {
			if to == pc+5+256 {
				found = append(found, pc)
			}
		})
		if !slices.Contains(found, 1<<20+uint64(at)) || len(slices.Compact(found)) != 1 {
			t.Errorf("a call at %#x: %#x", at, found)
		}
	}
	m := &image{arch: "arm64", r: strings.NewReader(string(arm(0x94000002, 0x97ffffff, 0x14000000, 0x94000000)[:15])), segs: []segment{{addr: 1 << 20, filesz: 15, flags: flagExec}}}
	var got []uint64
	m.calls(func(pc, to uint64) { got = append(got, pc-1<<20, to-1<<20) })
	if !slices.Equal(got, []uint64{0, 8, 4, 0}) {
		t.Errorf("arm64: %v", got)
	}
}

// TestRegister: the first and the last register of each size, and what is none.
func TestRegister(t *testing.T) {
	for r, want := range map[x86asm.Arg]int{
		x86asm.RAX: 0, x86asm.RCX: 1, x86asm.RSP: 4, x86asm.R15: 15, x86asm.EAX: 0, x86asm.EDI: 7, x86asm.R15L: 15, x86asm.AX: 0, x86asm.DX: 2, x86asm.R15W: 15,
		x86asm.AL: 0, x86asm.BL: 3, x86asm.AH: 0, x86asm.BH: 3, x86asm.SPB: 4, x86asm.DIB: 7, x86asm.R8B: 8, x86asm.R15B: 15,
		x86asm.RIP: -1, x86asm.EIP: -1, x86asm.IP: -1, x86asm.F0: -1, x86asm.X0: -1, x86asm.CS: -1, x86asm.Imm(1): -1, x86asm.Rel(1): -1, nil: -1,
	} {
		if got, ok := register(r); ok != (want >= 0) || ok && got != want {
			t.Errorf("%v: %d %t, want %d", r, got, ok, want)
		}
	}
}

// TestChunksBound: no more code is read than the bound, however large a segment claims to be.
func TestChunksBound(t *testing.T) {
	const chunk = 1 << 20
	for size, want := range map[uint64]int{maxScan - 1: maxScan / chunk, maxScan + 5*chunk: maxScan / chunk, 3 * chunk: 3, 3*chunk + 1: 4, 0: 0} {
		n := 0
		m := &image{r: &counted{}, segs: []segment{{addr: 1 << 30, filesz: size, flags: flagExec}}}
		if m.chunks(func([]byte, uint64) { n++ }); n != want {
			t.Errorf("%d bytes: %d pieces, want %d", size, n, want)
		}
	}
}
