// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"encoding/binary"
	"fmt"
)

// small is a program made by hand, of which every byte is known. Its segments:
//
//	0x401000  code: functions of 32 bytes, from 0x401040 on
//	0x500000  constants: the table of functions, with strings, then the inline trees
//	0x600000  variables: build information, the words of the module, the dynamic section
type small struct {
	arm    bool // else amd64
	old    bool // a table of Go 1.18
	pie    bool // the words of the module are in relocations
	bare   bool // no section headers
	funcs  int
	notes  []byte
	gofunc int // word of the module
	names  []string
	flags  map[int]byte // abi.FuncFlag
}

// Addresses and offsets in small programs.
const (
	smallText, smallFirst   = 0x401000, 0x401040
	smallTable, smallData   = 0x500000, 0x600000
	smallModule, smallDyn   = smallData + 0x100, smallData + 0x400
	smallRela, smallSize    = smallData + 0x500, 32
	smallTextAt, smallTabAt = 0x1000, 0x2000
	smallDataAt, smallEnd   = 0x8000, 0x9000
)

// entry is the address of a function.
func (s *small) entry(i int) uint64 { return smallFirst + smallSize*uint64(i) }

func (s *small) name(i int) string {
	if i < len(s.names) {
		return s.names[i]
	}
	return fmt.Sprintf("main.f%d", i)
}

// frames are the calls at a byte of a function. From byte 8 on g is inlined on line 20 of f, and from byte 16 to
// 19 h in g.
func (s *small) frames(i, at int) []Frame {
	line := 10 // of the table of lines
	switch {
	case at >= 20:
		line = 11
	case at >= 16:
		line = 40
	case at >= 8:
		line = 30
	}
	f := Frame{Function: s.name(i), Symbol: s.name(i), File: "/src/f.go", Line: line, Start: 9}
	g := Frame{Function: "main.g[...]", Symbol: "main.g[go.shape.int]", File: "/src/f.go", Line: line, Start: 29, Inlined: true}
	h := Frame{Function: "main.h", Symbol: "main.h", File: "/src/f.go", Line: line, Start: 39, Inlined: true, Wrapper: true}
	if s.old {
		f.Start, g.Start, h.Start = 0, 0, 0
	}
	switch {
	case at >= 20:
		return []Frame{f}
	case at >= 16:
		g.Line, f.Line = 30, 10 // of their parents' addresses: bytes 8 and 4
		return []Frame{h, g, f}
	case at >= 8:
		f.Line = 10
		return []Frame{g, f}
	}
	return []Frame{f}
}

// frameSizes of a function: 0 for its first 4 bytes, then 24.
func (s *small) frameSize(at int) uint64 {
	if at < 4 {
		return 0
	}
	return 24
}

// steps writes a table of pctab: values, each up to a byte of the function.
func (s *small) steps(p []byte, values ...[2]int) []byte {
	quantum := 1
	if s.arm {
		quantum = 4
	}
	value, at := -1, 0
	for _, v := range values {
		diff := int64(v[0] - value)
		p = binary.AppendUvarint(p, uint64(diff<<1^diff>>63))
		p = binary.AppendUvarint(p, uint64((v[1]-at)/quantum))
		value, at = v[0], v[1]
	}
	return append(p, 0)
}

// table returns the table of functions, the offset of its functab, and that of the inline trees behind it.
func (s *small) table() (t []byte, functab, trees int) {
	names := []byte{0}
	text := func(name string) uint32 {
		at := len(names)
		names = append(append(names, name...), 0)
		return uint32(at)
	}
	g, h := text("main.g[go.shape.int]"), text("main.h")
	of := make([]uint32, s.funcs)
	for i := range of {
		of[i] = text(s.name(i))
	}
	pad := func(p []byte) []byte { return append(p, make([]byte, -len(p)&7)...) }
	pctab := []byte{0}
	part := func(values ...[2]int) uint32 {
		at := len(pctab)
		pctab = s.steps(pctab, values...)
		return uint32(at)
	}
	sp := part([2]int{0, 4}, [2]int{24, 32})
	file := part([2]int{1, 32})
	lines := part([2]int{10, 8}, [2]int{30, 16}, [2]int{40, 20}, [2]int{11, 32})
	inlined := part([2]int{-1, 8}, [2]int{0, 16}, [2]int{1, 20}, [2]int{-1, 32})
	u32 := binary.LittleEndian.AppendUint32
	cu := u32(u32(nil, ^uint32(0)), 1)
	files := []byte("\x00/src/f.go\x00")
	head := make([]byte, headerSize)
	magic := uint32(0xfffffff1)
	if s.old {
		magic = 0xfffffff0
	}
	binary.LittleEndian.PutUint32(head, magic)
	head[6], head[7] = 1, 8
	if s.arm {
		head[6] = 4
	}
	t = head
	put := func(at, v int) { binary.LittleEndian.PutUint64(head[at:], uint64(v)) }
	put(8, s.funcs)
	put(16, 1)
	if s.old {
		put(24, smallText)
	}
	for i, p := range [][]byte{names, cu, files, pctab} {
		put(32+8*i, len(t))
		t = pad(append(t, p...))
		head = t
	}
	put(64, len(t))
	functab = len(t)
	funcs := make([]byte, 8*s.funcs+4)
	for i := range s.funcs {
		binary.LittleEndian.PutUint32(funcs[8*i:], uint32(s.entry(i)-smallText))
		binary.LittleEndian.PutUint32(funcs[8*i+4:], uint32(len(funcs)))
		f := u32(u32(u32(u32(nil, uint32(s.entry(i)-smallText)), of[i]), 0), 0)
		f = u32(u32(u32(u32(u32(f, sp), file), lines), 3), 0)
		if !s.old {
			f = u32(f, 9)
		}
		f = append(f, 0, s.flags[i], 0, 4)
		f = u32(u32(u32(f, 0), 0), inlined)
		f = u32(u32(u32(u32(f, ^uint32(0)), ^uint32(0)), ^uint32(0)), 0)
		funcs = append(funcs, f...)
	}
	binary.LittleEndian.PutUint32(funcs[8*s.funcs:], uint32(s.entry(s.funcs)-smallText))
	t = pad(append(t, funcs...))
	trees = len(t)
	if s.old {
		for _, c := range [][2]uint32{{g, 4}, {h, 8}} {
			t = u32(u32(u32(u32(u32(t, map[uint32]uint32{g: 0, h: wrapperOf(26) << 16}[c[0]]), 0), 0), c[0]), c[1])
		}
		return t, functab, trees
	}
	for _, c := range [][4]uint32{{0, g, 4, 29}, {wrapperOf(26), h, 8, 39}} {
		t = u32(u32(u32(u32(t, c[0]), c[1]), c[2]), c[3])
	}
	return t, functab, trees
}

func wrapperOf(release int) uint32 { return uint32(records[release].Wrapper) }

// image returns the file.
func (s *small) image() []byte {
	t, _, trees := s.table()
	if smallTabAt+len(t) > smallDataAt {
		panic("the table is too long")
	}
	image := make([]byte, smallEnd)
	copy(image, "\x7fELF\x02\x01\x01")
	kind, machine := uint16(2), uint16(62)
	if s.pie {
		kind = 3
	}
	if s.arm {
		machine = 183
	}
	put16 := func(at int, v uint16) { le.PutUint16(image[at:], v) }
	put64 := func(at int, v uint64) { le.PutUint64(image[at:], v) }
	put16(16, kind)
	put16(18, machine)
	put64(24, smallFirst)
	put64(32, 64)
	put16(54, 56)
	for i := range 16 * 8 { // code that calls nothing
		le.PutUint32(image[smallTextAt+4*i:], 0xd503201f)
	}
	copy(image[smallTabAt:], t)
	copy(image[smallDataAt:], "\xff Go buildinf:\x08\x02")
	copy(image[smallDataAt+32:], "\x08go1.26.8\x00")
	module := map[int]uint64{0: smallTable, moduleNames: smallTable + headerSize, moduleMinPC: smallFirst, moduleText: smallText, s.gofunc: smallTable + uint64(trees)}
	rela := smallDataAt + smallRela - smallData
	for i := range moduleWords {
		v, ok := module[i]
		switch at := smallModule + 8*uint64(i); {
		case !ok:
		case s.pie:
			put64(rela, at)
			put64(rela+8, map[bool]uint64{false: 8, true: 1027}[s.arm])
			put64(rela+16, v)
			rela += 24
		default:
			put64(int(at-smallData)+smallDataAt, v)
		}
	}
	n := 0
	program := func(kind, flags uint32, off, addr, filesz, memsz uint64) {
		at := 64 + 56*n
		le.PutUint32(image[at:], kind)
		le.PutUint32(image[at+4:], flags)
		for i, v := range []uint64{off, addr, addr, filesz, memsz, 4096} {
			put64(at+8+8*i, v)
		}
		n++
	}
	program(SegmentLoad, 5, smallTextAt, smallText, 0x1000, 0x4000)
	program(SegmentLoad, 4, smallTabAt, smallTable, uint64(len(t)), uint64(len(t)))
	program(SegmentLoad, 6, smallDataAt, smallData, smallEnd-smallDataAt, 0x2000)
	if s.pie {
		dyn := smallDataAt + smallDyn - smallData
		for i, v := range []uint64{7, smallRela, 8, uint64(rela - (smallDataAt + smallRela - smallData)), 0, 0} {
			put64(dyn+8*i, v)
		}
		program(2, 6, uint64(dyn), smallDyn, 48, 48)
	}
	if s.notes != nil {
		copy(image[0xf00:], s.notes)
		program(SegmentNote, 4, 0xf00, 0, uint64(len(s.notes)), uint64(len(s.notes)))
	}
	put16(56, uint16(n))
	if s.bare {
		return image
	}
	return s.sections(image)
}

// sections adds section headers: .gopclntab, .go.module, .go.buildinfo and their names.
func (s *small) sections(image []byte) []byte {
	names := "\x00.gopclntab\x00.go.module\x00.go.buildinfo\x00.shstrtab\x00"
	at := len(image)
	image = append(image, names...)
	image = append(image, make([]byte, -len(image)&7)...)
	le.PutUint64(image[40:], uint64(len(image)))
	for i, v := range []uint16{64, 5, 4} {
		le.PutUint16(image[58+2*i:], v)
	}
	for _, h := range [][5]uint64{{0, 0, 0, 0, 0}, {1, 2, smallTable, smallTabAt, 0x1000}, {12, 6, smallModule, smallDataAt + 0x100, 8 * moduleWords},
		{23, 6, smallData, smallDataAt, 48}, {37, 0, 0, uint64(at), uint64(len(names))}} {
		b := make([]byte, 64)
		le.PutUint32(b, uint32(h[0]))
		le.PutUint32(b[4:], 1)
		for i, v := range h[1:] {
			le.PutUint64(b[8+8*i:], v)
		}
		image = append(image, b...)
	}
	return image
}
