// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"testing"
)

// TestLive: at the addresses of a running, stripped program stands what it was
// told.
func TestLive(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, m := range []mode{stripped, piestrip, cgostrip} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				path := build(t, toolchain, m)
				f := open(t, path)
				p := run(t, path, "GOMAXPROCS=7", "GOGC=77", "GOMEMLIMIT=123MiB")
				mem := memory(t, p.pid)
				bias := loadBias(t, p.pid, f)
				word := func(v Var, offset int64, size int) uint64 {
					t.Helper()
					if v.Addr == 0 || offset < 0 {
						t.Fatalf("unknown: %+v at %d", v, offset)
					}
					b := make([]byte, 8)
					if _, err := mem.ReadAt(b[:size], int64(v.Addr+bias)+offset); err != nil {
						t.Fatal(err)
					}
					return le.Uint64(b)
				}
				v, l := f.Vars(), f.Layout()
				if got := word(v.GOMAXPROCS, 0, 4); got != 7 {
					t.Errorf("GOMAXPROCS %d", got)
				}
				if got := word(v.GCController, l.GCPercent, 4); got != 77 {
					t.Errorf("GOGC %d", got)
				}
				if f.Minor >= 19 {
					if got := word(v.GCController, l.MemoryLimit, 8); got != 123<<20 {
						t.Errorf("GOMEMLIMIT %d", got)
					}
				}
				if got := word(v.GCController, l.HeapLive, 8); got == 0 || got > 1<<30 {
					t.Errorf("heap live %d", got)
				}
				if got := word(v.PauseTotal, l.NumGC, 4); got > 1<<20 {
					t.Errorf("numgc %d", got)
				}
				spinning, idle := word(v.Spinning, 0, 4), word(Var{Addr: v.Spinning.Addr - 4}, 0, 4)
				if spinning > 7 || idle == 0 || idle > 7 {
					t.Errorf("%d spinning, %d idle", spinning, idle)
				}
				if f.Minor >= 25 {
					if got := word(v.CustomGOMAXPROCS, 0, 1); got != 1 {
						t.Errorf("custom %d", got)
					}
				}
				if f.Minor >= 21 {
					if total := word(v.CPUStats, l.Total, 8); total > 1<<50 {
						t.Errorf("total CPU %d ns", total)
					}
				}
			})
		}
	}
}

// TestOpenLive: where the file does not list its relocations, a process tells.
func TestOpenLive(t *testing.T) {
	path := build(t, "local", piestrip)
	whole := open(t, path)
	image := withoutRelocations(t, path, true)
	f, err := openBytes(image)
	if err != nil || f.Vars() != whole.Vars() || f.tab.gofunc != whole.tab.gofunc {
		t.Errorf("with the table of relocations: %v", err)
	}
	image = withoutRelocations(t, path, false)
	if _, err := openBytes(image); !errors.Is(err, ErrUnsupported) {
		t.Fatalf("without relocations: %v", err)
	}
	p := run(t, path)
	f, err = OpenLive(bytes.NewReader(image), int64(len(image)), memory(t, p.pid), loadBias(t, p.pid, whole))
	if err != nil {
		t.Fatal(err)
	}
	if f.TextStart != whole.TextStart || f.tab.gofunc != whole.tab.gofunc || f.Vars() != whole.Vars() {
		t.Errorf("text %#x, gofunc %#x, %+v; want %#x, %#x, %+v", f.TextStart, f.tab.gofunc, f.Vars(),
			whole.TextStart, whole.tab.gofunc, whole.Vars())
	}
}

func memory(t *testing.T, pid int) *os.File {
	t.Helper()
	mem, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mem.Close() })
	return mem
}

func loadBias(t *testing.T, pid int, f *File) uint64 {
	t.Helper()
	auxv := read(t, fmt.Sprintf("/proc/%d/auxv", pid))
	for ; len(auxv) >= 16; auxv = auxv[16:] {
		if le.Uint64(auxv) == 9 { // AT_ENTRY
			return le.Uint64(auxv[8:]) - f.Entry
		}
	}
	t.Fatal("no AT_ENTRY")
	return 0
}

// withoutRelocations is the file with zeros where the loader writes, with or
// without the table that tells it to.
func withoutRelocations(t *testing.T, path string, table bool) []byte {
	t.Helper()
	image := read(t, path)
	m, err := readImage(bytes.NewReader(bytes.Clone(image)), int64(len(image)), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	m.relative(func(at, _ uint64) bool {
		if s, ok := m.segment(at); ok {
			copy(image[s.off+at-s.addr:], make([]byte, 8))
			n++
		}
		return false
	})
	s, _ := m.segment(m.dynamic.addr)
	for i := s.off + m.dynamic.addr - s.addr; n > 0 && i < uint64(len(image))-16; i += 16 {
		if le.Uint64(image[i:]) == 8 { // DT_RELASZ
			if !table {
				le.PutUint64(image[i+8:], 0)
			}
			return image
		}
	}
	t.Fatalf("%d relocations", n)
	return nil
}
