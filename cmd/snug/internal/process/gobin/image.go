// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// segment is a PT_LOAD program header, with its file part cut to the size of the file.
type segment struct {
	addr, filesz, memsz, off uint64
	flags                    uint32
}

const (
	flagExec  = 1 // elf.PF_X
	flagWrite = 2 // elf.PF_W
)

// span is a part of the address space.
type span struct{ addr, size uint64 }

// image is an ELF file, addressed by link-time addresses (man 5 elf). It trusts program headers
// within the size of the file, because the kernel uses them too. Section headers are only hints:
// no loader reads them.
type image struct {
	r     io.ReaderAt
	size  uint64
	mem   io.ReaderAt
	bias  uint64
	arch  string
	pie   bool
	entry uint64

	segs     []segment
	notes    []span // addr is an offset in the file
	dynamic  span
	sections map[string]span

	cut bool // a search ended at maxScan
}

// maxScan bounds how much of a file is searched for data that no header points to, in bytes.
const maxScan = 256 << 20

var le = binary.LittleEndian

func readImage(r io.ReaderAt, size int64, mem io.ReaderAt, bias uint64) (*image, error) {
	if size < 0 {
		return nil, fmt.Errorf("%w: negative size", ErrNotGo)
	}
	var head [64]byte
	if n, err := r.ReadAt(head[:], 0); n < len(head) {
		if err == nil || err == io.EOF {
			return nil, fmt.Errorf("%w: too short", ErrNotGo)
		}
		return nil, err
	}
	if string(head[:4]) != "\x7fELF" {
		return nil, fmt.Errorf("%w: no ELF file", ErrNotGo)
	}
	if head[4] != 2 || head[5] != 1 {
		return nil, fmt.Errorf("%w: not 64-bit little-endian", ErrUnsupported)
	}
	m := &image{r: r, size: uint64(size), mem: mem, bias: bias, entry: le.Uint64(head[24:])}
	switch machine := le.Uint16(head[18:]); machine {
	case 62: // EM_X86_64
		m.arch = "amd64"
	case 183: // EM_AARCH64
		m.arch = "arm64"
	default:
		return nil, fmt.Errorf("%w: ELF machine %d", ErrUnsupported, machine)
	}
	switch kind := le.Uint16(head[16:]); kind {
	case 2: // ET_EXEC
	case 3: // ET_DYN
		m.pie = true
	default:
		return nil, fmt.Errorf("%w: ELF type %d", ErrUnsupported, kind)
	}
	if err := m.readSegments(le.Uint64(head[32:]), le.Uint16(head[54:]), le.Uint16(head[56:])); err != nil {
		return nil, err
	}
	m.readSections(le.Uint64(head[40:]), le.Uint16(head[58:]), le.Uint16(head[60:]), le.Uint16(head[62:]))
	return m, nil
}

func (m *image) readSegments(off uint64, entsize, n uint16) error {
	if entsize != 56 || n == 0 {
		return fmt.Errorf("%w: no program headers", ErrUnsupported)
	}
	table, ok := m.fileBytes(off, uint64(n)*56)
	if !ok {
		return fmt.Errorf("%w: truncated program headers", ErrUnsupported)
	}
	for ; len(table) >= 56; table = table[56:] {
		s := segment{flags: le.Uint32(table[4:]), off: le.Uint64(table[8:]), addr: le.Uint64(table[16:]),
			filesz: le.Uint64(table[32:]), memsz: le.Uint64(table[40:])}
		if s.off >= m.size {
			s.filesz = 0
		} else {
			s.filesz = min(s.filesz, m.size-s.off)
		}
		s.memsz = max(s.memsz, s.filesz)
		if s.addr+s.memsz < s.addr {
			continue
		}
		switch le.Uint32(table) {
		case 1: // PT_LOAD
			m.segs = append(m.segs, s)
		case 2: // PT_DYNAMIC
			m.dynamic = span{s.addr, s.filesz}
		case 4: // PT_NOTE
			m.notes = append(m.notes, span{s.off, s.filesz})
		}
	}
	return nil
}

// readSections records the sections that this package uses.
func (m *image) readSections(off uint64, entsize, n, names uint16) {
	if entsize != 64 || names >= n {
		return
	}
	table, ok := m.fileBytes(off, uint64(n)*64)
	if !ok {
		return
	}
	header := table[int(names)*64:]
	strings, ok := m.fileBytes(le.Uint64(header[24:]), min(le.Uint64(header[32:]), 1<<20))
	if !ok {
		return
	}
	m.sections = map[string]span{}
	for ; len(table) >= 64; table = table[64:] {
		at := le.Uint32(table)
		if uint64(at) >= uint64(len(strings)) {
			continue
		}
		name, _, _ := bytes.Cut(strings[at:], []byte{0})
		switch string(name) {
		case ".gopclntab", ".data.rel.ro.gopclntab", ".go.module", ".go.buildinfo":
			m.sections[string(name)] = span{le.Uint64(table[16:]), le.Uint64(table[32:])}
		}
	}
}

// fileBytes reads n bytes at an offset of the file. It allocates at most the size of the file.
func (m *image) fileBytes(off, n uint64) ([]byte, bool) {
	if off > m.size || n > m.size-off {
		return nil, false
	}
	p := make([]byte, n)
	got, _ := m.r.ReadAt(p, int64(off))
	return p, got == len(p)
}

// segment returns the segment that contains addr.
func (m *image) segment(addr uint64) (segment, bool) {
	for _, s := range m.segs {
		if addr >= s.addr && addr-s.addr < s.memsz {
			return s, true
		}
	}
	return segment{}, false
}

// read fills p with the file's content at addr, and returns the number of bytes up to the end of
// the segment's file part.
func (m *image) read(p []byte, addr uint64) int {
	for _, s := range m.segs {
		if addr >= s.addr && addr-s.addr < s.filesz {
			at := addr - s.addr
			p = p[:min(uint64(len(p)), s.filesz-at)]
			n, _ := m.r.ReadAt(p, int64(s.off+at))
			return max(n, 0)
		}
	}
	return 0
}

// readMem is like read, but reads the memory of the process.
func (m *image) readMem(p []byte, addr uint64) int {
	if m.mem == nil {
		return 0
	}
	if _, ok := m.segment(addr); !ok {
		return 0
	}
	n, _ := m.mem.ReadAt(p, int64(addr+m.bias))
	return max(n, 0)
}

// scan searches the segments that keep selects for pattern at multiples of align. It calls try
// with each address until try returns true.
func (m *image) scan(pattern []byte, align uint64, keep func(segment) bool,
	read func([]byte, uint64) int, try func(addr uint64) bool) bool {
	const chunk = 1 << 20
	var buf []byte
	budget := uint64(maxScan)
	for _, s := range m.segs {
		if !keep(s) {
			continue
		}
		for at := uint64(0); at < s.filesz && budget > 0; at += chunk {
			if buf == nil {
				buf = make([]byte, chunk+len(pattern)-1)
			}
			p := buf[:min(uint64(len(buf)), s.filesz-at)]
			p = p[:read(p, s.addr+at)]
			budget -= min(budget, chunk)
			for i := 0; ; {
				j := bytes.Index(p[i:], pattern)
				if j < 0 {
					break
				}
				i += j
				if addr := s.addr + at + uint64(i); addr%align == 0 && try(addr) {
					return true
				}
				i++
			}
		}
	}
	m.cut = m.cut || budget == 0
	return false
}

func code(s segment) bool     { return s.flags&flagExec != 0 }
func data(s segment) bool     { return s.flags&flagExec == 0 }
func writable(s segment) bool { return s.flags&flagWrite != 0 }

// writableAt reports whether a variable may be at addr.
func (m *image) writableAt(addr uint64) bool {
	s, ok := m.segment(addr)
	return ok && writable(s)
}

// words reads n words at addr as they are when the program runs, without bias. It reads the file
// and applies the relocations that the file lists. A word that is then 0 is read from the memory
// of the process.
func (m *image) words(addr uint64, n int) ([]uint64, bool) {
	p := make([]byte, 8*n)
	if m.read(p, addr) < len(p) {
		return nil, false
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = le.Uint64(p[8*i:])
	}
	if !m.pie {
		return w, true
	}
	m.relative(func(at, value uint64) bool {
		if i := (at - addr) / 8; at >= addr && i < uint64(n) && (at-addr)%8 == 0 {
			w[i] = value
		}
		return false
	})
	if m.readMem(p, addr) == len(p) {
		for i := range w {
			if w[i] != 0 {
				continue
			}
			w[i] = le.Uint64(p[8*i:])
			// A plain number may look like an address of this image, but callers do not ask
			// for those.
			if _, ok := m.segment(w[i] - m.bias); ok {
				w[i] -= m.bias
			}
		}
	}
	return w, true
}

// relative calls visit for each relative relocation ("the word at addr is value plus the load
// bias") until visit returns true. Packed relocations (DT_RELR) need no visit: their values are
// in the file.
func (m *image) relative(visit func(at, value uint64) bool) {
	kind := uint32(8) // R_X86_64_RELATIVE
	if m.arch == "arm64" {
		kind = 1027 // R_AARCH64_RELATIVE
	}
	var table span
	dyn := make([]byte, min(m.dynamic.size, 64<<10))
	dyn = dyn[:m.read(dyn, m.dynamic.addr)]
	for ; len(dyn) >= 16; dyn = dyn[16:] {
		switch le.Uint64(dyn) {
		case 7: // DT_RELA
			table.addr = le.Uint64(dyn[8:])
		case 8: // DT_RELASZ
			table.size = le.Uint64(dyn[8:])
		}
	}
	const entry = 24
	buf := make([]byte, 4096*entry)
	for table.size >= entry {
		p := buf[:min(uint64(len(buf)), table.size/entry*entry)]
		n := m.read(p, table.addr) / entry * entry
		if n == 0 {
			return
		}
		for p = p[:n]; len(p) >= entry; p = p[entry:] {
			if le.Uint32(p[8:]) == kind && visit(le.Uint64(p), le.Uint64(p[16:])) {
				return
			}
		}
		table.addr += uint64(n)
		table.size -= uint64(n)
	}
}
