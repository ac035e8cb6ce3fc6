// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
)

// crowded returns a scanner that knows some processes of each container: "aab" are two of a and one of b. The current scan has
// visited them.
func crowded(most int, keys string) *Scanner {
	s := &Scanner{known: map[int]*process{}, out: map[string]*crowd{}, groups: map[string]*group{}, most: most, tick: 7}
	for i, key := range keys {
		s.known[i+1] = &process{key: string(key), closed: true, tick: s.tick}
	}
	return s
}

// is returns the keys of the known processes, and those of the containers that are left out.
func (s *Scanner) is() (known, out string) {
	var all []string
	for _, p := range s.known {
		all = append(all, p.key)
	}
	slices.Sort(all)
	return strings.Join(all, ""), strings.Join(slices.Sorted(maps.Keys(s.out)), "")
}

// TestAdmit: whole containers are left out, those with most processes first, and each process is counted.
func TestAdmit(t *testing.T) {
	for _, c := range []struct {
		what       string
		most       int
		known, new string
		want, out  string
		skipped    int
	}{
		{"no bound", 0, "aab", "cc", "aabcc", "", 0},
		{"room", 4, "aab", "c", "aabc", "", 0},
		{"one too many, all alone", 3, "abc", "d", "abc", "d", 0},
		{"one too many, of the largest", 4, "abcc", "c", "ab", "c", 2},
		{"one too many, of a small one", 4, "abcc", "d", "abd", "c", 2},
		{"many of one", 4, "ab", "xxxxx", "ab", "x", 2},
		{"many of one, and small ones after it", 4, "ab", "xxxcde", "abcd", "ex", 2},
		{"a small one that grows", 4, "aabb", "cccc", "aa", "bc", 4},
		{"less room than there are", 1, "abbccc", "d", "a", "bcd", 5},
	} {
		s, r := crowded(c.most, c.known), &result{skipped: map[string]int{}}
		for i, key := range c.new {
			if s.out[string(key)] == nil && s.admit(string(key), r) {
				s.known[100+i] = &process{key: string(key), closed: true, tick: s.tick}
			}
		}
		if known, out := s.is(); known != c.want || out != c.out || r.skipped[snapshot.SkipMemory] != c.skipped || s.dropped != c.skipped {
			t.Errorf("%s: known %s, want %s; left out %s, want %s; %d counted and %d dropped, want %d", c.what, known, c.want, out, c.out, r.skipped[snapshot.SkipMemory], s.dropped, c.skipped)
		}
	}
}

// TestTakeIn: what was left out comes back where there is room, small containers first.
func TestTakeIn(t *testing.T) {
	for _, c := range []struct {
		most  int
		known string
		want  string // left out after it
	}{{0, "", ""}, {20, "aaa", ""}, {10, "aaaa", "x"}, {10, "aaaaaa", "x"}, {10, "aaaaaaa", "xy"}, {10, "aaaaaaaa", "xy"}, {10, "aaaaaaaaa", "xyz"}, {10, "aaaaaaaaaa", "xyz"}} {
		s := crowded(c.most, c.known)
		s.out = map[string]*crowd{"x": {"x", 6, s.tick}, "y": {"y", 2, s.tick}, "z": {"z", 1, s.tick}, "gone": {"gone", 1, s.tick - 1}}
		s.takeIn()
		if _, out := s.is(); out != c.want {
			t.Errorf("%d of %d: left out %s, want %s", len(c.known), c.most, out, c.want)
		}
	}
}

// TestFits: at four fifths of the memory limit the largest containers are left out at once, and less than a quarter of what was
// known is lost at a time; later there is room for more again.
func TestFits(t *testing.T) {
	s := crowded(12, "abcdefghiiii")
	s.bounds.processes = 12
	for _, c := range []struct {
		scans int
		used  int64
		most  int
		out   string
	}{
		{1, 799, 12, ""},
		{1, 800, 9, "i"},
		{1, 900, 9, "i"}, // what was freed last time may not be back yet
		{1, 900, 6, "ghi"},
		{1, 740, 6, "ghi"},
		{growEvery, 770, 6, "ghi"},
		{1, 740, 6 + 1, "ghi"},
		{growEvery, 740, 8, "ghi"},
		{20 * growEvery, 0, 12, "ghi"},
	} {
		r := &result{skipped: map[string]int{}}
		for range c.scans {
			s.tick++
			s.fits(c.used, 1000, r)
		}
		if _, out := s.is(); s.most != c.most || out != c.out {
			t.Errorf("with %d: at most %d, want %d; left out %s, want %s", c.used, s.most, c.most, out, c.out)
		}
	}
	// Few processes are not what fills the memory, and nothing is gained without them.
	s.bounds.processes = 4*len(s.known) + 1
	was := s.most
	s.tick += growEvery
	if s.fits(900, 1000, &result{}); s.most != was || s.shed != s.tick || len(s.known) == 0 {
		t.Errorf("with few: at most %d, want %d", s.most, was)
	}
	if s.fits(0, 0, &result{}); s.most != 0 {
		t.Errorf("without a limit at most %d", s.most)
	}
}

// TestLeftOut: an agent without memory for what runs counts what it leaves out, and shows it once it has more.
func TestLeftOut(t *testing.T) {
	one, two := start(t), start(t)
	one.says("ready")
	two.says("ready")
	a := newScanner(t, Options{})
	limit := int64(0)
	a.own = func() (int64, int64) { return 0, limit }
	shown := func() bool {
		from, err := a.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		d := from.Node
		_, p := find(d, one.pid())
		_, q := find(d, two.pid())
		if (p == nil) != (q == nil) {
			t.Error("one of two processes of a container is left out")
		}
		if left := count(d, snapshot.SkipMemory); (left > 1) != (p == nil) || d.Scan.Processes <= left {
			t.Errorf("%d of %d processes are left out; shown: %t", left, d.Scan.Processes, p != nil)
		}
		if room := from.Room; room.Processes == 2 != (limit > 0) || p == nil && room.Dropped < 2 {
			t.Errorf("%+v", room)
		}
		return p != nil
	}
	for i, c := range []struct {
		limit int64
		shown bool
	}{{0, true}, {2 * processBytes, false}, {2 * processBytes, false}, {0, false}, {0, true}} {
		if limit = c.limit; shown() != c.shown {
			t.Errorf("scan %d, with a limit of %d bytes: shown %t", i, limit, !c.shown)
		}
	}
}
