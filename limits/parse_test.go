// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestCPUMax(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       Value[float64]
		plain      bool
	}{
		{"two cores", "200000 100000\n", Of(2.0), true},
		{"half a core", "50000 100000\n", Of(0.5), true},
		{"no limit", "max 100000\n", NoLimit[float64](), true},
		{"period left out", "150000\n", Of(1.5), false},
		{"no newline", "150000 100000", Of(1.5), false},
		{"short period", "30000 20000\n", Of(1.5), true},
		{"kernel minimum", "1000 100000\n", Of(0.01), true},
		{"kernel maximum", "17592186044415 1000\n", Of(17592186044.415), true},
		{"zero period", "100000 0\n", NoLimit[float64](), true},
		{"zero quota", "0 100000\n", NoLimit[float64](), true},
		{"beyond 64 bits", "99999999999999999999999 1\n", Of(float64(math.MaxInt64)), true},
		{"empty", "", Value[float64]{}, false},
		{"only a newline", "\n", Value[float64]{}, false},
		{"garbage", "many 100000\n", Value[float64]{}, false},
		{"garbage period", "100000 often\n", Value[float64]{}, false},
		{"three fields", "1 2 3\n", Value[float64]{}, false},
		{"negative", "-1 100000\n", Value[float64]{}, false},
		{"fraction", "1.5 100000\n", Value[float64]{}, false},
		{"max for a period", "max max\n", Value[float64]{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := parseCPUMax([]byte(c.text))
			if got := q.cores(); got != c.want {
				t.Errorf("parseCPUMax(%q) = %v, want %v", c.text, got, c.want)
			}
			if q.plain != c.plain && q.state != Unknown {
				t.Errorf("parseCPUMax(%q).plain = %v, want %v", c.text, q.plain, c.plain)
			}
		})
	}
}

func TestV1Quota(t *testing.T) {
	for _, c := range []struct {
		name, quota, period string
		want                Value[float64]
	}{
		{"one and a half", "150000\n", "100000\n", Of(1.5)},
		{"no limit", "-1\n", "100000\n", NoLimit[float64]()},
		{"no limit and no period", "-1\n", "", NoLimit[float64]()},
		{"zero period", "150000\n", "0\n", NoLimit[float64]()},
		{"no period", "150000\n", "", Value[float64]{}},
		{"minus alone", "-\n", "100000\n", Value[float64]{}},
		{"empty", "", "100000\n", Value[float64]{}},
		{"crash before main", "2147483648000\n", "1000\n", Of(2147483648.0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := parseV1Quota([]byte(c.quota), []byte(c.period)).cores(); got != c.want {
				t.Errorf("= %v, want %v", got, c.want)
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
		"17592186044415 1000":   false, // the runtime does not understand it
	} {
		if got := parseCPUMax([]byte(text)).crashes(); got != want {
			t.Errorf("%q crashes: %v, want %v", text, got, want)
		}
	}
}

func TestBytes(t *testing.T) {
	for _, c := range []struct {
		text string
		want Value[int64]
	}{
		{"536870912\n", Of[int64](536870912)},
		{"0\n", Of[int64](0)},
		{"max\n", NoLimit[int64]()},
		{"-1\n", NoLimit[int64]()},
		{"9223372036854771712\n", NoLimit[int64]()}, // 4 KiB pages
		{"9223372036854759424\n", NoLimit[int64]()}, // 16 KiB pages
		{"9223372036854710272\n", NoLimit[int64]()}, // 64 KiB pages
		{"9223372036854775807\n", NoLimit[int64]()},
		{"18446744073709551615\n", NoLimit[int64]()},
		{"184467440737095516159999\n", NoLimit[int64]()},
		{"", Value[int64]{}},
		{"512Mi\n", Value[int64]{}},
		{"-5\n", Value[int64]{}},
	} {
		if got := parseBytes([]byte(c.text)); got != c.want {
			t.Errorf("parseBytes(%q) = %v, want %v", c.text, got, c.want)
		}
	}
}

func TestField(t *testing.T) {
	text := []byte("nr_periods 10\nnr_periods_more 5\nnr_throttled\t3\nbroken x\n\nlast 7")
	for key, want := range map[string]Value[int64]{
		"nr_periods": Of[int64](10), "nr_throttled": Of[int64](3), "last": Of[int64](7),
		"broken": {}, "absent": {}, "nr_period": {},
	} {
		if got := field(text, key); got != want {
			t.Errorf("field(%q) = %v, want %v", key, got, want)
		}
	}
}

func TestMemTotal(t *testing.T) {
	if got := parseMemTotal([]byte("MemTotal:       16384000 kB\nMemFree: 1 kB\n")); got != Of[int64](16777216000) {
		t.Errorf("= %v, want 16777216000", got)
	}
	for _, bad := range []string{"", "MemTotal: 0 kB\n", "MemTotal: lots\n", "MemTotal: 99999999999999999999 kB\n"} {
		if got := parseMemTotal([]byte(bad)); got.State != Unknown {
			t.Errorf("parseMemTotal(%q) = %v, want unknown", bad, got)
		}
	}
}

func TestAffinityMask(t *testing.T) {
	for text, want := range map[string]Value[int]{
		"Cpus_allowed:\tffff\n":                     Of(16),
		"Name:\tx\nCpus_allowed:\tff,ffffffff\n":    Of(40),
		"Cpus_allowed:\t00000000,00000001\n":        Of(1),
		"Cpus_allowed_list:\t0-3\n":                 {},
		"Cpus_allowed:\t0\n":                        {},
		"Cpus_allowed:\tzz\n":                       {},
		"":                                          {},
		"Cpus_allowed:\t3\nCpus_allowed_list:\t0-1": Of(2),
	} {
		if got := parseAffinity([]byte(text)); got != want {
			t.Errorf("parseAffinity(%q) = %v, want %v", text, got, want)
		}
	}
}

func TestPressure(t *testing.T) {
	p := parsePressure([]byte("some avg10=12.34 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=7\n"))
	if math.Abs(p.Some10.N-0.1234) > 1e-12 || p.SomeTotal != 1500*time.Millisecond || p.Full10 != Of(0.005) || p.FullTotal != 7*time.Microsecond {
		t.Errorf("= %+v", p)
	}
	if p := parsePressure([]byte("none at all\nsome avg10=x total=y\n")); p != (Pressure{}) {
		t.Errorf("garbage gives %+v, want nothing known", p)
	}
}

func TestFindGroup(t *testing.T) {
	for _, c := range []struct {
		name, text, controller string
		want                   hierarchy
	}{
		{"v2", "0::/a\n", "cpu", hierarchy{path: "/a"}},
		{"v1 wins", "0::/a\n4:cpu,cpuacct:/b\n", "cpu", hierarchy{v1: true, path: "/b"}},
		{"tokens are whole words", "3:cpuset:/s\n2:cpuacct:/t\n1:name=cpu:/n\n0::/a\n", "cpu", hierarchy{path: "/a"}},
		{"colons in the path", "4:memory:/x:y:z\n", "memory", hierarchy{v1: true, path: "/x:y:z"}},
		{"nothing", "", "cpu", hierarchy{}},
		{"garbage lines are skipped", "cpu\n:::\n7:cpu\n7:cpu:relative\n0::/ok", "cpu", hierarchy{path: "/ok"}},
		{"a named hierarchy 0 is none", "0:cpu:/x\n", "cpu", hierarchy{v1: true, path: "/x"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := findGroup([]byte(c.text), c.controller); got != c.want {
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
		"39 1 0:9 / /last rw - cgroup none rw,memory"
	got := parseMounts([]byte(text))
	want := []struct {
		root, point string
		v1          bool
	}{{"/", "/sys/fs/cgroup", false}, {"/docker/a", "/sys/fs/cgroup/cpu and\\acct", true}, {"/", "/last", true}}
	if len(got) != len(want) {
		t.Fatalf("got %d mounts, want %d: %+v", len(got), len(want), got)
	}
	for i, w := range want {
		if g := got[i]; g.root != w.root || g.point != w.point || g.v1 != w.v1 {
			t.Errorf("mount %d = %q %q v1=%v, want %+v", i, g.root, g.point, g.v1, w)
		}
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
		if got, ok := below(c.path, c.root); got != c.want && c.ok || ok != c.ok {
			t.Errorf("below(%q, %q) = %q, %v, want %q, %v", c.path, c.root, got, ok, c.want, c.ok)
		}
	}
}

// The numbers are those that runc, crun and the kubelet write.
func TestRequests(t *testing.T) {
	for _, c := range []struct {
		weight int
		want   []float64
	}{
		{1, nil},
		{4, []float64{0.1, 0.01}},
		{17, []float64{0.425, 0.1}},
		{39, []float64{1, 0.29}},
		{100, []float64{2.55, 1, 0}},
	} {
		got := requestsOfWeight(Of(c.weight))
		if !slices.Equal(got, c.want) {
			t.Errorf("weight %d stands for %v, want %v", c.weight, got, c.want)
		}
	}
	for millis, want := range map[float64][2]float64{1000: {39, 100}, 100: {4, 17}, 1600: {63, 145}} {
		shares := math.Floor(millis * 1024 / 1000)
		if o, n := olderWeight(shares), newerWeight(shares); o != want[0] || n != want[1] {
			t.Errorf("%vm: weights %v and %v, want %v", millis, o, n, want)
		}
	}
	for shares, want := range map[int]int{2: 0, 512: 1, 1024: 2} {
		if got := requestsOfShares(Of(shares)); len(got) != want {
			t.Errorf("shares %d stand for %v, want %d requests", shares, got, want)
		}
	}
}
