// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/fixture"
	"github.com/snug-go/snug/limits"
)

func TestSpec(t *testing.T) {
	cmd := []string{"true"}
	tests := []struct {
		name string
		spec Spec
		want want
		err  string // in the message
		cure string
	}{
		{"cpu", Spec{Args: cmd, CPUs: 1.5}, want{quota: 150000, period: 100000}, "", ""},
		{"cpu-rounds", Spec{Args: cmd, CPUs: 1.0 / 3}, want{quota: 33333, period: 100000}, "", ""},
		{"memory", Spec{Args: cmd, MemoryBytes: 1 << 28}, want{memory: 1 << 28}, "", ""},
		{"smallest", Spec{Args: cmd, CPUs: 0.01, MemoryBytes: MinMemoryBytes}, want{quota: 1000, period: 1e5, memory: 1 << 20}, "", ""},
		{"weight", Spec{Args: cmd, MemoryBytes: 1 << 28, Weight: 10000}, want{memory: 1 << 28, weight: 10000}, "", ""},
		{"optional-memory", Spec{Args: cmd, MemoryBytes: 1 << 28, MemoryOptional: true, Weight: 100}, want{memory: 1 << 28, weight: 100}, "", ""},
		{"optional-memory-alone", Spec{Args: cmd, MemoryBytes: 1 << 28, MemoryOptional: true}, want{}, "optional", "or a weight"},
		{"own", Spec{Args: cmd, Own: true}, want{}, "", ""},
		{"nothing-enforced", Spec{Args: cmd, NoLimit: true}, want{}, "", ""},
		{"largest-quota", Spec{Args: cmd, CPUs: 175921860.44415}, want{quota: 1<<44 - 1, period: 100000}, "", ""},
		{"no-command", Spec{CPUs: 1}, want{}, "no command", "program"},
		{"empty-command", Spec{Args: []string{""}, CPUs: 1}, want{}, "no command", "program"},
		{"no-limit", Spec{Args: cmd}, want{}, "neither", "at least one"},
		{"negative-cpu", Spec{Args: cmd, CPUs: -1}, want{}, "-1", "1.5"},
		{"nan-cpu", Spec{Args: cmd, CPUs: math.NaN()}, want{}, "NaN", "1.5"},
		{"infinite-cpu", Spec{Args: cmd, CPUs: math.Inf(1)}, want{}, "largest quota", "at most"},
		{"too-little-cpu", Spec{Args: cmd, CPUs: 0.009}, want{}, "0.009", "at least 0.01 CPUs"},
		{"too-much-cpu", Spec{Args: cmd, CPUs: 1e12}, want{}, "largest quota", "at most 175921860 CPUs"},
		{"negative-memory", Spec{Args: cmd, MemoryBytes: -1}, want{}, "negative", "256MiB"},
		{"weight-too-large", Spec{Args: cmd, CPUs: 1, Weight: 10001}, want{}, "10001", "1 to 10000"},
		{"negative-weight", Spec{Args: cmd, CPUs: 1, Weight: -1}, want{}, "-1", "1 to 10000"},
		{"weight-alone", Spec{Args: cmd, Weight: 100}, want{}, "neither", "at least one"},
		{"own-and-none", Spec{Args: cmd, Own: true, NoLimit: true}, want{}, "both", "one of them"},
		{"own-with-a-limit", Spec{Args: cmd, Own: true, CPUs: 1}, want{}, "no group of its own", "leave out"},
		{"none-with-a-weight", Spec{Args: cmd, NoLimit: true, Weight: 1}, want{}, "no group of its own", "leave out"},
		{"own-with-a-negative-limit", Spec{Args: cmd, Own: true, MemoryBytes: -1}, want{}, "negative", "256MiB"},
		{"too-little-memory", Spec{Args: cmd, MemoryBytes: 1024}, want{}, "1024 bytes is too small", "at least"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.spec.want()
			if tt.err == "" {
				if err != nil || got != tt.want {
					t.Errorf("want() = %+v, %v; want %+v", got, err, tt.want)
				}
				return
			}
			var bad *SpecError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), tt.err) || !strings.Contains(Hint(err), tt.cure) {
				t.Errorf("error %v, hint %q; want %q and %q", err, Hint(err), tt.err, tt.cure)
			}
			if ExitCode(err) != CodeFailed || tt.spec.Check() == nil {
				t.Errorf("exit code %d, Check() = %v", ExitCode(err), tt.spec.Check())
			}
		})
	}
}

func TestExitCodes(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want int
	}{
		{nil, 0},
		{&ExecError{Code: CodeNotFound}, 127},
		{fmt.Errorf("wrapped: %w", &ExecError{Code: CodeCannotExec}), 126},
		{&NoWayError{}, 125},
		{errors.New("anything"), 125},
	} {
		if got := ExitCode(tt.err); got != tt.want {
			t.Errorf("ExitCode(%v) = %d, want %d", tt.err, got, tt.want)
		}
	}
	err := &NoWayError{Tried: []Tried{{WayV2, fs.ErrPermission}, {WayDelegated, &ProofError{"quota 0"}}}, cure: "do this"}
	if p, ok := errors.AsType[*ProofError](error(err)); !ok || p.What != "quota 0" || !errors.Is(err, fs.ErrPermission) {
		t.Error("the reasons cannot be reached")
	}
	if Hint(err) != "do this" || Hint(errors.New("x")) != "" {
		t.Errorf("hints %q, %q", Hint(err), Hint(errors.New("x")))
	}
}

func TestFindHierarchy(t *testing.T) {
	const both = `32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu` + "\n" +
		`33 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw` + "\n"
	tests := []struct {
		name, cgroup, mounts, controller string
		v1                               bool
		levels                           string // joined by spaces
		err                              string
	}{
		{"v2", "0::/a/b\n", "1 2 0:3 / /c rw - cgroup2 x rw\n", "cpu", false, "/c/a/b /c/a /c", ""},
		{"v2-root", "0::/\n", "1 2 0:3 / /c rw - cgroup2 x rw\n", "cpu", false, "/c", ""},
		{"v1-wins", "0::/z\n5:cpu:/a\n", both, "cpu", true, "/sys/fs/cgroup/cpu/a /sys/fs/cgroup/cpu", ""},
		{"v2-for-the-other", "0::/z\n5:cpu:/a\n", both, "memory", false, "/sys/fs/cgroup/unified/z /sys/fs/cgroup/unified", ""},
		{"colon-in-the-group", "0::/a:b\n", "1 2 0:3 / /c rw - cgroup2 x rw\n", "cpu", false, "/c/a:b /c", ""},
		{"mount-of-a-subtree", "0::/pod/x/y\n", "1 2 0:3 /pod/x /c rw - cgroup2 x rw\n", "cpu", false, "/c/y /c", ""},
		{"mount-of-another-subtree-first", "0::/pod/x\n", "1 2 0:3 /pod/xx /d rw - cgroup2 x rw\n1 2 0:3 /pod /c rw - cgroup2 x rw\n", "cpu", false, "/c/x /c", ""},
		{"widest-mount", "0::/pod/x\n", "1 2 0:3 /pod/x /d rw - cgroup2 x rw\n1 2 0:3 / /c rw - cgroup2 x rw\n1 2 0:3 /pod /e rw - cgroup2 x rw\n", "cpu", false, "/c/pod/x /c/pod /c", ""},
		{"last-of-equal-mounts", "0::/a\n", "1 2 0:3 / /c rw - cgroup2 x rw\n1 2 0:3 / /d rw - cgroup2 x rw\n", "cpu", false, "/d/a /d", ""},
		{"covered-mount", "0::/a/b\n", "1 2 0:3 / /c rw - cgroup2 x rw\n1 2 0:3 /a /c rw - cgroup2 x rw\n", "cpu", false, "/c/b /c", ""},
		{"escaped-mount-point", "0::/a\n", `1 2 0:3 / /c\040d\134 rw - cgroup2 x rw` + "\n", "cpu", false, `/c d\/a /c d\`, ""},
		{"tags-before-the-dash", "0::/a\n", "1 2 0:3 / /c rw shared:1 master:2 - cgroup2 x rw\n", "cpu", false, "/c/a /c", ""},
		{"controller-name-in-another", "5:cpuacct:/a\n", both, "cpu", true, "", "no group has the cpu controller"},
		{"outside-the-namespace", "0::/../a\n", "1 2 0:3 / /c rw - cgroup2 x rw\n", "cpu", false, "", "not visible"},
		{"not-mounted", "0::/a\n", "1 2 0:3 / /c rw - tmpfs x rw\n", "cpu", false, "", "no cgroup filesystem"},
		{"garbage", ":::\nx\n0::\n", "x\n- - -\n", "cpu", false, "", "no group has"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h, err := findHierarchy(tree(), tt.cgroup, tt.mounts, tt.controller)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(h.levels(), " "); got != tt.levels || h.v1 != tt.v1 {
				t.Errorf("levels %q, v1 %v; want %q, %v", got, h.v1, tt.levels, tt.v1)
			}
		})
	}
}

func FuzzFindHierarchy(f *testing.F) {
	f.Add("0::/a\n5:cpu:/b\n", `1 2 0:3 / /c\040 rw - cgroup2 x rw`+"\n", "cpu")
	f.Fuzz(func(t *testing.T, cgroup, mounts, controller string) {
		h, err := findHierarchy(tree(), cgroup, mounts, controller)
		if err != nil {
			if !reflect.DeepEqual(h, hierarchy{}) {
				t.Errorf("error and %+v", h)
			}
			return
		}
		levels := h.levels()
		if last := levels[len(levels)-1]; last != h.mount && last != "/" && !strings.HasSuffix(h.mount, "/") && !strings.Contains(h.mount, "//") && !strings.Contains(h.mount, "/.") {
			t.Errorf("levels %q do not end at the mount %q", levels, h.mount)
		}
	})
}

func TestLimitsOfAGroup(t *testing.T) {
	fsys := tree(
		"/v2/cpu.max 150000 100000", "/v2/memory.max 1048576", "/v2/a/cpu.max max 100000", "/v2/a/memory.max max",
		"/v2/a/b/cpu.max 400000 200000", "/v2/a/b/memory.max 4194304", "/bad/cpu.max many 100000", "/bad/memory.max lots",
		"/short/cpu.max 5", "/v1/cpu.cfs_quota_us -1", "/v1/cpu.cfs_period_us 100000", "/v1/memory.limit_in_bytes 9223372036854771712",
		"/v1/a/cpu.cfs_quota_us 25000", "/v1/a/cpu.cfs_period_us 50000", "/v1/a/memory.limit_in_bytes 8388608",
		"/p64k/memory.limit_in_bytes 9223372036854710272", "/half/cpu.cfs_quota_us 1000")
	for _, tt := range []struct {
		name, levels string
		v1           bool
		cores        float64
		memory       int64
		from         string
		err          bool
	}{
		{"v2", "/v2", false, 1.5, 1 << 20, "/v2", false},
		{"v2-none", "/v2/a", false, 0, 0, "", false},
		{"v2-parent-tighter", "/v2/a/b /v2/a /v2", false, 1.5, 4 << 20, "/v2", false},
		{"v2-leaf-only", "/v2/a/b /v2/a", false, 2, 4 << 20, "/v2/a/b", false},
		{"v1-none", "/v1", true, 0, 0, "", false},
		{"v1-none-64k-pages", "/p64k", true, 0, 0, "", false},
		{"v1-leaf", "/v1/a /v1", true, 0.5, 8 << 20, "/v1/a", false},
		{"no-files", "/nowhere", false, 0, 0, "", false},
		{"garbage", "/bad", false, 0, 0, "", true},
		{"period-left-out", "/short", false, 0.00005, 0, "/short", false},
		{"v1-period-missing", "/half", true, 0, 0, "", true},
	} {
		levels := strings.Fields(tt.levels)
		q, p, file, err := tightestCPU(fsys, levels, tt.v1)
		if (err != nil) != tt.err {
			t.Errorf("%s: error %v", tt.name, err)
		}
		if cores := float64(q) / float64(max(p, 1)); q > 0 && cores != tt.cores || q == 0 && tt.cores != 0 || !strings.HasPrefix(file, tt.from) {
			t.Errorf("%s: %d/%d from %q, want %v cores from %s", tt.name, q, p, file, tt.cores, tt.from)
		}
		n, file, err := memoryLimit(fsys, levels[0], tt.v1)
		if n != tt.memory || !strings.HasPrefix(file, levels[0]) || (err != nil) != strings.HasPrefix(tt.levels, "/bad") {
			t.Errorf("%s: memory %d from %q, %v; want %d", tt.name, n, file, err, tt.memory)
		}
	}
}

// TestSituations checks for every saved container that package limits and this package
// read the same place: mount, group and levels.
func TestSituations(t *testing.T) {
	all, err := fixture.LoadAll(os.DirFS("../../../../../testdata/situations"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, s := range all {
		l, err := limits.Read(limits.Process{FS: s.FS})
		if err != nil {
			t.Fatal(err)
		}
		cgroup, _ := readText(s.FS, "/proc/self/cgroup")
		mounts, _ := readText(s.FS, "/proc/self/mountinfo")
		for _, controller := range []string{"cpu", "memory"} {
			field, state := "cpu.quota_cores", l.CPU.Quota.State
			if controller == "memory" {
				field, state = "memory.hard_bytes", l.Memory.Hard.State
			}
			h, err := findHierarchy(s.FS, cgroup, mounts, controller)
			_, off := errors.AsType[noControllerError](err)
			switch {
			case off && state == limits.None || unread(&l, field, state) != nil:
				continue // no limit, or unknown to package limits
			case err != nil:
				if !strings.Contains(mounts, " /..") { // outside the namespace, where no groups are made
					t.Errorf("%s, %s: %v, and limits says %v", s.Name, controller, err, state)
				}
				continue
			}
			if controller == "memory" {
				n, _, err := memoryLimit(s.FS, h.dir(), h.v1)
				if hard, ok := l.Memory.Hard.Get(); err != nil || n > 0 && (!ok || hard > n) {
					t.Errorf("%s: memory %d, %v, and limits says %v", s.Name, n, err, l.Memory.Hard)
				}
			} else {
				q, p, file, err := tightestCPU(s.FS, h.levels(), h.v1)
				cores, limited := l.CPU.Quota.Get()
				seen := limited && !strings.HasPrefix(l.CPU.QuotaSource.File, h.mount+"/") // limits sees more, through another mount
				if err != nil || !seen && (limited != (q > 0) || limited && (float64(q)/float64(p) != cores || file != l.CPU.QuotaSource.File)) {
					t.Errorf("%s: %d/%d from %q, %v, and limits says %v from %q", s.Name, q, p, file, err, l.CPU.Quota, l.CPU.QuotaSource.File)
				}
			}
			compared++
		}
	}
	if compared < 200 {
		t.Errorf("compared %d readings, want at least 200", compared)
	}
}

func TestUsage(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	bytes := func(n int64) *int64 { return &n }
	span := func(d time.Duration) *time.Duration { return &d }
	fsys := tree(
		`/v2/cpu.stat usage_usec 1500\nuser_usec 1000\nnr_periods 20\nnr_throttled 3\nthrottled_usec 70\nnr_bursts 2\nburst_usec 30`,
		`/v2/cpu.pressure some avg10=0.10 avg60=0.00 avg300=0.00 total=12345\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1`,
		`/v2/memory.pressure some avg10=0.00 avg60=0.00 avg300=0.00 total=9`, "/bare/cpu.pressure some avg10=1 total=lots",
		"/v2/memory.peak 4096", `/v2/memory.events low 0\noom 2\noom_kill 1\noom_group_kill 0`,
		`/v1c/cpu.stat nr_periods 5\nnr_throttled 4\nthrottled_time 9000\nnr_bursts 1\nburst_time 40`, "/v1a/cpuacct.usage 777",
		"/v1m/memory.max_usage_in_bytes 8192", `/v1m/memory.oom_control oom_kill_disable 0\nunder_oom 0\noom_kill 6`,
		`/old/memory.oom_control oom_kill_disable 0\nunder_oom 0`, `/bare/cpu.stat usage_usec 2`)
	v2 := func(dir string) part { return part{controllers: []string{"cpu", "memory"}, dir: dir} }
	v1 := func(dir string, c ...string) part { return part{v1: true, controllers: c, dir: dir} }
	all := Usage{Periods: number(20), ThrottledPeriods: number(3), ThrottledTime: span(70 * time.Microsecond),
		Bursts: number(2), CPUTime: span(1500 * time.Microsecond),
		Pressure: span(12345 * time.Microsecond), MemoryPeakBytes: bytes(4096), OOMKills: number(1)}
	for _, tt := range []struct {
		name  string
		parts []part
		want  Usage
	}{
		{"v2", []part{v2("/v2")}, all},
		{"v2-without-a-cpu-controller", []part{{controllers: []string{"memory"}, dir: "/bare"}}, Usage{CPUTime: span(2 * time.Microsecond)}},
		{"v1", []part{v1("/v1c", "cpu"), v1("/v1a", "cpuacct"), v1("/v1m", "memory")},
			Usage{Periods: number(5), ThrottledPeriods: number(4), ThrottledTime: span(9000), Bursts: number(1),
				CPUTime: span(777), MemoryPeakBytes: bytes(8192), OOMKills: number(6)}},
		{"v1-before-4.13", []part{v1("/old", "memory")}, Usage{}},
		{"hybrid", []part{v1("/v1c", "cpu"), {controllers: []string{"memory"}, dir: "/v2"}},
			all},
		{"gone", []part{v2("/gone"), v1("/gone", "cpu", "cpuacct"), v1("/gone", "memory")}, Usage{}},
	} {
		if got := usage(fsys, tt.parts); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: usage = %s, want %s", tt.name, show(got), show(tt.want))
		}
	}
}

func TestUsageKeepsTheEarlierReading(t *testing.T) {
	n, m, d, b := uint64(1), uint64(2), time.Second, int64(3)
	earlier := Usage{Periods: &n, ThrottledPeriods: &n, ThrottledTime: &d, Bursts: &n, CPUTime: &d, Pressure: &d, MemoryPeakBytes: &b, OOMKills: &n}
	if got := (Usage{}).or(earlier); got != earlier {
		t.Errorf("nothing or all = %s", show(got))
	}
	if got := (Usage{OOMKills: &m}).or(earlier); got.OOMKills != &m || got.Periods != &n {
		t.Errorf("some or all = %s", show(got))
	}
}

func TestUsageSinceAnEarlierReading(t *testing.T) {
	number := func(n uint64) *uint64 { return &n }
	span := func(d time.Duration) *time.Duration { return &d }
	earlier := Usage{Periods: number(10), ThrottledPeriods: number(4), ThrottledTime: span(7), Bursts: number(5), Pressure: span(100), OOMKills: number(1)}
	peak := int64(1)
	now := Usage{Periods: number(30), ThrottledPeriods: number(4), ThrottledTime: span(9), Bursts: number(4), CPUTime: span(1),
		Pressure: span(150), MemoryPeakBytes: &peak, OOMKills: number(2)}
	want := Usage{Periods: number(20), ThrottledPeriods: number(0), ThrottledTime: span(2), Pressure: span(50), OOMKills: number(1)}
	if got := now.since(earlier); !reflect.DeepEqual(got, want) {
		t.Errorf("since = %s, want %s: a counter that decreased or was missing is unknown", show(got), show(want))
	}
}

func show(u Usage) string {
	var b strings.Builder
	v := reflect.ValueOf(u)
	for i := range v.NumField() {
		fmt.Fprintf(&b, "%s:", v.Type().Field(i).Name)
		if f := v.Field(i); f.IsNil() {
			b.WriteString("nil ")
		} else {
			fmt.Fprintf(&b, "%v ", f.Elem())
		}
	}
	return b.String()
}
