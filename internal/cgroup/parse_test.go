// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// figure is a number with its state, as the tables write it.
type figure struct {
	n     float64
	state State
}

func of(n float64) figure { return figure{n, Known} }

var none = figure{state: None}

func TestCPUMax(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       figure
		plain      bool
	}{
		{"two cores", "200000 100000\n", of(2.0), true},
		{"half a core", "50000 100000\n", of(0.5), true},
		{"no limit", "max 100000\n", none, true},
		{"period left out", "150000\n", of(1.5), false},
		{"no newline", "150000 100000", of(1.5), false},
		{"short period", "30000 20000\n", of(1.5), true},
		{"kernel minimum", "1000 100000\n", of(0.01), true},
		{"kernel maximum", "17592186044415 1000\n", of(17592186044.415), true},
		{"zero period", "100000 0\n", none, true},
		{"zero quota", "0 100000\n", none, true},
		{"beyond 64 bits", "99999999999999999999999 1\n", of(float64(math.MaxInt64)), true},
		{"empty", "", figure{}, false},
		{"only a newline", "\n", figure{}, false},
		{"garbage", "many 100000\n", figure{}, false},
		{"garbage period", "100000 often\n", figure{}, false},
		{"three fields", "1 2 3\n", figure{}, false},
		{"negative", "-1 100000\n", figure{}, false},
		{"fraction", "1.5 100000\n", figure{}, false},
		{"max for a period", "max max\n", figure{}, false},
		{"a blank that no kernel prints", "200000\u0085 100000\n", figure{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := CPUMax([]byte(c.text))
			if n, state := q.Cores(); (figure{n, state}) != c.want {
				t.Errorf("CPUMax(%q) = %v, %v, want %v", c.text, n, state, c.want)
			}
			if q.Plain != c.plain && q.State != Unknown {
				t.Errorf("CPUMax(%q).Plain = %v, want %v", c.text, q.Plain, c.plain)
			}
		})
	}
}

func TestCFSQuota(t *testing.T) {
	for _, c := range []struct {
		name, quota, period string
		want                figure
	}{
		{"one and a half", "150000\n", "100000\n", of(1.5)},
		{"no limit", "-1\n", "100000\n", none},
		{"no limit and no period", "-1\n", "", none},
		{"zero period", "150000\n", "0\n", none},
		{"no period", "150000\n", "", figure{}},
		{"minus alone", "-\n", "100000\n", figure{}},
		{"empty", "", "100000\n", figure{}},
		{"crash before main", "2147483648000\n", "1000\n", of(2147483648.0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if n, state := CFSQuota([]byte(c.quota), []byte(c.period)).Cores(); (figure{n, state}) != c.want {
				t.Errorf("= %v, %v, want %v", n, state, c.want)
			}
		})
	}
}

func TestCrashes(t *testing.T) {
	for text, want := range map[string]bool{
		"200000 100000\n":       false,
		"2147483647000 1000\n":  false, // 2^31-1 cores
		"17592186044415 8192\n": true,  // rounded up 2^31
		"17592186044415 1000\n": true,
		"2147483648000 1000\n":  true,
		"100000 0\n":            true,
		"0 0\n":                 true,
		"max 0\n":               false,
		"17592186044415 1000":   false, // the runtime cannot parse it
	} {
		if got := CPUMax([]byte(text)).CrashesGo(); got != want {
			t.Errorf("%q crashes: %v, want %v", text, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want figure
	}{
		{"536870912\n", of(536870912)},
		{"0\n", of(0)},
		{"max\n", none},
		{"-1\n", none},
		{"9223372036854771712\n", none}, // 4 KiB pages
		{"9223372036854759424\n", none}, // 16 KiB pages
		{"9223372036854710272\n", none}, // 64 KiB pages
		{"9223372036854775807\n", none},
		{"18446744073709551615\n", none},
		{"184467440737095516159999\n", none},
		{"", figure{}},
		{"512Mi\n", figure{}},
		{"-5\n", figure{}},
	} {
		if n, state := Bytes([]byte(c.text)); (figure{float64(n), state}) != c.want {
			t.Errorf("Bytes(%q) = %v, %v, want %v", c.text, n, state, c.want)
		}
	}
}

func TestHierarchical(t *testing.T) {
	for text, want := range map[string]int64{
		"cache 1\nhierarchical_memory_limit 805306368\n":  805306368,
		"hierarchical_memory_limit 9223372036854771712\n": 0,
		"hierarchical_memory_limit 0\n":                   0,
		"hierarchical_memsw_limit 5\n":                    0,
	} {
		if n, ok := Hierarchical([]byte(text)); ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d, %v, want %d", text, n, ok, want)
		}
	}
}

func TestField(t *testing.T) {
	text := []byte("nr_periods 10\nnr_periods_more 5\nnr_throttled\t3\nbroken x\n\nlast 7")
	for key, want := range map[string]int64{
		"nr_periods": 10, "nr_throttled": 3, "last": 7,
		"broken": -1, "absent": -1, "nr_period": -1,
	} {
		if got, ok := Field(text, key); ok != (want >= 0) || ok && got != want {
			t.Errorf("Field(%q) = %v, %v, want %v", key, got, ok, want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	if n, ok := MemTotal([]byte("MemTotal:       16384000 kB\nMemFree: 1 kB\n")); !ok || n != 16777216000 {
		t.Errorf("= %v, %v, want 16777216000", n, ok)
	}
	for _, bad := range []string{"", "MemTotal: 0 kB\n", "MemTotal: lots\n", "MemTotal: 99999999999999999999 kB\n"} {
		if n, ok := MemTotal([]byte(bad)); ok {
			t.Errorf("MemTotal(%q) = %v, want unknown", bad, n)
		}
	}
}

func TestAddAllowed(t *testing.T) {
	for text, want := range map[string]int{
		"Cpus_allowed:\tffff\n":                     16,
		"Name:\tx\nCpus_allowed:\tff,ffffffff\n":    40,
		"Cpus_allowed:\t00000000,00000001\n":        1,
		"Cpus_allowed_list:\t0-3\n":                 0,
		"Cpus_allowed:\t0\n":                        0,
		"Cpus_allowed:\tzz\n":                       0,
		"":                                          0,
		"Cpus_allowed:\t3\nCpus_allowed_list:\t0-1": 2,
		"Cpus_allowed:\t1" + strings.Repeat("0", 2047) + "\n": 1,
		"Cpus_allowed:\t1" + strings.Repeat("0", 2048) + "\n": 0, // CPU 8192
	} {
		var set CPUs
		if ok := set.AddAllowed([]byte(text)); ok != (want > 0) || set.Count() != want {
			t.Errorf("AddAllowed(%q) = %v, %d CPUs, want %d", text, ok, set.Count(), want)
		}
	}
	var set CPUs
	for _, mask := range []string{"1,00000003", "1,00000006", "80000000"} {
		set.AddAllowed([]byte("Cpus_allowed:\t" + mask + "\n"))
	}
	if set[0] != 1<<32|1<<31|7 || set.Count() != 5 {
		t.Errorf("the union of three masks is %x", set[0])
	}
}

func TestPressure(t *testing.T) {
	some, full := Pressure([]byte("some avg10=12.34 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=7\n"))
	if math.Abs(some.Avg10-0.1234) > 1e-12 || some.Total != 1500000 || full != (Stall{0.005, 7, true, true}) {
		t.Errorf("= %+v, %+v", some, full)
	}
	if some, full := Pressure([]byte("none at all\nsome avg10=x total=y\n")); some != (Stall{}) || full != (Stall{}) {
		t.Errorf("garbage gives %+v, %+v, want nothing known", some, full)
	}
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name, text, controller string
		want                   Group
	}{
		{"v2", "0::/a\n", "cpu", Group{Path: "/a"}},
		{"v1 wins", "0::/a\n4:cpu,cpuacct:/b\n", "cpu", Group{V1: true, Path: "/b"}},
		{"tokens are whole words", "3:cpuset:/s\n2:cpuacct:/t\n1:name=cpu:/n\n0::/a\n", "cpu", Group{Path: "/a"}},
		{"colons in the path", "4:memory:/x:y:z\n", "memory", Group{V1: true, Path: "/x:y:z"}},
		{"nothing", "", "cpu", Group{}},
		{"garbage lines are skipped", "cpu\n:::\n7:cpu\n7:cpu:relative\n0::/ok", "cpu", Group{Path: "/ok"}},
		{"a named hierarchy 0 is none", "0:cpu:/x\n", "cpu", Group{V1: true, Path: "/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, _ := Find([]byte(c.text), c.controller); got.V1 != c.want.V1 || got.Path != c.want.Path {
				t.Errorf("= %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestMounts(t *testing.T) {
	long := "30 1 0:1 / /l rw - overlay overlay lowerdir=" + strings.Repeat("x", 100000) + "\n"
	text := long +
		"31 1 0:2 / /sys/fs/cgroup ro,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n" +
		"32 1 0:3 /docker/a /sys/fs/cgroup/cpu\\040and\\134acct rw - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 1 0:4 / /bad\\9escape rw - cgroup cgroup rw,memory\n" +
		"34 1 0:5 / /hidden rw - cgroup cgroup rw,pids\n" +
		"35 1 0:6 / /hidden rw - tmpfs tmpfs rw\n" +
		"36 1 0:7 relative /rel rw - cgroup cgroup rw,cpu\n" +
		"37 1 0:8 / /nearly rw - cgroupfs x rw,cpu\n" +
		"38 short\n" +
		"40 1 0:10 / /nul\x00101 rw - cgroup none rw,memory\n" +
		"39 1 0:9 / /last rw - cgroup none rw,memory"
	given := []byte(text)
	got, _ := Mounts(given)
	if string(given) != text {
		t.Error("the text was changed")
	}
	want := []struct {
		root, point string
		v1          bool
	}{{"/", "/sys/fs/cgroup", false}, {"/docker/a", "/sys/fs/cgroup/cpu and\\acct", true}, {"/", "/last", true}}
	if len(got) != len(want) {
		t.Fatalf("got %d mounts, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.Root != w.root || g.Point != w.point || g.V1 != w.v1 {
			t.Errorf("mount %d = %q %q v1=%v, want %+v", i, g.Root, g.Point, g.V1, w)
		}
	}
}

// TestShows: which mount a path leads into. A line is "ID PARENT ROOT POINT", a cgroup2 mount
// unless ID is 9 or above.
func TestShows(t *testing.T) {
	for _, c := range []struct {
		name  string
		lines []string
		dirs  string // directories of the mount with ID 5
		shown bool
		left  int // cgroup mounts that are not replaced
	}{
		{"alone", []string{"1 0 / /", "5 1 / /c"}, "/c /c/a", true, 2},
		{"in a root that is no mount", []string{"5 1 / /c"}, "/c /c/a", true, 1},
		{"from above", []string{"1 0 / /", "5 1 / /m/c", "9 1 / /m"}, "/m/c /m/c/a", false, 2},
		{"from above, in a root that is no mount", []string{"5 1 / /m/c", "9 1 / /m"}, "/m/c", false, 1},
		{"on what is above", []string{"1 0 / /", "9 1 / /m", "5 9 / /m/c"}, "/m/c /m/c/a", true, 2},
		{"from above what is above", []string{"1 0 / /", "9 1 / /m/n", "5 9 / /m/n/c", "10 1 / /m"}, "/m/n/c", false, 2},
		{"covered by what is covered", []string{"1 0 / /", "5 1 / /m/c", "9 1 / /m", "10 9 / /m/c"}, "/m/c", false, 1},
		{"below", []string{"1 0 / /", "5 1 / /c", "9 5 / /c/a\\040b"}, "/c /c/a /c/a\\040b /c/ab", true, 2},
		{"below, there", []string{"1 0 / /", "5 1 / /c", "9 5 / /c/a\\040b"}, "/c/a\x00b /c/a\x00b/d", false, 2},
		{"of another with the same beginning", []string{"1 0 / /", "5 1 / /mm/c", "9 1 / /m"}, "/mm/c", true, 2},
		{"on the root", []string{"1 0 / /", "5 1 / /c", "9 1 / /"}, "/c", true, 1},
		{"right on it", []string{"1 0 / /", "5 1 / /c", "9 5 / /c"}, "", true, 1},
		{"moved there", []string{"1 0 / /", "5 6 /a /c", "6 1 / /c"}, "/c /c/a", true, 2},
		{"the later of two that cannot be", []string{"1 0 / /", "6 1 / /c", "5 1 / /c"}, "/c", true, 2},
		{"on each other", []string{"5 6 / /c", "6 5 / /d"}, "/c", true, 2},
		{"on itself", []string{"5 5 / /c"}, "/c", true, 1},
	} {
		var text string
		for _, l := range c.lines {
			f := strings.Fields(l)
			kind := "cgroup2"
			if len(f[0]) > 1 || f[0] == "9" {
				kind = "tmpfs"
			}
			text += f[0] + " " + f[1] + " 0:2" + f[0] + " " + f[2] + " " + f[3] + " rw - " + kind + " x rw\n"
		}
		mounts, _ := Mounts([]byte(text))
		if len(mounts) != c.left {
			t.Errorf("%s: %d mounts, want %d", c.name, len(mounts), c.left)
		}
		for _, m := range mounts {
			for _, dir := range strings.Fields(c.dirs) {
				if dir = strings.ReplaceAll(dir, "\x00", " "); m.Minor == 25 && m.Shows(dir) != c.shown {
					t.Errorf("%s: %q is shown: %v", c.name, dir, !c.shown)
				}
			}
		}
	}
}

// TestManyMounts: 5,000 mounts at one place, each on the last one. A cubic algorithm does not
// finish within the test's time.
func TestManyMounts(t *testing.T) {
	var text []byte
	for i := range 5000 {
		text = fmt.Appendf(text, "%d %d 0:9 / /c rw - cgroup2 x rw\n", i+2, i+1)
	}
	if mounts, _ := Mounts(text); len(mounts) != 1 || !mounts[0].Shows("/c") {
		t.Errorf("%d mounts left, want the last", len(mounts))
	}
}

func TestBelow(t *testing.T) {
	for _, c := range []struct {
		path, root, want string
		ok               bool
	}{
		{"/", "/", "", true},
		{"/a/b", "/", "/a/b", true},
		{"/a/b", "/a", "/b", true},
		{"/a/b", "/a/b", "", true},
		{"/ab", "/a", "", false},
		{"/a", "/a/b", "", false},
		{"/../x", "/", "", false},
		{"/..", "/", "", false},
		{"/../../x/y", "/../..", "/x/y", true},
		{"/../../../y", "/../..", "", false},
		{"/..a", "/", "/..a", true},
	} {
		if got, ok := Below(c.path, c.root); got != c.want && c.ok || ok != c.ok {
			t.Errorf("Below(%q, %q) = %q, %v, want %q, %v", c.path, c.root, got, ok, c.want, c.ok)
		}
	}
}

func TestCandidates(t *testing.T) {
	table := func(lines ...string) []byte {
		var text string
		for i, l := range lines {
			text += "3" + string(rune('0'+i)) + " 1 0:2" + string(rune('0'+i)) + " " + l + " rw - cgroup2 cgroup rw\n"
		}
		return []byte(text)
	}
	for _, c := range []struct {
		name, path string
		mounts     []byte
		want       []string // point and rest, "?" for a rest to search for
	}{
		{"of equal ones the last", "/a", table("/ /x", "/ /y"), []string{"/y /a", "/x /a"}},
		{"the widest first", "/a/b", table("/a/b /own", "/ /all", "/a /some"), []string{"/all /a/b", "/some /b", "/own "}},
		{"another's tree is none", "/a", table("/b /x"), nil},
		{"from outside of the namespace", "/", table("/ /own", "/../.. /all"), []string{"/all ?", "/own "}},
		{"outside itself", "/../../x", table("/ /own", "/../.. /all"), []string{"/all /x"}},
		{"beside the namespace", "/../x", table("/../.. /all"), []string{"/all ?"}},
		{"above what is mounted", "/../../../x", table("/../.. /all"), nil},
		{"beside is not above", "/", table("/../other /x"), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			mounts, _ := Mounts(c.mounts)
			for _, m := range Candidates(mounts, Group{Path: c.path}, "cpu") {
				rest := m.Rest
				if m.Sought {
					rest = "?"
				}
				got = append(got, m.Point+" "+rest)
			}
			if strings.Join(got, "|") != strings.Join(c.want, "|") {
				t.Errorf("= %q, want %q", got, c.want)
			}
		})
	}
	mounts, _ := Mounts(table("/ /x"))
	if m := mounts[0]; m.Major != 0 || m.Minor != 20 {
		t.Errorf("device %d:%d, want 0:20", m.Major, m.Minor)
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct {
		root, path, want string
		ok               bool
	}{
		{"/a/b", "/", "/a/b", true},
		{"/a/b", "/c", "/a/b/c", true},
		{"/a/b", "/../c", "/a/c", true},
		{"/a/b", "/../../c/d", "/c/d", true},
		{"/a/b", "/../../..", "", false},
		{"/a", "/..", "", true},
		{"/a", "/..c", "/a/..c", true},
	} {
		if got, ok := Join(c.root, c.path); got != c.want || ok != c.ok {
			t.Errorf("Join(%q, %q) = %q, %v, want %q, %v", c.root, c.path, got, ok, c.want, c.ok)
		}
	}
}

// TestRuntimeDir: each release's reader, checked once against the release's own internal/runtime/cgroup.
func TestRuntimeDir(t *testing.T) {
	const (
		v1     = "2:cpu,cpuacct:/d/1\n0::/u\n"
		v2     = "0::/d/1\n"
		bound1 = "5 4 0:9 /d/1 /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		whole1 = "5 4 0:9 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
		other1 = "6 4 0:8 / /sys/fs/cgroup/set rw - cgroup cgroup rw,cpuset\n"
		bound2 = "7 4 0:7 /d/1 /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		whole2 = "8 4 0:7 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
		host2  = "9 4 0:7 /../.. /host/my\\040cg rw - cgroup2 cgroup2 rw\n"
		broken = "nonsense\n"
	)
	for _, c := range []struct{ name, group, mounts, go125, go126 string }{
		{"whole v1", v1, other1 + whole1, "/sys/fs/cgroup/cpu/d/1", "/sys/fs/cgroup/cpu/d/1"},
		{"own group bound, v1", v1, bound1, "/sys/fs/cgroup/cpu/d/1", "/sys/fs/cgroup/cpu"},
		{"the first of v1", v1, bound1 + whole1, "/sys/fs/cgroup/cpu/d/1", "/sys/fs/cgroup/cpu"},
		{"whole v2", v2, whole2, "/sys/fs/cgroup/d/1", "/sys/fs/cgroup/d/1"},
		{"own group bound, v2", v2, bound2, "/sys/fs/cgroup/d/1", "/sys/fs/cgroup"},
		{"private namespace", "0::/\n", whole2, "/sys/fs/cgroup", "/sys/fs/cgroup"},
		{"private namespace, and the node's tree after it", "0::/\n", whole2 + host2, "/host/my cg", "/sys/fs/cgroup"},
		{"private namespace, and the node's tree before it", "0::/\n", host2 + whole2, "/sys/fs/cgroup", "/sys/fs/cgroup"},
		{"a mount of v1 for a group of v2", v2, whole1 + whole2, "/sys/fs/cgroup/cpu/d/1", "/sys/fs/cgroup/d/1"},
		{"outside of the namespace", "0::/../b\n", whole2, "/sys/fs/b", ""},
		{"a broken line after v1", v1, whole1 + broken, "/sys/fs/cgroup/cpu/d/1", "/sys/fs/cgroup/cpu/d/1"},
		{"a broken line after v2", v2, whole2 + broken, "", "/sys/fs/cgroup/d/1"},
		{"a broken line first", v1, broken + whole1, "", ""},
		{"a type without a source", v2, "1 1 0:1 / / rw - cgroup2\n" + whole2, "", ""},
		{"a file cut off", "0::/d/1", whole2, "", ""},
		{"no mount", v2, other1, "", ""},
		{"no group", "3:cpuset:/\n", whole2, "", ""},
	} {
		for minor, want := range map[int]string{25: c.go125, 26: c.go126, 0: c.go126} {
			if got, _ := RuntimeDir([]byte(c.group), []byte(c.mounts), minor); got != want {
				t.Errorf("%s, Go 1.%d: %q, want %q", c.name, minor, got, want)
			}
		}
	}
}

func TestProcs(t *testing.T) {
	for _, c := range []struct {
		text         string
		holds, names bool
	}{
		{"1\n42\n", true, true},
		{"1\n43\n", false, false},
		{"0\n", true, false}, // of another PID namespace
		{"", true, false},
		{"?\n", true, false},
	} {
		if h, n := Holds([]byte(c.text), 42), Names([]byte(c.text), 42); h != c.holds || n != c.names {
			t.Errorf("%q: holds %v, names %v", c.text, h, n)
		}
	}
}
