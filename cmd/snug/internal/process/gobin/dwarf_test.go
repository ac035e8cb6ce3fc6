// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
)

// TestRelate: a layout without what each release has is none.
func TestRelate(t *testing.T) {
	good := noLayout
	good.NumGC, good.GCCPUFraction, good.GCPercent, good.HeapLive = 4204, 4212, 0, 0
	if l, ok := relate(good, 100); !ok || l.NumGC != 4104 || l.GCCPUFraction != 4112 {
		t.Errorf("%+v, %t", l, ok)
	}
	for name, c := range map[string]struct {
		edit  func(*Layout)
		pause int64
		ok    bool
	}{
		"pause at 0": {func(*Layout) {}, 0, true}, "no pause": {func(*Layout) {}, -1, false}, "collections before it": {func(l *Layout) { l.NumGC = 99 }, 100, false}, "at it": {func(l *Layout) { l.NumGC = 100 }, 100, true},
		"share before it": {func(l *Layout) { l.GCCPUFraction = 99 }, 100, false}, "share at it": {func(l *Layout) { l.GCCPUFraction = 100 }, 100, true}, "no GOGC": {func(l *Layout) { l.GCPercent = -1 }, 100, false}, "no heap": {func(l *Layout) { l.HeapLive = -1 }, 100, false},
	} {
		l := good
		c.edit(&l)
		if _, ok := relate(l, c.pause); ok != c.ok {
			t.Errorf("%s: %t", name, ok)
		}
	}
}

// TestUnits: the units of debug information, up to one that is not whole.
func TestUnits(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "\x01\x00\x00": "", "\x00\x00\x00\x00": "[0]", "\x01\x00\x00\x00a\x02\x00\x00\x00bc": "[1] [2]", "\x01\x00\x00\x00a\x03\x00\x00\x00bc": "[1]", "\xff\xff\xff\xffabc": "",
	} {
		var got []string
		for u := range units([]byte(text)) {
			got = append(got, fmt.Sprint([]int{len(u) - 4}))
		}
		if s := strings.Join(got, " "); s != want {
			t.Errorf("%q: %s, want %s", text, s, want)
		}
	}
}

// TestDebugSection: sections as they are and packed, of which none is larger than what is left.
func TestDebugSection(t *testing.T) {
	for _, m := range []mode{exe, armexe} { // plain, and compressed
		file, err := elf.Open(build(t, "local", m))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		s := file.Section(".debug_info")
		want, err := s.Data()
		if err != nil {
			t.Fatal(err)
		}
		size := uint64(len(want))
		for left, ok := range map[uint64]bool{size + 10: true, size: true, size - 1: false, 0: false} {
			was := left
			if p, got := debugSection(file, "info", &left); got != ok || ok && (!bytes.Equal(p, want) || left != was-size) || !ok && left != was {
				t.Errorf("%v, %d bytes of %d left: %t, %d", m, was, size, got, left)
			}
		}
		left := uint64(1 << 40)
		if _, ok := debugSection(file, "none", &left); ok {
			t.Error("a section that is not there")
		}
	}
}

// TestOldDebugSection: sections as Go 1.18 packs them, with a size that is right and one that is not.
func TestOldDebugSection(t *testing.T) {
	text := bytes.Repeat([]byte("debug information "), 100)
	var packed bytes.Buffer
	w := zlib.NewWriter(&packed)
	w.Write(text)
	w.Close()
	size := uint64(len(text))
	names := "\x00.zdebug_info\x00.names\x00"
	for _, c := range []struct {
		mark  string
		claim uint64
		left  uint64
		ok    bool
	}{{"ZLIB", size, size, true}, {"ZLIB", size, size + 5, true}, {"ZLIB", size, size - 1, false}, {"ZLIB", size + 1, size + 1, false}, {"ZLIC", size, size, false}} {
		k := kinds[0]
		data := append(binary.BigEndian.AppendUint64([]byte(c.mark), c.claim), packed.Bytes()...)
		at := 64 + 3*uint64(sectionHeaders64)
		p := k.head(counts{shoff: 64, shent: sectionHeaders64, shnum: 3, sn: 2})
		p = k.section(p, 0, Section{})
		p = k.section(p, 1, Section{Type: 1, Off: at, Size: uint64(len(data))})
		p = k.section(p, 14, Section{Type: 3, Off: at + uint64(len(data)), Size: uint64(len(names))})
		p = append(append(p, data...), names...)
		file, err := elf.NewFile(bytes.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		left := c.left
		if got, ok := debugSection(file, "info", &left); ok != c.ok || ok && (!bytes.Equal(got, text) || left != c.left-size) {
			t.Errorf("%+v: %t, %d bytes, %d left", c, ok, len(got), left)
		}
	}
}
