// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// smalls are the ways in which a small program differs.
var smalls = map[string]small{
	"with sections": {funcs: 20, gofunc: 40}, "bare": {funcs: 20, gofunc: 40, bare: true}, "of 1.18": {funcs: 20, gofunc: 38, old: true},
	"PIE": {funcs: 20, gofunc: 43, pie: true}, "bare PIE": {funcs: 20, gofunc: 43, pie: true, bare: true}, "arm64": {funcs: 20, gofunc: moduleGofuncLast, arm: true}, "arm64 PIE": {funcs: 17, gofunc: moduleGofuncFirst, arm: true, pie: true, bare: true},
	"just enough trees": {funcs: 16, gofunc: 40}, "of several pages": {funcs: 220, gofunc: 40},
}

// TestSmall: every address of a small program has the calls that were written for it.
func TestSmall(t *testing.T) {
	for name, s := range smalls {
		f, err := openBytes(s.image())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if f.Version != "go1.26.8" || f.Minor != 26 || f.PIE != s.pie || (f.Arch == "arm64") != s.arm || f.Funcs != s.funcs || f.TextStart != smallText || f.Entry != smallFirst {
			t.Errorf("%s: %+v", name, f)
		}
		for pc := uint64(smallText); pc < s.entry(s.funcs)+64; pc++ {
			i, at := int(pc-smallFirst)/smallSize, int(pc-smallFirst)%smallSize
			fn, start, end, ok := f.Func(pc)
			got := f.Frames(nil, pc)
			if pc < smallFirst || i >= s.funcs {
				if ok || got != nil {
					t.Errorf("%s: %q %v at %#x, where no function is", name, fn, got, pc)
				}
				continue
			}
			if fn != s.name(i) || start != s.entry(i) || end != s.entry(i+1) || !ok {
				t.Errorf("%s, %#x: %q from %#x to %#x", name, pc, fn, start, end)
			}
			if want := s.frames(i, at); !slices.Equal(got, want) {
				t.Fatalf("%s, byte %d of %d:\n%+v, want\n%+v", name, at, i, got, want)
			}
			if got := f.tab.readFrame(pc); !got.found || !got.sized || got.size != s.frameSize(at) || got.entry != start || got.flags != s.flags[i] {
				t.Fatalf("%s, byte %d of %d: %+v", name, at, i, got)
			}
		}
	}
}

// TestSmallDamaged: at which value of a field a program is still read, and what follows from the next one.
func TestSmallDamaged(t *testing.T) {
	whole := small{funcs: 20, gofunc: 40, bare: true}
	table, functab, _ := whole.table()
	const header, module = smallTabAt, smallDataAt + smallModule - smallData
	program := func(i, field int) int { return 64 + 56*i + field }
	put := func(at int, v uint64) func([]byte) { return func(p []byte) { le.PutUint64(p[at:], v) } }
	u16 := func(at int, v uint16) func([]byte) { return func(p []byte) { le.PutUint16(p[at:], v) } }
	b := func(at int, v byte) func([]byte) { return func(p []byte) { p[at] = v } }
	off := func(i int) uint64 { return le.Uint64(table[32+8*i:]) }
	room := (uint64(len(table)) - off(4)) / 8
	for _, c := range []struct {
		name string
		edit func([]byte)
		want error
	}{
		{"nothing", func([]byte) {}, nil},
		{"class", b(4, 1), ErrUnsupported}, {"byte order", b(5, 2), ErrUnsupported}, {"magic", b(3, 'f'), ErrNotGo},
		{"object file", u16(16, 1), ErrUnsupported}, {"core", u16(16, 4), ErrUnsupported}, {"PIE", u16(16, 3), nil}, {"riscv", u16(18, 243), ErrUnsupported},
		{"headers of 55", u16(54, 55), ErrUnsupported}, {"headers of 57", u16(54, 57), ErrUnsupported}, {"no headers", u16(56, 0), ErrUnsupported},
		{"headers at the end", func(p []byte) { copy(p[len(p)-3*56:], p[64:64+3*56]); put(32, uint64(len(p)-3*56))(p) }, nil},
		{"headers that end behind the file", func(p []byte) { copy(p[len(p)-3*56+1:], p[64:]); put(32, uint64(len(p)-3*56+1))(p) }, ErrUnsupported},
		{"headers behind the file", put(32, 1<<40), ErrUnsupported},
		{"a segment at the end of the file", put(program(1, 8), smallEnd), ErrNotGoKind}, {"one that wraps around", put(program(2, 40), -smallData&(1<<64-1)), ErrUnsupported}, {"one up to the last address", put(program(2, 40), -smallData&(1<<64-1)-1), nil},
		{"table: magic", b(header, 0xf2), ErrNotGoKind}, {"table: byte 4", b(header+4, 1), ErrNotGoKind}, {"table: byte 5", b(header+5, 1), ErrNotGoKind},
		{"table: instructions of 2", b(header+6, 2), ErrNotGoKind}, {"table: pointers of 4", b(header+7, 4), ErrNotGoKind},
		{"table: no functions", put(header+8, 0), ErrNotGoKind}, {"table: as many as there is room", put(header+8, room), nil}, {"table: more", put(header+8, room+1), ErrNotGoKind},
		{"table: names before the header's end", put(header+32, headerSize-1), ErrNotGoKind},
		{"table: files before names", put(header+40, off(0)-1), ErrNotGoKind}, {"table: files with names", put(header+40, off(0)), nil},
		{"table: functions at the end", put(header+64, uint64(len(table))), ErrNotGoKind}, {"table: functions behind it", put(header+64, uint64(len(table))+1), ErrNotGoKind},
		{"table: one function at the end", func(p []byte) { put(header+64, uint64(len(table))-8)(p); put(header+8, 1)(p) }, nil},
		{"table: the same text", put(header+24, smallText), nil}, {"table: another text", put(header+24, smallText+1), nil}, {"table: a text that is not code", put(header+24, smallData), ErrUnsupported},
		{"module: another table", put(module, smallTable+1), ErrUnsupported}, {"module: other names", put(module+8*moduleNames, smallTable), ErrUnsupported},
		{"module: ends before it starts", put(module+8*moduleMinPC, smallText-1), ErrUnsupported}, {"module: starts with the text", put(module+8*moduleMinPC, smallText), nil},
		{"module: text is data", put(module+8*moduleText, smallTable), ErrUnsupported}, {"module: text is nowhere", put(module+8*moduleText, 0x1000), ErrUnsupported},
		{"module: no trees", put(module+8*40, 0), nil}, {"functab: no order", put(header+functab, 0xffffffff), nil},
	} {
		for _, bare := range []bool{true, false} {
			s := whole
			s.bare = bare
			image := s.image()
			if c.name == "headers at the end" || c.name == "headers that end behind the file" {
				image = image[:smallEnd]
			}
			c.edit(image)
			f, err := openBytes(image)
			switch {
			case c.want == nil && err != nil, c.want != nil && c.want != ErrNotGoKind && !errors.Is(err, c.want):
				t.Errorf("%s, bare %t: %v", c.name, bare, err)
			case c.want == ErrNotGoKind && !errors.Is(err, ErrUnsupported) && !errors.Is(err, ErrNotGo):
				t.Errorf("%s, bare %t: %v", c.name, bare, err)
			case err == nil:
				exercise(f)
			}
		}
	}
	image := whole.image()
	for n, want := range map[int]error{63: ErrNotGo, 64: ErrUnsupported, 64 + 3*56 - 1: ErrUnsupported, 64 + 3*56: ErrNotGo, smallTabAt + len(table): ErrUnsupported, len(image): nil} {
		if _, err := openBytes(image[:n]); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	if _, err := Open(bytes.NewReader(image), -1); !errors.Is(err, ErrNotGo) {
		t.Errorf("a negative size: %v", err)
	}
}

// ErrNotGoKind stands for either error: which of them depends on what else is found.
var ErrNotGoKind = errors.New("refused")

// TestDecoys: the module is the last of 64 places that relocations give to the table's address, and not of 65.
func TestDecoys(t *testing.T) {
	s := small{funcs: 20, gofunc: 43, pie: true, bare: true}
	for decoys, want := range map[int]bool{0: true, 63: true, 64: false} {
		image := s.image()
		dyn, rela := smallDataAt+smallDyn-smallData, smallDataAt+smallRela-smallData
		size := le.Uint64(image[dyn+24:])
		table := bytes.Clone(image[rela : rela+int(size)])
		for range decoys {
			for i, v := range []uint64{smallData + 0x20, 8, smallTable} {
				le.PutUint64(image[rela+8*i:], v)
			}
			rela += 24
		}
		copy(image[rela:], table)
		le.PutUint64(image[dyn+24:], size+24*uint64(decoys))
		if f, err := openBytes(image); (err == nil) != want || want && f.tab.gofunc == 0 {
			t.Errorf("%d decoys: %v", decoys, err)
		}
	}
}

// TestMaxFuncs: as many functions as the bound, and one more, in a file that says so and is large enough.
func TestMaxFuncs(t *testing.T) {
	table, _, _ := (&small{funcs: 20, gofunc: 40}).table()
	const size = 1 << 30
	for n, want := range map[uint64]bool{maxFuncs: true, maxFuncs + 1: false} {
		le.PutUint64(table[8:], n)
		m := &image{r: readers{bytes.NewReader(table), &counted{}}, segs: []segment{{addr: smallTable, filesz: size, memsz: size}}}
		if tab, ok := readHeader(m, smallTable); ok != want || ok && tab.nfunc != maxFuncs {
			t.Errorf("%d functions: %t", n, ok)
		}
	}
}
