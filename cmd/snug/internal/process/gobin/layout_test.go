// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestLayoutTable: the table is what the DWARF of each release says.
func TestLayoutTable(t *testing.T) {
	for _, toolchain := range toolchains() {
		for _, m := range []mode{exe, armpie} {
			t.Run(toolchain+" "+m.String(), func(t *testing.T) {
				f := open(t, build(t, toolchain, m))
				want, ok := layouts[f.Minor]
				if !ok {
					t.Fatalf("%s is not in the table", f.Version)
				}
				want.Source = "DWARF"
				got, ok := dwarfLayout(f.img, maxDWARF)
				if !ok || got != want {
					t.Errorf("%s: DWARF %v %+v, table %+v", f.Version, ok, got, want)
				}
			})
		}
	}
}

func TestLayoutSource(t *testing.T) {
	if f := open(t, build(t, "local", exe)); f.Layout().Source != "DWARF" {
		t.Errorf("with debug information: %s", f.Layout().Source)
	}
	bare := read(t, build(t, "local", stripped))
	f, err := openBytes(bare)
	if err != nil {
		t.Fatal(err)
	}
	if f.Layout().Source != "table" || f.Layout() != layouts[f.Minor] {
		t.Errorf("stripped: %+v", f.Layout())
	}
	// A release that is not there yet, and a tree on the way to a known one.
	for _, version := range []string{strings.Replace(f.Version, "go1.2", "go1.9", 1), strings.Replace(f.Version, ".", "-", 2)} {
		if len(version) != len(f.Version) {
			t.Fatal(version)
		}
		other, err := openBytes(bytes.ReplaceAll(bare, []byte(f.Version), []byte(version)))
		if err != nil {
			t.Fatal(err)
		}
		want := noLayout
		want.Source = "stable"
		want.GCPercent, want.MemoryLimit, want.NumGC, want.GCCPUFraction = 0, 8, 4104, 4112
		if other.Layout() != want {
			t.Errorf("%s: %+v", version, other.Layout())
		}
		sameVotes(t, other.Vars(), f.Vars())
	}
}

// TestStable: what is said of releases to come is true of all there were.
func TestStable(t *testing.T) {
	for release, l := range layouts {
		if l.GCPercent != 0 || l.NumGC != numGC || l.GCCPUFraction != gcCPUFraction || release >= 19 && l.MemoryLimit != 8 {
			t.Errorf("1.%d: %+v", release, l)
		}
	}
	if len(layouts) < 10 {
		t.Errorf("%d releases", len(layouts))
	}
}

func TestVersion(t *testing.T) {
	for _, c := range []struct {
		version  string
		minor    int
		released bool
	}{
		{"go1.26.8", 26, true},
		{"go1.18", 18, true},
		{"go1.19.13", 19, true},
		{"go1.20", 20, true},
		{"go1.9:", 9, true},
		{"go1.2/", 2, true},
		{"go1.27rc1", 27, true},
		{"go1.25.3 X:nocoverageredesign", 25, true},
		{"go1.26.8-X:nogreenteagc,jsonv2", 26, true},
		{"go1.26.8-X:staticlockranking", 26, false},
		{"go1.28-devel_1a2b3c4 Tue Nov X:nogreenteagc", 28, false},
		{"go1.21.13 (Red Hat 1.21.13-3.el9_4)", 21, true},
		{"go1.28-devel_1a2b3c4 Tue Nov", 28, false},
		{"go1.28-devel_1a2b3c4-X:jsonv2 Tue Nov", 28, false},
		{"devel go1.21-abcdef0 Mon", 21, false},
		{"", 0, false},
		{"go2.0", 0, false},
		{"go1.", 0, false},
		{"go1.99999999999999999999", 0, false},
	} {
		if m, r := minor(c.version), released(c.version); m != c.minor || r != c.released {
			t.Errorf("%q: %d %v, want %d %v", c.version, m, r, c.minor, c.released)
		}
	}
	if v := open(t, build(t, "local", stripped)).Version; v != runtime.Version() && !strings.HasPrefix(v, "go1.") {
		t.Error(v)
	}
	if got := fmt.Sprint(open(t, build(t, "local", stripped)).Minor); !strings.Contains(runtime.Version(), got) {
		t.Errorf("minor %s of %s", got, runtime.Version())
	}
}
