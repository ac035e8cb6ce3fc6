// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
)

// Headers are the headers of an ELF file of any class and byte order (elf(5)). Package debug/elf
// reads more, for which it links the code of four ways to compress sections.
type Headers struct {
	Order    binary.ByteOrder
	Class64  bool
	Sections []Section
	Programs []ProgramHeader
}

// Section is a section header.
type Section struct {
	Name            string
	Type            uint32
	Flags           uint64
	Addr, Off, Size uint64
}

// ProgramHeader is a segment, or a note or the like in one.
type ProgramHeader struct {
	Type, Flags              uint32
	Off, Addr, Filesz, Memsz uint64
}

// Types of sections and segments.
const (
	SectionSymbols   = 2 // SHT_SYMTAB
	SegmentLoad      = 1 // PT_LOAD
	SegmentLoader    = 3 // PT_INTERP
	SegmentNote      = 4 // PT_NOTE
	sectionHeaders64 = 64
	sectionHeaders32 = 40
	programHeaders64 = 56
	programHeaders32 = 32
)

// errNotELF means that a file is not ELF, or damaged.
var errNotELF = errors.New("not an ELF file")

// ReadHeaders reads the headers. A damaged table is left out, without an error: a program runs
// without section headers too. Names of sections are cut at 64 bytes.
func ReadHeaders(r io.ReaderAt) (*Headers, error) {
	var head [64]byte
	if n, err := r.ReadAt(head[:], 0); n < 52 || n < len(head) && head[4] == 2 {
		if err != nil && err != io.EOF {
			return nil, err
		}
		return nil, errNotELF
	}
	if string(head[:4]) != "\x7fELF" || head[4] < 1 || head[4] > 2 || head[5] < 1 || head[5] > 2 {
		return nil, errNotELF
	}
	h := &Headers{Order: binary.LittleEndian, Class64: head[4] == 2}
	if head[5] == 2 {
		h.Order = binary.BigEndian
	}
	o := h.Order
	// e_phoff and e_shoff, and the sizes and numbers behind e_flags.
	phoff, shoff, rest := uint64(o.Uint32(head[28:])), uint64(o.Uint32(head[32:])), head[42:]
	if h.Class64 {
		phoff, shoff, rest = o.Uint64(head[32:]), o.Uint64(head[40:]), head[54:]
	}
	h.programs(r, phoff, o.Uint16(rest), o.Uint16(rest[2:]))
	h.sections(r, shoff, o.Uint16(rest[4:]), o.Uint16(rest[6:]), o.Uint16(rest[8:]))
	return h, nil
}

// readTable reads n entries at an offset of the file; nil if they are not all there.
func readTable(r io.ReaderAt, off uint64, entry, n uint16) []byte {
	if off == 0 || off > 1<<62 || n == 0 {
		return nil
	}
	table := make([]byte, int(entry)*int(n)) // at most 64 KiB times 64
	if got, _ := r.ReadAt(table, int64(off)); got < len(table) {
		return nil
	}
	return table
}

// maxPrograms bounds the segments: programs have a dozen, and a search goes through all of them.
const maxPrograms = 1024

func (h *Headers) programs(r io.ReaderAt, off uint64, entry, n uint16) {
	if n > maxPrograms {
		return
	}
	o := h.Order
	if size := uint16(programHeaders32); !h.Class64 && entry == size {
		for t := readTable(r, off, entry, n); len(t) > 0; t = t[size:] {
			h.Programs = append(h.Programs, ProgramHeader{
				Type: o.Uint32(t), Off: uint64(o.Uint32(t[4:])), Addr: uint64(o.Uint32(t[8:])),
				Filesz: uint64(o.Uint32(t[16:])), Memsz: uint64(o.Uint32(t[20:])), Flags: o.Uint32(t[24:]),
			})
		}
	}
	if size := uint16(programHeaders64); h.Class64 && entry == size {
		for t := readTable(r, off, entry, n); len(t) > 0; t = t[size:] {
			h.Programs = append(h.Programs, ProgramHeader{
				Type: o.Uint32(t), Flags: o.Uint32(t[4:]), Off: o.Uint64(t[8:]), Addr: o.Uint64(t[16:]),
				Filesz: o.Uint64(t[32:]), Memsz: o.Uint64(t[40:]),
			})
		}
	}
}

func (h *Headers) sections(r io.ReaderAt, off uint64, entry, n, names uint16) {
	o := h.Order
	want := uint16(sectionHeaders32)
	if h.Class64 {
		want = sectionHeaders64
	}
	if entry != want || names >= n || names == 0 { // 0 = there are no names
		return
	}
	at := []uint32{}
	for t := readTable(r, off, entry, n); len(t) > 0; t = t[entry:] {
		s := Section{Type: o.Uint32(t[4:])}
		if h.Class64 {
			s.Flags, s.Addr, s.Off, s.Size = o.Uint64(t[8:]), o.Uint64(t[16:]), o.Uint64(t[24:]), o.Uint64(t[32:])
		} else {
			s.Flags, s.Addr, s.Off, s.Size = uint64(o.Uint32(t[8:])), uint64(o.Uint32(t[12:])), uint64(o.Uint32(t[16:])),
				uint64(o.Uint32(t[20:]))
		}
		at = append(at, o.Uint32(t))
		h.Sections = append(h.Sections, s)
	}
	if len(h.Sections) == 0 {
		return
	}
	const maxNames = 1 << 20
	table := h.Sections[names]
	text := make([]byte, min(table.Size, maxNames))
	if got, _ := r.ReadAt(text, int64(min(table.Off, 1<<62))); got < len(text) {
		text = text[:max(0, got)]
	}
	for i := range h.Sections {
		if uint64(at[i]) < uint64(len(text)) {
			// No section that anybody looks for has a longer name, and a hostile file has one of
			// a megabyte for each of 65,535 sections.
			const maxName = 64
			name, _, _ := bytes.Cut(text[at[i]:min(len(text), int(at[i])+maxName)], []byte{0})
			h.Sections[i].Name = string(name)
		}
	}
}

// Section returns the first section of a name; nil = none.
func (h *Headers) Section(name string) *Section {
	for i := range h.Sections {
		if h.Sections[i].Name == name {
			return &h.Sections[i]
		}
	}
	return nil
}

// Data returns the bytes at a link-time address and, up to size, behind it in the same segment of
// the file; fewer if the segment or the file ends before, nil if no segment has the address.
func (h *Headers) Data(r io.ReaderAt, addr, size uint64) []byte {
	for i := range h.Programs {
		p := &h.Programs[i]
		if p.Type != SegmentLoad || addr < p.Addr || addr-p.Addr >= p.Filesz {
			continue
		}
		b := make([]byte, min(size, p.Filesz-(addr-p.Addr)))
		n, _ := r.ReadAt(b, int64(min(p.Off+(addr-p.Addr), 1<<62)))
		return b[:max(0, n)]
	}
	return nil
}
