// SPDX-License-Identifier: Apache-2.0

package gobin

// Fields of runtime._func, in bytes.
const (
	funcPCFile  = 20
	funcPCLine  = 24
	funcNPCData = 28
	funcCU      = 32
	funcStart   = 36 // since Go 1.20
)

const (
	pcdataInlTree   = 2 // abi.PCDATA_InlTreeIndex
	funcdataInlTree = 3 // abi.FUNCDATA_InlTree
	// maxDepth bounds the inlined calls at a pc, in case a tree has a cycle.
	maxDepth = 256
	// maxSteps bounds the work for a pc, in entries of pctab.
	maxSteps = 1 << 25
)

// tree is the inline tree of a function.
type tree struct {
	addr  uint64 // 0 = none
	index uint32 // offset in pctab: pc -> index in the tree
	// An entry is {func u8, 0 u8[3], name i32, parent pc i32, start line i32}; up to Go
	// 1.19 {parent i16, func u8, 0 u8, file i32, line i32, name i32, parent pc i32}
	// (runtime.inlinedCall).
	size, id, name, parent uint64
}

// frames appends the calls at pc, innermost first. The tree gives the function of the innermost
// call at pc, and a parent pc. The tree entry at the parent pc gives the next call, and so on
// until there is no entry (runtime.inlineUnwinder).
func (t *pclntab) frames(dst []Frame, pc uint64) []Frame {
	f, ok := t.find(pc)
	if !ok {
		return dst
	}
	t.steps = 0
	tr := t.tree(f)
	for range maxDepth {
		name, start, id, parent, inlined := t.inlined(f, tr, pc)
		if !inlined {
			break
		}
		dst = append(dst, t.frame(f, pc, name, start, id))
		dst[len(dst)-1].Inlined = true
		pc = parent
	}
	return append(dst, t.frame(f, pc, f.nameOff, t.start(f), t.id(f)))
}

// frame returns the call at pc of the function with this name and abi.FuncID, which begins on line
// start.
func (t *pclntab) frame(f fn, pc uint64, name uint32, start int, id byte) Frame {
	symbol := t.name(name)
	file, line := t.position(f, pc)
	return Frame{Function: printed(symbol), File: file, Line: line, Symbol: symbol, Start: start, Wrapper: t.wrapper(id)}
}

// start returns the line on which f begins; 0 if unknown.
func (t *pclntab) start(f fn) int {
	if !t.go120 {
		return 0
	}
	p, ok := t.bytes(f.args+funcStart, 4)
	if !ok {
		return 0
	}
	return max(int(int32(le.Uint32(p))), 0)
}

// funcSize returns the size of the fixed part of a _func, whose last byte is nfuncdata. Lists of
// npcdata and nfuncdata u32 follow.
func (t *pclntab) funcSize() uint64 {
	if t.go120 {
		return 44
	}
	return 40
}

// tree returns the inline tree of f.
func (t *pclntab) tree(f fn) tree {
	at, index := t.treeOffset(f)
	if t.gofunc == 0 || at == ^uint32(0) {
		return tree{}
	}
	return t.treeAt(t.gofunc+uint64(at), index)
}

func (t *pclntab) treeAt(addr uint64, index uint32) tree {
	if t.go120 {
		return tree{addr: addr, index: index, size: 16, name: 4, parent: 8}
	}
	return tree{addr: addr, index: index, size: 20, id: 2, name: 12, parent: 16}
}

// treeOffset returns the offset of the inline tree of f from gofunc, or ^0 if it has none, and
// the offset of the table of its indices in pctab.
func (t *pclntab) treeOffset(f fn) (offset, index uint32) {
	fixed := t.funcSize()
	head, ok := t.bytes(f.args, int(fixed))
	if !ok {
		return ^uint32(0), 0
	}
	npcdata, nfuncdata := uint64(le.Uint32(head[funcNPCData:])), head[fixed-1]
	if npcdata <= pcdataInlTree || npcdata > 1<<10 || nfuncdata <= funcdataInlTree {
		return ^uint32(0), 0
	}
	p, ok := t.bytes(f.args+fixed+4*pcdataInlTree, 4)
	if !ok {
		return ^uint32(0), 0
	}
	index = le.Uint32(p)
	p, ok = t.bytes(f.args+fixed+4*npcdata+4*funcdataInlTree, 4)
	if !ok || index == 0 {
		return ^uint32(0), 0
	}
	return le.Uint32(p), index
}

// inlined returns the call that was inlined at pc: the name of its function, the line on which that
// begins, 0 if unknown, and its abi.FuncID; and the pc of the call in its caller.
func (t *pclntab) inlined(f fn, tr tree, pc uint64) (name uint32, start int, id byte, parent uint64, ok bool) {
	if tr.addr == 0 {
		return 0, 0, 0, 0, false
	}
	i, ok := t.value(f, tr.index, pc)
	if !ok || i < 0 {
		return 0, 0, 0, 0, false
	}
	p, ok := t.bytes(tr.addr+uint64(i)*tr.size, int(tr.size))
	if !ok {
		return 0, 0, 0, 0, false
	}
	parent = f.entry + uint64(le.Uint32(p[tr.parent:]))
	if parent >= f.end {
		return 0, 0, 0, 0, false
	}
	if t.go120 {
		start = max(int(int32(le.Uint32(p[tr.parent+4:]))), 0)
	}
	return le.Uint32(p[tr.name:]), start, p[tr.id], parent, true
}

// id returns the abi.FuncID of f; 0 = it is not special.
func (t *pclntab) id(f fn) byte {
	p, ok := t.bytes(f.args+t.funcSize()-funcIDBack, 1)
	if !ok {
		return 0
	}
	return p[0]
}

// wrapper reports whether an abi.FuncID is that of wrappers.
func (t *pclntab) wrapper(id byte) bool { return id != 0 && id == t.wrapperID }

// position returns the file and line at pc.
func (t *pclntab) position(f fn, pc uint64) (string, int) {
	head, ok := t.bytes(f.args, 36)
	if !ok {
		return "?", 0
	}
	pcfile, pcline, cu := le.Uint32(head[funcPCFile:]), le.Uint32(head[funcPCLine:]), le.Uint32(head[funcCU:])
	file, ok := t.value(f, pcfile, pc)
	line, ok2 := t.value(f, pcline, pc)
	if !ok || !ok2 || file < 0 || line < 0 {
		return "?", 0
	}
	at := t.cu + 4*(uint64(cu)+uint64(file))
	if at >= t.files {
		return "?", 0
	}
	p, ok := t.bytes(at, 4)
	if !ok || le.Uint32(p) == ^uint32(0) {
		return "?", 0
	}
	name := t.str(t.files+uint64(le.Uint32(p)), t.pc)
	if name == "" {
		return "?", 0
	}
	return name, int(line)
}

// value looks up pc in a table of pctab. The table holds pairs of varints: the difference of the
// value, zigzag-encoded, and the number of instructions for which it holds. A difference of 0
// ends the table, except at its start (runtime.step).
func (t *pclntab) value(f fn, off uint32, pc uint64) (int32, bool) {
	if off == 0 {
		return 0, false
	}
	addr, at, value := t.pc+uint64(off), f.entry, int32(-1)
	for first := true; t.steps < maxSteps; first = false {
		t.steps++
		diff, ok := t.varint(&addr)
		if !ok || diff == 0 && !first {
			return 0, false
		}
		step, ok := t.varint(&addr)
		if !ok {
			return 0, false
		}
		if diff&1 != 0 {
			value += int32(^(diff >> 1))
		} else {
			value += int32(diff >> 1)
		}
		at += uint64(step) * t.quantum
		if pc < at {
			return value, true
		}
		if at > f.end {
			return 0, false
		}
	}
	return 0, false
}

func (t *pclntab) varint(addr *uint64) (uint32, bool) {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		if *addr >= t.funcs {
			return 0, false
		}
		p := t.rest(*addr)
		if len(p) == 0 {
			return 0, false
		}
		*addr++
		v |= uint32(p[0]&0x7f) << shift
		if p[0]&0x80 == 0 {
			return v, true
		}
	}
	return 0, false
}

// findGofunc finds go:func.* among words of moduledata. Releases differ in which word it is. Only
// with the right one do the inline trees hold valid starts of names, and callers within the
// function.
func (t *pclntab) findGofunc(words []uint64) uint64 {
	const want = 16
	type sample struct {
		f         fn
		at, index uint32
	}
	var samples []sample
	// Start at the front: the runtime and its imports have plenty of inlined calls.
	for i := 0; i < t.nfunc && len(samples) < want && i < 1<<14; i++ {
		f, ok := t.function(i)
		if !ok {
			continue
		}
		if at, index := t.treeOffset(f); at != ^uint32(0) {
			samples = append(samples, sample{f, at, index})
		}
	}
	if len(samples) < want {
		return 0
	}
	var found uint64
	for _, w := range words {
		if _, ok := t.img.segment(w); !ok || w == found {
			continue
		}
		good, bad := 0, 0
		for _, s := range samples {
			switch name, ok := t.plausible(s.f, t.treeAt(w+uint64(s.at), s.index)); {
			case !ok:
				bad++
			case name != 0: // zeros look like the first name
				good++
			}
		}
		if bad > 0 || good < want/2 {
			continue
		}
		if found != 0 {
			return 0
		}
		found = w
	}
	return found
}

// plausible reports whether the first entry of the tree may belong to f. name is the name in it.
func (t *pclntab) plausible(f fn, tr tree) (name uint32, ok bool) {
	p, ok := t.bytes(tr.addr, int(tr.size))
	if !ok || f.entry+uint64(le.Uint32(p[tr.parent:])) >= f.end {
		return 0, false
	}
	name = le.Uint32(p[tr.name:])
	at := t.names + uint64(name)
	if at >= t.cu {
		return 0, false
	}
	if name == 0 {
		return 0, true
	}
	b, ok := t.bytes(at-1, 2)
	return name, ok && b[0] == 0 && b[1] != 0
}
