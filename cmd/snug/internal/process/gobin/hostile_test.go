// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"runtime"
	"testing"
)

// exercise calls everything there is.
func exercise(f *File) {
	for _, pc := range []uint64{0, f.Entry, f.TextStart, f.TextStart + 1000, f.TextStart + 50000, f.TextStart + 300000, ^uint64(0)} {
		f.Func(pc)
		f.Frames(nil, pc)
	}
	f.Vars()
	f.Layout()
	f.Setters()
}

// places are those of a file on which all else hangs.
func places(t testing.TB, image []byte) []uint64 {
	t.Helper()
	f, err := openBytes(image)
	if err != nil {
		t.Fatal(err)
	}
	at := func(addr uint64) uint64 {
		s, ok := f.img.segment(addr)
		if !ok {
			t.Fatalf("%#x is not in the file", addr)
		}
		return s.off + addr - s.addr
	}
	list := []uint64{0, 64, le.Uint64(image[40:]), at(f.tab.addr), at(f.tab.names), at(f.tab.pc), at(f.tab.funcs),
		at(f.tab.funcs) + 8*uint64(f.Funcs), at(f.tab.gofunc), at(f.TextStart)}
	if s, ok := f.img.sections[".go.module"]; ok {
		list = append(list, at(s.addr))
	}
	if f.img.dynamic.size > 0 {
		list = append(list, at(f.img.dynamic.addr))
	}
	if e, err := elf.NewFile(bytes.NewReader(image)); err == nil {
		for _, name := range []string{".debug_info", ".debug_abbrev"} {
			if s := e.Section(name); s != nil {
				list = append(list, s.Offset)
			}
		}
	}
	return list
}

// patch overwrites parts of image: for each seven bytes of p a place, a distance
// from it and a value. The first byte, when odd, cuts the end off.
func patch(image []byte, places []uint64, p []byte) []byte {
	image = bytes.Clone(image)
	cut := len(p) > 2 && p[0]&1 != 0
	for i := 1; i+7 <= len(p); i += 7 {
		at := places[int(p[i])%len(places)] + uint64(p[i+1])<<8 + uint64(p[i+2])
		value := p[i+3 : i+7]
		if at+4 <= uint64(len(image)) {
			copy(image[at:], value)
		}
	}
	if cut {
		image = image[:uint64(len(image))*uint64(p[1])/256]
	}
	return image
}

func FuzzOpen(f *testing.F) {
	var images [][]byte
	var spots [][]uint64
	for _, m := range []mode{stripped, piestrip, armstrip, exe} {
		image := read(f, build(f, "local", m))
		images, spots = append(images, image), append(spots, places(f, image))
	}
	f.Add(byte(0), []byte{})
	f.Add(byte(1), []byte{1, 128})
	// Debug information that breaks off within a number.
	f.Add(byte(3), []byte{0, 11, 0, 0x80, 0xff, 0xff, 0xff, 0xff})
	for i := range 10 {
		f.Add(byte(i), []byte{0, byte(i), 0, 8, 0xff, 0xff, 0xff, 0xff})
		f.Add(byte(i), []byte{0, byte(i), 0, 4, 0, 0, 0, 0, byte(i + 1), 0, 20, 0x80, 0x80, 0x80, 0x80})
	}
	f.Fuzz(func(t *testing.T, which byte, p []byte) {
		i := int(which) % len(images)
		file, err := openBytes(patch(images[i], spots[i], p))
		if (file == nil) == (err == nil) {
			t.Fatalf("%v, %v", file, err)
		}
		if err == nil {
			exercise(file)
		}
		image := patch(images[i], spots[i], p)
		if h, err := ReadHeaders(bytes.NewReader(image)); err == nil {
			h.BuildInfo(bytes.NewReader(image))
		}
	})
}

// FuzzHeaders: what is in the file beside its headers is the fuzzer's too.
func FuzzHeaders(f *testing.F) {
	f.Add(read(f, build(f, "local", stripped))[:4096])
	f.Add([]byte("#!/bin/sh\n"))
	f.Fuzz(func(t *testing.T, p []byte) {
		if file, err := openBytes(p); err == nil {
			exercise(file)
		}
		if h, err := ReadHeaders(bytes.NewReader(p)); err == nil {
			h.BuildInfo(bytes.NewReader(p))
		}
	})
}

// TestTruncated: a file that ends early is refused or read as far as it goes.
func TestTruncated(t *testing.T) {
	for _, m := range []mode{stripped, cgostrip} {
		image := read(t, build(t, "local", m))
		for i := range 60 {
			n := len(image) * i / 60
			f, err := openBytes(image[:n])
			if err == nil {
				exercise(f)
			} else if !errors.Is(err, ErrNotGo) && !errors.Is(err, ErrUnsupported) {
				t.Errorf("%d of %d bytes: %v", n, len(image), err)
			}
		}
	}
}

func TestNotGo(t *testing.T) {
	image := read(t, build(t, "local", stripped))
	change := func(at int, b byte) []byte {
		p := bytes.Clone(image)
		p[at] = b
		return p
	}
	noTable := bytes.ReplaceAll(image, []byte{0xf1, 0xff, 0xff, 0xff, 0, 0, 1, 8}, []byte{0xf9, 0xff, 0xff, 0xff, 0, 0, 1, 8})
	for _, c := range []struct {
		name string
		file []byte
		want error
	}{
		{"empty", nil, ErrNotGo},
		{"a script", []byte("#!/bin/sh\nexec true\n" + string(make([]byte, 100))), ErrNotGo},
		{"32 bits", change(4, 1), ErrUnsupported},
		{"big-endian", change(5, 2), ErrUnsupported},
		{"another machine", change(18, 243), ErrUnsupported},
		{"an object file", change(16, 1), ErrUnsupported},
		{"a function table of a kind to come", noTable, ErrUnsupported},
		{"nor build information", bytes.ReplaceAll(noTable, []byte("\xff Go buildinf:"), []byte("\xff No buildinf:")), ErrNotGo},
	} {
		if f, err := openBytes(c.file); !errors.Is(err, c.want) || f != nil {
			t.Errorf("%s: %v, %v", c.name, f, err)
		}
	}
	if _, err := Open(failing{}, 1000); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("an error of reading: %v", err)
	}
}

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, io.ErrClosedPipe }

// TestNoSectionHeaders: nothing depends on them.
func TestNoSectionHeaders(t *testing.T) {
	for _, m := range []mode{stripped, piestrip, cgostrip, armstrip} {
		image := read(t, build(t, "local", m))
		whole, err := openBytes(image)
		if err != nil {
			t.Fatal(err)
		}
		bare := bytes.Clone(image)
		copy(bare[40:48], make([]byte, 8)) // e_shoff
		copy(bare[58:64], make([]byte, 6)) // e_shentsize, e_shnum, e_shstrndx
		f, err := openBytes(bare)
		if err != nil {
			t.Errorf("%v: %v", m, err)
			continue
		}
		if f.Vars() != whole.Vars() || f.TextStart != whole.TextStart || f.tab.gofunc != whole.tab.gofunc || f.Version != whole.Version {
			t.Errorf("%v: %+v, want %+v", m, f, whole)
		}
	}
}

// TestFrugal: counts that claim much allocate little, and a whole look at a
// program takes a few megabytes however large it is.
func TestFrugal(t *testing.T) {
	image := read(t, build(t, "local", stripped))
	list := places(t, image)
	table := list[3]
	for name, at := range map[string]uint64{"as it is": 0, "functions": table + 8, "files": table + 16, "names": table + 32, "functions' place": table + 64} {
		p := bytes.Clone(image)
		if at != 0 {
			le.PutUint64(p[at:], 1<<61)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f, err := openBytes(p)
		if err == nil {
			f.Vars()
		}
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > 16<<20 {
			t.Errorf("%s: %d bytes allocated", name, got)
		}
		if refused := err != nil; refused != (at != 0 && name != "files") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func BenchmarkOpenVars(b *testing.B) {
	image := read(b, build(b, "local", stripped))
	b.ReportAllocs()
	for b.Loop() {
		f, err := openBytes(image)
		if err != nil {
			b.Fatal(err)
		}
		f.Vars()
	}
}
