// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// TestSmallUnwind: stacks of which every word is written down.
func TestSmallUnwind(t *testing.T) {
	names := []string{"runtime.goexit", "runtime.cgocallback", "runtime.sigpanic", "main.changes", "main.first", "main.a", "main.b", "main.c"}
	flags := map[int]byte{0: flagTopFrame, 1: flagSPWrite, 3: flagSPWrite, 4: flagTopFrame | flagSPWrite}
	const goexit, callback, sigpanic, changes, first, a, b, c = 0, 1, 2, 3, 4, 5, 6, 7
	s := small{funcs: 20, gofunc: 40, names: names, flags: flags}
	at := func(i, offset int) uint64 { return s.entry(i) + uint64(offset) }
	const sp = 0xc000001000
	for _, x := range []struct {
		name  string
		arm   bool
		r     Registers
		stack []uint64
		limit int
		calls []uint64
		whole bool
	}{
		{"to goexit", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(b, 20), 0, 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 11), at(b, 19)}, true},
		{"to another first function", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(first, 20)}, 9, []uint64{at(a, 11), at(first, 19)}, true},
		{"at an entry, without a frame", false, Registers{PC: at(a, 0), SP: sp}, []uint64{at(b, 20), 0, 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 0), at(b, 19)}, true},
		{"as many as allowed", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(goexit, 1)}, 1, []uint64{at(a, 11)}, true},
		{"one more", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(b, 20), 0, 0, 0, at(goexit, 1)}, 1, []uint64{at(a, 11)}, false},
		{"none allowed", false, Registers{PC: at(a, 12), SP: sp}, nil, 0, nil, false},
		{"the stack ends", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0}, 9, []uint64{at(a, 11)}, false},
		{"no return address", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, 0}, 9, []uint64{at(a, 11)}, false},
		{"returns to no function", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, 4096}, 9, []uint64{at(a, 11)}, false},
		{"no function", false, Registers{PC: 4096, SP: sp}, []uint64{at(a, 12)}, 9, nil, false},
		{"LR is no register", false, Registers{PC: at(a, 0), SP: sp, LR: at(c, 8)}, []uint64{at(goexit, 1)}, 9, []uint64{at(a, 0)}, true},
		{"changes its SP, innermost", false, Registers{PC: at(changes, 12), SP: sp}, []uint64{0, 0, 0, at(goexit, 1)}, 9, []uint64{at(changes, 11)}, true},
		{"changes its SP, called", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(changes, 12), 0, 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 11), at(changes, 11)}, false},
		{"cgocallback, called", false, Registers{PC: at(a, 12), SP: sp}, []uint64{0, 0, 0, at(callback, 12), 0, 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 11), at(callback, 11)}, true},
		{"a fault", false, Registers{PC: at(sigpanic, 12), SP: sp}, []uint64{0, 0, 0, at(a, 12), 0, 0, 0, at(b, 12), 0, 0, 0, at(goexit, 1)}, 9, []uint64{at(sigpanic, 11), at(a, 12), at(b, 11)}, true},
		{"the stack pointer wraps around", false, Registers{PC: at(a, 12), SP: ^uint64(0) - 15}, []uint64{at(b, 12), at(b, 12), at(b, 12), at(b, 12)}, 9, []uint64{at(a, 11)}, false},
		{"arm64: in a frame", true, Registers{PC: at(a, 12), SP: sp, LR: at(c, 8)}, []uint64{at(b, 20), 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 11), at(b, 19)}, true},
		{"arm64: at an entry", true, Registers{PC: at(a, 0), SP: sp, LR: at(b, 20)}, []uint64{at(goexit, 1)}, 9, []uint64{at(a, 0), at(b, 19)}, true},
		{"arm64: at an entry, saved", true, Registers{PC: at(a, 0), SP: sp}, []uint64{at(goexit, 1)}, 9, []uint64{at(a, 0)}, true},
		{"arm64: returns to itself", true, Registers{PC: at(a, 0), SP: sp, LR: at(a, 0)}, []uint64{at(goexit, 1)}, 9, []uint64{at(a, 0)}, false},
		{"arm64: calls itself", true, Registers{PC: at(a, 12), SP: sp}, []uint64{at(a, 12), 0, 0, at(goexit, 1)}, 9, []uint64{at(a, 11), at(a, 11)}, true},
		{"arm64: a fault in a frame", true, Registers{PC: at(sigpanic, 12), SP: sp}, []uint64{at(a, 12), 0, 0, at(c, 8), 0, at(b, 20), 0, 0, at(goexit, 1)}, 9, []uint64{at(sigpanic, 11), at(a, 12), at(b, 19)}, true},
		{"arm64: a fault at an entry", true, Registers{PC: at(sigpanic, 12), SP: sp}, []uint64{at(a, 0), 0, 0, at(b, 20), 0, at(goexit, 1)}, 9, []uint64{at(sigpanic, 11), at(a, 0), at(b, 19)}, true},
		{"arm64: a jump to nothing", true, Registers{PC: at(sigpanic, 12), SP: sp}, []uint64{4096, 0, 0, at(b, 20), 0, at(goexit, 1)}, 9, []uint64{at(sigpanic, 11), at(b, 20)}, true},
		{"arm64: a fault, and the stack ends", true, Registers{PC: at(sigpanic, 12), SP: sp}, []uint64{at(a, 12), 0, 0}, 9, []uint64{at(sigpanic, 11)}, false},
	} {
		for _, bias := range []uint64{0, 0x7000000} {
			s.arm = x.arm
			f, err := openBytes(s.image())
			if err != nil {
				t.Fatal(err)
			}
			f.img.bias = bias
			r, stack := x.r, []byte(nil)
			r.PC += bias
			if r.LR != 0 {
				r.LR += bias
			}
			for _, w := range x.stack {
				if w != 0 {
					w += bias
				}
				stack = le.AppendUint64(stack, w)
			}
			if calls, whole := f.Unwind(nil, r, stack, x.limit); !slices.Equal(calls, x.calls) || whole != x.whole {
				t.Errorf("%s, bias %#x: %#x %t, want %#x %t", x.name, bias, calls, whole, x.calls, x.whole)
			}
			if len(stack) > 0 && x.whole {
				if calls, whole := f.Unwind(nil, r, stack[:len(stack)-1], x.limit); whole {
					t.Errorf("%s, a byte less: %#x %t", x.name, calls, whole)
				}
			}
		}
	}
}

// loaded is the memory of a process that runs a small program at an address.
type loaded struct {
	segs  []segment
	image []byte
	bias  uint64
}

func (l loaded) ReadAt(p []byte, off int64) (int, error) {
	m := image{r: bytes.NewReader(l.image), segs: l.segs}
	return m.read(p, uint64(off)-l.bias), nil
}

// TestSmallLive: words that only the loader fills in are read from the process.
func TestSmallLive(t *testing.T) {
	const bias = 0x7f0000000000
	s := small{funcs: 20, gofunc: 43, pie: true, bare: true}
	cold := s.image()
	le.PutUint64(cold[smallDataAt+smallDyn-smallData+24:], 0) // DT_RELASZ
	if _, err := openBytes(cold); err == nil {
		t.Fatal("read without relocations")
	}
	fixed := s
	fixed.pie = false
	warm := fixed.image()
	for i := range moduleWords {
		if at := smallDataAt + smallModule - smallData + 8*i; le.Uint64(warm[at:]) != 0 {
			le.PutUint64(warm[at:], le.Uint64(warm[at:])+bias)
		}
	}
	whole, err := openBytes(s.image())
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenLive(bytes.NewReader(cold), int64(len(cold)), loaded{whole.img.segs, warm, bias}, bias)
	if err != nil || f.TextStart != whole.TextStart || f.tab.gofunc != whole.tab.gofunc || f.tab.gofunc == 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	for _, at := range []uint64{0, 8, 16, 20, 31} {
		pc := s.entry(3) + at
		if got, want := f.Frames(nil, pc), s.frames(3, int(at)); !slices.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// TestSmallLookup: functions by name.
func TestSmallLookup(t *testing.T) {
	s := small{funcs: 20, gofunc: 40, names: []string{"runtime.lock", "runtime.lock2", "runtime/debug.lock2", "xruntime.lock3", "runtime.(*p).get", "runtime.lock"}}
	f, err := openBytes(s.image())
	if err != nil {
		t.Fatal(err)
	}
	got := f.tab.lookup(map[string]bool{"lock": true, "lock2": true, "lock3": true, "lo": true, "(*p).get": true})
	if len(got) != 3 || got["lock"].entry != s.entry(0) || got["lock2"].entry != s.entry(1) || got["(*p).get"].entry != s.entry(4) || got["lock2"].end != s.entry(2) {
		t.Errorf("%+v", got)
	}
	for _, c := range []struct {
		prefix string
		rest   []string
		want   bool
	}{{"runtime.", []string{"lock"}, true}, {"runtime.", []string{"none", "lock2"}, true}, {"runtime.", []string{"loc"}, false}, {"runtime.", nil, false}, {"main.", []string{"f19"}, true}, {"main.", []string{"f20"}, false}, {"untime.", []string{"lock"}, false}} {
		if got := f.Has(c.prefix, c.rest...); got != c.want {
			t.Errorf("%s %q: %t", c.prefix, c.rest, got)
		}
	}
	if (&File{}).Has("main.", "f1") {
		t.Error("a file without a table has a function")
	}
}

// TestNamesFar: names across the edges of what is read at once.
func TestNamesFar(t *testing.T) {
	const chunk = 256 << 10
	for _, at := range []int{0, chunk - 20, chunk - 16, chunk - 15, chunk - 9, chunk - 8, chunk - 1, chunk, chunk + 1, 2*chunk - 15, 2*chunk - 1, 2*chunk + 5} {
		p := bytes.Repeat([]byte{'x'}, 2*chunk+40)
		copy(p[at:], "\x00runtime.target\x00")
		tab := &pclntab{pager: pager{img: &image{r: bytes.NewReader(p), segs: []segment{{addr: 0x1000, filesz: uint64(len(p)), memsz: uint64(len(p))}}}}, names: 0x1000, cu: 0x1000 + uint64(len(p))}
		if got := tab.nameOffsets("\x00runtime.", map[string]bool{"target": true}); len(got) != 1 || got[uint32(at)+1] != "target" {
			t.Errorf("at %#x: %v", at, got)
		}
		if tab.cu = 0x1000 + uint64(at) + 15; len(tab.nameOffsets("\x00runtime.", map[string]bool{"target": true})) != 0 {
			t.Errorf("at %#x: a name that the table's end cuts off", at)
		}
	}
}

// TestScan: a pattern is found across the edges of what is read at once, in the segments and at the multiples that
// are asked for, and up to a bound.
func TestScan(t *testing.T) {
	const chunk = 1 << 20
	size := uint64(2*chunk + 100)
	for _, at := range []int{0, 8, chunk - 8, chunk - 4, chunk, 2*chunk - 4, 2*chunk + 92} {
		p := make([]byte, size)
		copy(p[at:], "pattern!")
		copy(p[40:], "pattern!")
		m := &image{r: bytes.NewReader(p), size: size, segs: []segment{{addr: 0x100, filesz: size, memsz: size, flags: flagExec}, {addr: 1 << 30, filesz: size, memsz: size}}}
		var tried []uint64
		found := m.scan([]byte("pattern!"), 4, data, m.read, func(addr uint64) bool {
			tried = append(tried, addr)
			return addr == 1<<30+uint64(at)
		})
		want := []uint64{1<<30 + uint64(at)}
		if at > 40 {
			want = []uint64{1<<30 + 40, 1<<30 + uint64(at)}
		}
		if !found || !slices.Equal(tried, want) {
			t.Errorf("at %#x: %#x %t", at, tried, found)
		}
	}
	far := &image{segs: []segment{{addr: 1 << 40, filesz: maxScan + 3*chunk}}}
	for at, want := range map[uint64]bool{maxScan - 16: true, maxScan - 8: true, maxScan + 8: false, maxScan + chunk: false} {
		read := func(p []byte, addr uint64) int {
			clear(p)
			if i := int64(1<<40+at) - int64(addr); i >= 0 && i < int64(len(p))-8 {
				copy(p[i:], "pattern!")
			}
			return len(p)
		}
		if got := far.scan([]byte("pattern!"), 8, data, read, func(uint64) bool { return true }); got != want {
			t.Errorf("at %#x of the bound: %t", at, got)
		}
	}
}

// TestBuildID: Go's, or else the first of GNU's.
func TestBuildID(t *testing.T) {
	note := func(kind uint32, name, desc string) string {
		p := le.AppendUint32(le.AppendUint32(le.AppendUint32(nil, uint32(len(name))), uint32(len(desc))), kind)
		pad := func(p []byte) []byte { return append(p, make([]byte, -len(p)&3)...) }
		return string(pad(append(pad(append(p, name...)), desc...)))
	}
	golang, gnu := note(4, "Go\x00\x00", "abc/def"), note(3, "GNU\x00", "\x01\xab\xff")
	for _, c := range []struct{ notes, want string }{
		{golang, "abc/def"}, {gnu, "01abff"}, {gnu + golang, "abc/def"}, {golang + gnu, "abc/def"}, {gnu + note(3, "GNU\x00", "x"), "01abff"},
		{note(5, "Go\x00\x00", "abc"), ""}, {note(4, "Go\x00\x00", "") + gnu, "01abff"}, {note(4, "GNU\x00", "abc"), ""}, {note(3, "Go\x00\x00", "abc"), ""}, {note(1, "Linux", "odd") + golang, "abc/def"},
		{golang[:len(golang)-1], "abc/def"}, {golang[:len(golang)-2], ""}, {golang[:15], ""}, {golang[:12], ""}, {golang[:11], ""}, {"", ""},
	} {
		s := small{funcs: 20, gofunc: 40, notes: []byte(c.notes)}
		if f, err := openBytes(s.image()); err != nil || f.BuildID != c.want {
			t.Errorf("%q: %+v, %v; want %q", c.notes, f, err, c.want)
		}
	}
}

// part returns a table of functions that holds only these bytes, at 0x1000.
func part(p []byte) *pclntab {
	return &pclntab{pager: pager{img: &image{r: bytes.NewReader(p), segs: []segment{{addr: 0x1000, filesz: uint64(len(p)), memsz: uint64(len(p)) + 8}}}}, pc: 0x1000, funcs: 0x1000 + uint64(len(p)), quantum: 1}
}

// TestVarint: numbers of one to five bytes, and what is none.
func TestVarint(t *testing.T) {
	for _, c := range []struct {
		bytes string
		want  uint32
		ok    bool
	}{
		{"\x00", 0, true}, {"\x7f", 127, true}, {"\x80\x01", 128, true}, {"\xff\xff\xff\xff\x0f", 1<<32 - 1, true}, {"\x80\x80\x80\x80\x01", 1 << 28, true},
		{"\x80\x80\x80\x80\x80\x01", 0, false}, {"\x80", 0, false}, {"", 0, false},
	} {
		addr := uint64(0x1000)
		if got, ok := part([]byte(c.bytes)).varint(&addr); got != c.want || ok != c.ok || ok && addr != 0x1000+uint64(len(c.bytes)) {
			t.Errorf("%q: %d %t, up to %#x", c.bytes, got, ok, addr)
		}
	}
}

// TestValue: a table of values, its end, and what is missing.
func TestValue(t *testing.T) {
	f := fn{entry: 0x100, end: 0x110}
	table := "\x00" + "\x02\x04" + "\x04\x04" + "\x03\x08" + "\x00"
	for _, c := range []struct {
		pc   uint64
		want int32
		ok   bool
	}{{0x100, 0, true}, {0x103, 0, true}, {0x104, 2, true}, {0x107, 2, true}, {0x108, 0, true}, {0x10f, 0, true}, {0x110, 0, false}, {0xff, 0, true}} {
		if got, ok := part([]byte(table)).value(f, 1, c.pc); got != c.want || ok != c.ok {
			t.Errorf("at %#x: %d %t", c.pc, got, ok)
		}
	}
	if _, ok := part([]byte(table)).value(f, 0, 0x100); ok {
		t.Error("a table at 0, which is none")
	}
	if got, ok := part([]byte("\x00\x00\x04\x02\x04")).value(f, 1, 0x104); !ok || got != 0 {
		t.Errorf("a first difference of 0: %d %t", got, ok)
	}
	if _, ok := part([]byte("\x00\x02\x04\x02")).value(f, 1, 0x104); ok {
		t.Error("a number is missing")
	}
	long := part([]byte("\x00" + strings.Repeat("\x02\x00", 50)))
	long.steps = maxSteps - 10
	if _, ok := long.value(f, 1, 0x104); ok || long.steps != maxSteps {
		t.Errorf("%d steps", long.steps)
	}
	beyond := part([]byte("\x00" + "\x02\x10" + "\x02\x01" + "\x02\x7f"))
	if got, ok := beyond.value(f, 1, 0x10f); !ok || got != 0 {
		t.Errorf("the last byte: %d %t", got, ok)
	}
	if _, ok := beyond.value(f, 1, 0x150); ok {
		t.Error("a value behind the function's end")
	}
}

// TestStr: a text ends at its NUL, at the limit, at the file's end, or at the longest name.
func TestStr(t *testing.T) {
	p := []byte("abc\x00def\x00")
	for _, c := range []struct {
		addr, limit uint64
		want        string
	}{{0, 9, "abc"}, {4, 9, "def"}, {0, 2, "ab"}, {2, 2, ""}, {3, 2, ""}, {3, 9, ""}, {5, 8, "ef"}, {7, 8, ""}, {1 << 40, 1 << 41, ""}} {
		if got := part(p).str(0x1000+c.addr, 0x1000+c.limit); got != c.want {
			t.Errorf("%d to %d: %q, want %q", c.addr, c.limit, got, c.want)
		}
	}
	long := append(bytes.Repeat([]byte{'n'}, 3*pageSize), 0)
	for from, want := range map[uint64]int{0: maxName, 3*pageSize - maxName: maxName, 3*pageSize - maxName + 1: maxName - 1, pageSize - 3: maxName} {
		if got := part(long).str(0x1000+from, 1<<40); len(got) != want {
			t.Errorf("from %d: %d bytes, want %d", from, len(got), want)
		}
	}
}

// TestPager: bytes within a page, across two, and at the end of the file.
func TestPager(t *testing.T) {
	p := make([]byte, 3*pageSize+10)
	for i := range p {
		p[i] = byte(i * 7 >> 3)
	}
	tab := part(p)
	for _, at := range []int{0, 5, pageSize - 8, pageSize - 7, pageSize, 2*pageSize - 1, 3*pageSize + 2, 3*pageSize + 3, 3*pageSize + 10, 100} {
		got, ok := tab.bytes(0x1000+uint64(at), 8)
		if want := at+8 <= len(p); ok != want || ok && !bytes.Equal(got, p[at:at+8]) {
			t.Errorf("at %d: %x %t", at, got, ok)
		}
	}
	many := part(make([]byte, (maxPages+20)*pageSize))
	for i := range maxPages + 20 {
		if many.rest(0x1000 + uint64(i)*pageSize); len(many.pages) > maxPages || i < maxPages && len(many.pages) != i+1 {
			t.Fatalf("%d pages after %d", len(many.pages), i+1)
		}
	}
}

// TestWindow: reads in order and back, across its buffer, and up to its budget.
func TestWindow(t *testing.T) {
	const size = 256 << 10
	p := make([]byte, 2*size+4)
	for i := range p {
		p[i] = byte(i>>9 + i)
	}
	w := window{img: part(p).img, budget: 100 * size}
	for _, at := range []int{0, 100, size - 8, size - 7, size, 2*size - 4, 2*size - 3, 0, 7} {
		got, ok := w.bytes(0x1000+uint64(at), 8)
		if want := at+8 <= len(p); ok != want || ok && !bytes.Equal(got, p[at:at+8]) {
			t.Errorf("at %d: %x %t", at, got, ok)
		}
	}
	w = window{img: part(p).img, budget: size}
	for i, want := range []bool{true, true, false} { // one buffer, one below zero, none
		if _, ok := w.bytes(0x1000+uint64(i%2)*size, 8); ok != want {
			t.Errorf("read %d: %t", i, ok)
		}
	}
}

// TestCode: the instructions of a function, unless they are implausibly many.
func TestCode(t *testing.T) {
	tab := part(make([]byte, 1<<20+2))
	for n, want := range map[uint64]int{0: 0, 16: 16, 1 << 20: 1 << 20, 1<<20 + 1: 0} {
		if got := tab.code(fn{entry: 0x1001, end: 0x1001 + n}); len(got) != want {
			t.Errorf("%d bytes: %d", n, len(got))
		}
	}
}
