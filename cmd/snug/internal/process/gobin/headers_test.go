// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
)

// kind is one of the four forms of an ELF file.
type kind struct {
	wide  bool
	order binary.ByteOrder
}

var kinds = []kind{{true, binary.LittleEndian}, {true, binary.BigEndian}, {false, binary.LittleEndian}, {false, binary.BigEndian}}

func (k kind) String() string { return fmt.Sprint(k.order, map[bool]int{true: 64, false: 32}[k.wide]) }

// word is a number of the size of an address.
func (k kind) word(p []byte, v uint64) []byte {
	if k.wide {
		b := make([]byte, 8)
		k.order.PutUint64(b, v)
		return append(p, b...)
	}
	return k.half(p, uint32(v))
}

func (k kind) half(p []byte, v uint32) []byte {
	b := make([]byte, 4)
	k.order.PutUint32(b, v)
	return append(p, b...)
}

func (k kind) short(p []byte, v uint16) []byte {
	b := make([]byte, 2)
	k.order.PutUint16(b, v)
	return append(p, b...)
}

// sizes returns the sizes of the file header, a program header and a section header.
func (k kind) sizes() (file, program, section uint16) {
	if k.wide {
		return 64, programHeaders64, sectionHeaders64
	}
	return 52, programHeaders32, sectionHeaders32
}

// counts are the numbers in a file header that say what the tables are.
type counts struct {
	phoff, shoff                   uint64
	phent, phnum, shent, shnum, sn uint16
}

func (k kind) head(c counts) []byte {
	class, data := byte(1), byte(1)
	if k.wide {
		class = 2
	}
	if k.order == binary.BigEndian {
		data = 2
	}
	p := append([]byte("\x7fELF"), class, data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	p = k.half(k.short(k.short(p, 2), 62), 1)
	p = k.half(k.word(k.word(k.word(p, 0x1234), c.phoff), c.shoff), 0)
	file, _, _ := k.sizes()
	for _, v := range []uint16{file, c.phent, c.phnum, c.shent, c.shnum, c.sn} {
		p = k.short(p, v)
	}
	return p
}

func (k kind) program(p []byte, h ProgramHeader) []byte {
	p = k.half(p, h.Type)
	if k.wide {
		p = k.half(p, h.Flags)
	}
	p = k.word(k.word(k.word(k.word(k.word(p, h.Off), h.Addr), 0), h.Filesz), h.Memsz)
	if !k.wide {
		p = k.half(p, h.Flags)
	}
	return k.word(p, 4096)
}

func (k kind) section(p []byte, name uint32, s Section) []byte {
	p = k.word(k.half(k.half(p, name), s.Type), s.Flags)
	p = k.half(k.half(k.word(k.word(k.word(p, s.Addr), s.Off), s.Size), 0), 0)
	return k.word(k.word(p, 1), 0)
}

// TestHeaders: what is written in each form is read, and at which numbers a table is left out.
func TestHeaders(t *testing.T) {
	long := strings.Repeat("n", 70)
	names := "\x00.text\x00" + long + "\x00.names\x00"
	programs := []ProgramHeader{{1, 5, 0, 0x1000, 0x200, 0x300}, {4, 4, 0x10, 0x2000, 1, 2}}
	for _, k := range kinds {
		file, ph, sh := k.sizes()
		namesAt := uint64(file) + 2*uint64(ph) + 4*uint64(sh)
		sections := []Section{{}, {".text", 1, 6, 0x1000, 7, 8}, {long[:64], 8, 3, 9, 10, 11}, {".names", 3, 0, 0, namesAt, uint64(len(names))}}
		good := counts{uint64(file), uint64(file) + 2*uint64(ph), ph, 2, sh, 4, 3}
		image := func(c counts) []byte {
			p := k.head(c)
			for _, h := range programs {
				p = k.program(p, h)
			}
			for i, s := range sections {
				p = k.section(p, []uint32{0, 1, 7, 78}[i], s)
			}
			return append(p, names...)
		}
		with := func(edit func(*counts)) counts { c := good; edit(&c); return c }
		all := len(image(good))
		for _, c := range []struct {
			name               string
			c                  counts
			programs, sections int
		}{
			{"as it is", good, 2, 4},
			{"no programs", with(func(c *counts) { c.phnum = 0 }), 0, 4}, {"no place of programs", with(func(c *counts) { c.phoff = 0 }), 0, 4},
			{"small programs", with(func(c *counts) { c.phent-- }), 0, 4}, {"large programs", with(func(c *counts) { c.phent++ }), 0, 4},
			{"programs of the other class", with(func(c *counts) { c.phent ^= programHeaders64 ^ programHeaders32 }), 0, 4},
			{"too many programs for the file", with(func(c *counts) { c.phnum = maxPrograms }), 0, 4},
			{"programs at the end of the file", with(func(c *counts) { c.phoff, c.phnum = uint64(all)-uint64(ph), 1 }), 1, 4}, {"behind it", with(func(c *counts) { c.phoff, c.phnum = uint64(all)-uint64(ph)+1, 1 }), 0, 4},
			{"small sections", with(func(c *counts) { c.shent-- }), 2, 0}, {"large sections", with(func(c *counts) { c.shent++ }), 2, 0}, {"no place of sections", with(func(c *counts) { c.shoff = 0 }), 2, 0},
			{"names of the section behind the last", with(func(c *counts) { c.sn = 4 }), 2, 0}, {"no names", with(func(c *counts) { c.sn = 0 }), 2, 0}, {"no sections", with(func(c *counts) { c.shnum, c.sn = 0, 0 }), 2, 0},
		} {
			h, err := ReadHeaders(bytes.NewReader(image(c.c)))
			if err != nil || h.Class64 != k.wide || h.Order != k.order || len(h.Programs) != c.programs || len(h.Sections) != c.sections {
				t.Errorf("%v, %s: %+v, %v", k, c.name, h, err)
				continue
			}
			if c.c == good && (!slices.Equal(h.Programs, programs) || !slices.Equal(h.Sections, sections) || h.Section(".names") != &h.Sections[3] || h.Section(".data") != nil) {
				t.Errorf("%v: %+v", k, h)
			}
		}
		if k.wide { // an offset that is no file's
			for _, off := range []uint64{1 << 62, 1<<62 + 1, 1 << 63} {
				if h, err := ReadHeaders(bytes.NewReader(image(with(func(c *counts) { c.phoff = off })))); err != nil || h.Programs != nil {
					t.Errorf("%v: %+v, %v", k, h, err)
				}
			}
		}
		// The table of names is behind the end, or in part; a name is at its end.
		for at, want := range map[uint32]string{1: ".text", uint32(len(names)) - 2: "s", uint32(len(names)) - 1: "", uint32(len(names)): "", ^uint32(0): ""} {
			p := image(good)
			k.order.PutUint32(p[uint64(file)+2*uint64(ph)+uint64(sh):], at)
			if h, err := ReadHeaders(bytes.NewReader(p)); err != nil || h.Sections[1].Name != want {
				t.Errorf("%v, name at %d: %+v, %v", k, at, h, err)
			}
		}
		if h, err := ReadHeaders(bytes.NewReader(image(good)[:all-len(names)+6])); err != nil || h.Sections[1].Name != ".text" || h.Sections[3].Name != "" {
			t.Errorf("%v, names cut off: %+v, %v", k, h, err)
		}
	}
}

// TestHeadersMany: as many segments as the bound, and one more.
func TestHeadersMany(t *testing.T) {
	for _, k := range kinds {
		file, ph, _ := k.sizes()
		for n, want := range map[int]int{maxPrograms: maxPrograms, maxPrograms + 1: 0} {
			p := append(k.head(counts{phoff: uint64(file), phent: ph, phnum: uint16(n)}), make([]byte, n*int(ph))...)
			if h, err := ReadHeaders(bytes.NewReader(p)); err != nil || len(h.Programs) != want {
				t.Errorf("%v: %d of %d, %v", k, len(h.Programs), n, err)
			}
		}
	}
}

// TestNoHeaders: what is no ELF file.
func TestNoHeaders(t *testing.T) {
	for _, k := range kinds {
		p := k.head(counts{})
		file, _, _ := k.sizes()
		for n, want := range map[int]bool{0: false, 51: false, int(file) - 1: false, int(file): true} {
			if _, err := ReadHeaders(bytes.NewReader(p[:n])); (err == nil) != want {
				t.Errorf("%v, %d bytes: %v", k, n, err)
			}
		}
		for _, c := range []struct {
			at int
			v  byte
		}{{0, 'E'}, {3, 'f'}, {4, 0}, {4, 3}, {5, 0}, {5, 3}} {
			q := append(bytes.Clone(p), make([]byte, 64)...)
			q[c.at] = c.v
			if _, err := ReadHeaders(bytes.NewReader(q)); err != errNotELF {
				t.Errorf("%v, %d at %d: %v", k, c.v, c.at, err)
			}
		}
	}
	if _, err := ReadHeaders(failing{}); err != io.ErrClosedPipe {
		t.Errorf("an error of reading: %v", err)
	}
}

// TestData: the bytes at an address, at the edges of segments.
func TestData(t *testing.T) {
	h := &Headers{Programs: []ProgramHeader{{Type: SegmentNote, Off: 0, Addr: 0, Filesz: 1 << 20, Memsz: 1 << 20}, {Type: SegmentLoad, Off: 2, Addr: 100, Filesz: 4, Memsz: 9}, {Type: SegmentLoad, Off: 8, Addr: 200, Filesz: 9, Memsz: 9}, {Type: SegmentLoad, Off: 1 << 63, Addr: 300, Filesz: 9}}}
	for _, c := range []struct {
		addr, size uint64
		want       string
	}{{99, 2, ""}, {100, 2, "cd"}, {100, 9, "cdef"}, {103, 1, "f"}, {103, 9, "f"}, {104, 1, ""}, {200, 9, "ij"}, {201, 1, "j"}, {202, 1, ""}, {300, 1, ""}, {100, 0, ""}} {
		if got := h.Data(strings.NewReader("abcdefghij"), c.addr, c.size); string(got) != c.want {
			t.Errorf("%d bytes at %d: %q, want %q", c.size, c.addr, got, c.want)
		}
	}
}

const mark = "0123456789abcdef" // stands before and behind the recorded modules

// TestRecorded: build information in each form, from Go 1.18 on and before, where it may be and where not.
func TestRecorded(t *testing.T) {
	const at = 0x2000
	modules := "path\texample.com/app\nmod\texample.com/app\tv1.2.3\t\n"
	for _, k := range kinds {
		order := byte(0)
		if k.order == binary.BigEndian {
			order = 1
		}
		size := byte(4)
		if k.wide {
			size = 8
		}
		inline := func(version, modules string) []byte {
			p := append([]byte("\xff Go buildinf:"), size, 2)
			p = append(p, make([]byte, 16)...)
			for _, s := range []string{version, modules} {
				p = append(binary.AppendUvarint(p, uint64(len(s))), s...)
			}
			return p
		}
		pointers := func(size byte, version, modules string) []byte {
			p := append([]byte("\xff Go buildinf:"), size, order)
			word := uint64(4)
			if k.wide {
				word = 8
			}
			text := uint64(at + 16 + 6*word)
			p = k.word(k.word(p, at+16+2*word), at+16+4*word)
			p = k.word(k.word(p, text), uint64(len(version)))
			p = k.word(k.word(p, text+uint64(len(version))), uint64(len(modules)))
			return append(append(p, version...), modules...)
		}
		whole := mark + modules + mark
		for _, c := range []struct {
			name          string
			data          []byte
			version, path string
		}{
			{name: "inline", data: inline("go1.26.8", whole), version: "go1.26.8", path: "example.com/app"},
			{name: "inline, no modules", data: inline("go1.26.8", ""), version: "go1.26.8"},
			{name: "inline, modules too short for the marks", data: inline("go1.26.8", whole[:32]), version: "go1.26.8"},
			{name: "inline, the least modules", data: inline("go1.26.8", mark+"\n"+mark), version: "go1.26.8"},
			{name: "inline, no newline", data: inline("go1.26.8", mark+"path\tx"+mark), version: "go1.26.8"},
			{name: "inline, no version", data: inline("", whole)},
			{name: "inline, not readable", data: inline("go1.26.8", mark+"mod\tx\n"+mark)},
			{name: "inline, version cut off", data: inline("go1.26.8", whole)[:40]},
			{name: "inline, modules cut off", data: inline("go1.26.8", whole)[:70]},
			{name: "inline, without lengths", data: inline("", "")[:32]}, {name: "inline, no header", data: inline("", "")[:31]},
			{name: "pointers", data: pointers(size, "go1.17.1", whole), version: "go1.17.1", path: "example.com/app"},
			{name: "pointers, cut off", data: pointers(size, "go1.17.1", whole)[:66+8*int(size)-12], version: "go1.17.1"},
			{name: "pointers of another size", data: pointers(2, "go1.17.1", whole)},
			{name: "pointers, no version", data: pointers(size, "", whole)},
		} {
			for _, place := range []uint64{0, 16, 5} { // from the start of the segment; the last is not at a multiple of 16
				data := append(make([]byte, 0x40), c.data...)
				h := &Headers{Order: k.order, Class64: k.wide, Programs: []ProgramHeader{
					{Type: SegmentLoad, Flags: 7, Off: 0, Addr: 0x9000, Filesz: uint64(len(data)), Memsz: uint64(len(data))}, // not searched: code
					{Type: SegmentLoad, Flags: 6, Off: 0x40 - place, Addr: at - place, Filesz: uint64(len(c.data)) + place, Memsz: 0x10000}}}
				if place == 5 {
					h.Programs[1].Addr++
				}
				got := h.BuildInfo(bytes.NewReader(data))
				if c.version == "" || place == 5 {
					if got != nil {
						t.Errorf("%v, %s at %d: %v", k, c.name, place, got)
					}
					continue
				}
				if got == nil || got.GoVersion != c.version || got.Path != c.path {
					t.Errorf("%v, %s at %d: %+v", k, c.name, place, got)
				}
			}
		}
	}
}

// TestRecordedFar: the search finds the mark across the edges of what it reads at once, at every multiple of 16.
func TestRecordedFar(t *testing.T) {
	const chunk = 1 << 20
	magic := "\xff Go buildinf:"
	for _, at := range []int{0, 16, chunk - 16, chunk, chunk + 16, 2*chunk - 32, 2*chunk - 16, 2 * chunk, 3*chunk - 32} {
		p := make([]byte, 3*chunk)
		copy(p[at:], magic)
		copy(p[max(at-24, 0):], magic[:13]) // not whole
		if at > 24 {
			copy(p[1:], magic) // at no multiple of 16
		}
		h := &Headers{Programs: []ProgramHeader{{Type: SegmentLoad, Flags: 6, Addr: 0x10000, Filesz: uint64(len(p)), Memsz: uint64(len(p))}}}
		if got, ok := h.buildInfoAddr(bytes.NewReader(p)); !ok || got != 0x10000+uint64(at) {
			t.Errorf("at %#x: %#x, %t", at, got, ok)
		}
	}
}

// TestRecordedBounds: a text as long as the bound, and one more.
func TestRecordedBounds(t *testing.T) {
	for n, want := range map[uint64]bool{maxRecorded: true, maxRecorded + 1: false} {
		p := binary.AppendUvarint(nil, n)
		text := len(p)
		p = append(p, make([]byte, n)...)
		h := &Headers{Programs: []ProgramHeader{{Type: SegmentLoad, Addr: 0x1000, Filesz: uint64(len(p))}, {Type: SegmentLoad, Addr: 1 << 40, Off: uint64(len(p)), Filesz: 16}}}
		if s, next := h.inline(bytes.NewReader(p), 0x1000); (next == 0x1000+uint64(text)+n) != want || (uint64(len(s)) == n) != want {
			t.Errorf("%d bytes inline: %d, %#x", n, len(s), next)
		}
		p = le.AppendUint64(le.AppendUint64(p, 0x1000+uint64(text)), n)
		if s := h.str(bytes.NewReader(p), le, 8, 1<<40); (uint64(len(s)) == n) != want {
			t.Errorf("%d bytes by a pointer: %d", n, len(s))
		}
	}
}
