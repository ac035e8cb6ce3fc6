// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestImageRead: what the file has at an address, and what memory has, at the edges of segments.
func TestImageRead(t *testing.T) {
	m := &image{r: strings.NewReader("abcdefghij"), size: 10, mem: strings.NewReader(strings.Repeat("m", 300)), bias: 50,
		segs: []segment{{addr: 100, filesz: 4, memsz: 9, off: 2}, {addr: 200, filesz: 9, memsz: 9, off: 8, flags: flagWrite}, {addr: ^uint64(0) - 9, filesz: 5, memsz: 9, off: 0}}}
	for _, c := range []struct {
		addr      uint64
		n         int
		file      string
		mem       int
		any, vars bool // a segment has it, a writable one
	}{
		{99, 2, "", 0, false, false}, {100, 2, "cd", 2, true, false}, {100, 4, "cdef", 4, true, false}, {100, 9, "cdef", 9, true, false}, {103, 9, "f", 9, true, false},
		{104, 1, "", 1, true, false}, {108, 1, "", 1, true, false}, {109, 1, "", 0, false, false}, {199, 1, "", 0, false, false}, {200, 9, "ij", 9, true, true}, {208, 1, "", 1, true, true}, {209, 1, "", 0, false, false},
		{0, 1, "", 0, false, false}, {100, 0, "", 0, true, false},
	} {
		p := make([]byte, c.n)
		if n := m.read(p, c.addr); string(p[:n]) != c.file {
			t.Errorf("%d bytes at %d: %q, want %q", c.n, c.addr, p[:n], c.file)
		}
		if n := m.readMem(p, c.addr); n != c.mem || strings.Trim(string(p[:n]), "m") != "" {
			t.Errorf("%d bytes of memory at %d: %d, want %d", c.n, c.addr, n, c.mem)
		}
		if _, ok := m.segment(c.addr); ok != c.any || m.writableAt(c.addr) != c.vars {
			t.Errorf("at %d: segment %t, writable %t", c.addr, ok, m.writableAt(c.addr))
		}
	}
	for _, c := range []struct {
		off, n uint64
		ok     bool
	}{{0, 10, true}, {0, 11, false}, {10, 0, true}, {11, 0, false}, {9, 1, true}, {9, 2, false}, {10, ^uint64(0), false}, {3, ^uint64(0) - 2, false}} {
		if p, ok := m.fileBytes(c.off, c.n); ok != c.ok || ok && string(p) != "abcdefghij"[c.off:c.off+c.n] {
			t.Errorf("%d bytes of the file at %d: %q %t", c.n, c.off, p, ok)
		}
	}
	if (&image{segs: m.segs}).readMem(make([]byte, 1), 100) != 0 {
		t.Error("memory of no process")
	}
}

// relocated is an image with relocations at 0x1000 and a dynamic section before them, at 0x100; and words at 0x200.
func relocated(entries int, kind func(i int) uint64, arch string) *image {
	p := make([]byte, 0x1000)
	for i, v := range []uint64{5, 0x9999, 7, 0x1000, 8, uint64(24 * entries), 9, 24} {
		le.PutUint64(p[0x100+8*i:], v)
	}
	for i := range 4 {
		le.PutUint64(p[0x200+8*i:], uint64(70+i))
	}
	for i := range entries {
		p = le.AppendUint64(le.AppendUint64(le.AppendUint64(p, 0x200+8*uint64(i)), kind(i)), 0x5000+uint64(i))
	}
	return &image{r: bytes.NewReader(p), size: uint64(len(p)), arch: arch, pie: true, dynamic: span{0x100, 64}, segs: []segment{{filesz: uint64(len(p)), memsz: uint64(len(p)) + 0x100}}}
}

// TestRelative: every relocation of the kind is visited, in tables of every length, up to the one that ends it.
func TestRelative(t *testing.T) {
	for _, n := range []int{0, 1, 2, 4095, 4096, 4097, 9000} {
		m := relocated(n, func(int) uint64 { return 8 }, "amd64")
		var visited int
		var last uint64
		m.relative(func(at, value uint64) bool {
			if at != 0x200+8*uint64(visited) || value != 0x5000+uint64(visited) {
				t.Fatalf("%d of %d: %#x at %#x", visited, n, value, at)
			}
			visited, last = visited+1, value
			return false
		})
		if visited != n || n > 0 && last != 0x5000+uint64(n)-1 {
			t.Errorf("%d of %d visited", visited, n)
		}
		visited = 0
		m.relative(func(at, value uint64) bool { visited++; return visited == 3 })
		if visited != min(n, 3) {
			t.Errorf("%d of %d visited, wanted 3", visited, n)
		}
	}
	for arch, kind := range map[string]uint64{"amd64": 8, "arm64": 1027} {
		var got []uint64
		relocated(6, func(i int) uint64 { return []uint64{8, 1027, 7}[i%3] }, arch).relative(func(at, value uint64) bool { got = append(got, value); return false })
		if want := map[uint64][]uint64{8: {0x5000, 0x5003}, 1027: {0x5001, 0x5004}}[kind]; !slices.Equal(got, want) {
			t.Errorf("%s: %#x, want %#x", arch, got, want)
		}
	}
	// A table that claims more than there is, and one that ends in half an entry.
	m := relocated(3, func(int) uint64 { return 8 }, "amd64")
	for claimed, want := range map[uint64]int{72: 3, 71: 2, 48: 2, 47: 1, 24: 1, 23: 0, 1 << 40: 3} {
		dyn := make([]byte, 0x1000+72)
		m.r.ReadAt(dyn, 0)
		le.PutUint64(dyn[0x128:], claimed)
		n := 0
		(&image{r: bytes.NewReader(dyn), arch: "amd64", dynamic: m.dynamic, segs: m.segs}).relative(func(uint64, uint64) bool { n++; return false })
		if n != want {
			t.Errorf("%d bytes claimed: %d visited, want %d", claimed, n, want)
		}
	}
	short := relocated(3, func(int) uint64 { return 8 }, "amd64")
	for size, want := range map[uint64]int{64: 3, 48: 3, 47: 0, 32: 0, 16: 0, 0: 0} {
		n := 0
		short.dynamic.size = size
		short.relative(func(uint64, uint64) bool { n++; return false })
		if n != want {
			t.Errorf("a dynamic section of %d bytes: %d visited, want %d", size, n, want)
		}
	}
}

// TestWords: words of the file, with relocations in a position-independent program.
func TestWords(t *testing.T) {
	m := relocated(2, func(int) uint64 { return 8 }, "amd64")
	for _, c := range []struct {
		pie  bool
		addr uint64
		n    int
		want []uint64
	}{{false, 0x200, 4, []uint64{70, 71, 72, 73}}, {true, 0x200, 4, []uint64{0x5000, 0x5001, 72, 73}}, {true, 0x208, 2, []uint64{0x5001, 72}}, {true, 0x210, 1, []uint64{72}}, {true, 0x1f8, 2, []uint64{0, 0x5000}}, {true, 0x1f0, 2, []uint64{0, 0}}, {true, 0x204, 1, []uint64{71 << 32}}, {true, 0x1028, 1, []uint64{0x5001}}, {true, 0x1029, 1, nil}} {
		m.pie = c.pie
		if got, ok := m.words(c.addr, c.n); !slices.Equal(got, c.want) || ok != (c.want != nil) {
			t.Errorf("%+v: %#x %t", c, got, ok)
		}
	}
	// Memory has what is 0 in the file: addresses of the image with its bias, and other numbers as they are.
	memory := make([]byte, 0x400)
	for i, v := range []uint64{0x10000 + 0x300, 5, 0x10000 + 0x1130, 0x10000 + 0x112f} {
		le.PutUint64(memory[0x300+8*i:], v)
	}
	m.pie, m.bias, m.mem = true, 0x10000, bytes.NewReader(append(make([]byte, 0x10000), memory...))
	if got, ok := m.words(0x300, 4); !ok || !slices.Equal(got, []uint64{0x300, 5, 0x10000 + 0x1130, 0x112f}) {
		t.Errorf("with memory: %#x %t", got, ok)
	}
	if got, ok := m.words(0x200, 4); !ok || !slices.Equal(got, []uint64{0x5000, 0x5001, 72, 73}) {
		t.Errorf("words that the file has: %#x %t", got, ok)
	}
}
