// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/limits"
)

const mib = 1 << 20

// container returns limits: 0 stands for none, cpus 0 for an unknown affinity.
func container(quota float64, cpus int, memory int64) limits.Limits {
	var l limits.Limits
	if cpus > 0 {
		l.CPU.Affinity = limits.Of(cpus)
	}
	l.CPU.Quota = limits.NoLimit[float64]()
	if quota > 0 {
		l.CPU.Quota = limits.Of(quota)
		l.CPU.QuotaSource = limits.Source{File: "/sys/fs/cgroup/cpu.max"}
	}
	l.Memory.Hard, l.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	if memory > 0 {
		l.Memory.Hard, l.Memory.Soft = limits.Of(memory), limits.Of(memory)
	}
	return l
}

func TestProcs(t *testing.T) {
	unknown := container(0, 16, 0)
	unknown.CPU.Quota = limits.Value[float64]{}
	for _, c := range []struct {
		name string
		in   Input
		want int64 // 0 = left alone
		code string
	}{
		{"no limit", Input{Limits: container(0, 16, 0)}, 0, NoLimit},
		{"unknown limit", Input{Limits: unknown}, 0, Unknown},
		{"nothing known", Input{}, 0, Unknown},
		{"two cores", Input{Limits: container(2, 16, 0)}, 2, QuotaCeil},
		{"fraction goes up", Input{Limits: container(2.1, 16, 0)}, 3, QuotaCeil},
		{"fraction goes down when asked", Input{Limits: container(2.9, 16, 0), Policy: Policy{Round: Floor}}, 2, QuotaFloor},
		{"nearest", Input{Limits: container(2.5, 16, 0), Policy: Policy{Round: Nearest}}, 3, QuotaNearest},
		{"minimum is one below one core", Input{Limits: container(0.99, 16, 0)}, 1, QuotaCeil},
		{"minimum is two from one core", Input{Limits: container(1, 16, 0)}, 2, QuotaMin},
		{"minimum is two for a request", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 0.1}}, 2, CPURequest},
		{"minimum of two when asked", Input{Limits: container(0.5, 16, 0), Policy: Policy{MinProcs: 2}}, 2, QuotaMin},
		{"minimum of one when asked", Input{Limits: container(1, 16, 0), Policy: Policy{MinProcs: 1}}, 1, QuotaCeil},
		{"floor with minimum of one", Input{Limits: container(0.5, 16, 0), Policy: Policy{MinProcs: 1, Round: Floor}}, 1, QuotaMin},
		{"minimum is not above affinity", Input{Limits: container(0.5, 1, 0)}, 1, QuotaCeil},
		{"large minimum is not above affinity", Input{Limits: container(0.5, 4, 0), Policy: Policy{MinProcs: 8}}, 4, QuotaMin},
		{"affinity is tighter", Input{Limits: container(64, 16, 0)}, 16, Affinity},
		{"kernel maximum", Input{Limits: container(17592186044.415, 16, 0)}, 16, Affinity},
		{"kernel maximum and no affinity", Input{Limits: container(17592186044.415, 0, 0)}, 0, Unknown},
		{"quota without affinity", Input{Limits: container(3, 0, 0)}, 3, QuotaCeil},
		{"hint above the runtime's count, no affinity", Input{Limits: container(0, 0, 0), Hints: Hints{CPULimit: 64}, Now: Now{Procs: 4, NumCPU: 4}}, 4, Affinity},
		{"maximum", Input{Limits: container(8, 16, 0), Policy: Policy{MaxProcs: 4}}, 4, MaxProcs},
		{"maximum without a limit", Input{Limits: container(0, 16, 0), Policy: Policy{MaxProcs: 4}}, 4, MaxProcs},
		{"maximum, unknown limit", Input{Limits: unknown, Policy: Policy{MaxProcs: 4}}, 4, MaxProcs},
		{"maximum does not widen what the runtime read", Input{Limits: unknown, Policy: Policy{MaxProcs: 4}, Now: Now{Procs: 2, NumCPU: 2}}, 2, Affinity},
		{"maximum beats minimum", Input{Limits: container(8, 16, 0), Policy: Policy{MinProcs: 6, MaxProcs: 1}}, 1, MaxProcs},
		{"reserve", Input{Limits: container(4, 16, 0), Policy: Policy{ReserveCPUs: 1.5}}, 3, ReserveCPUs},
		{"reserve without a limit", Input{Limits: container(0, 16, 0), Policy: Policy{ReserveCPUs: 4}}, 12, ReserveCPUs},
		{"reserve of a part of the quota", Input{Limits: container(1, 16, 0), Policy: Policy{ReserveCPUs: 0.5}}, 1, ReserveCPUs},
		{"reserve of a part of a request", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 0.4}, Policy: Policy{ReserveCPUs: 0.5}}, 2, QuotaMin},
		{"reserve of nearly all CPUs", Input{Limits: container(0, 4, 0), Policy: Policy{ReserveCPUs: 3.5}}, 2, QuotaMin},
		{"reserve more than there is", Input{Limits: container(1, 16, 0), Policy: Policy{ReserveCPUs: 4}}, 1, QuotaMin},
		{"hint tightens", Input{Limits: container(8, 16, 0), Hints: Hints{CPULimit: 3}}, 3, CPULimitHint},
		{"hint does not widen", Input{Limits: container(2, 16, 0), Hints: Hints{CPULimit: 8}}, 2, QuotaCeil},
		{"hint where nothing can be read", Input{Limits: unknown, Hints: Hints{CPULimit: 3}}, 3, CPULimitHint},
		{"request without a limit", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 1.5}}, 3, CPURequest},
		{"request times a factor", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 2}, Policy: Policy{RequestFactor: 1.5}}, 3, CPURequest},
		{"request below the minimum", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 0.1}}, 2, CPURequest},
		{"request below a minimum that is asked for", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 0.1}, Policy: Policy{MinProcs: 8}}, 8, QuotaMin},
		{"request beside a limit", Input{Limits: container(8, 16, 0), Hints: Hints{CPURequest: 1}}, 8, QuotaCeil},
		{"request above affinity", Input{Limits: container(0, 4, 0), Hints: Hints{CPURequest: 12}}, 4, Affinity},
		{"asked for", Input{Limits: container(2, 16, 0), Policy: Policy{GOMAXPROCS: 40}}, 40, Explicit},
		{"operator's", Input{Limits: container(2, 16, 0), Env: Env{GOMAXPROCS: "7"}}, 0, EnvSet},
		{"operator's wins over asked for", Input{Limits: container(2, 16, 0), Env: Env{GOMAXPROCS: "7"}, Policy: Policy{GOMAXPROCS: 3}}, 0, EnvSet},
		{"operator's nonsense", Input{Limits: container(2, 16, 0), Env: Env{GOMAXPROCS: "500m"}}, 2, QuotaCeil},
		{"runtime's own", Input{Limits: container(2, 16, 0), Now: Now{Procs: 16, NumCPU: 16}}, 2, QuotaCeil},
		{"program's", Input{Limits: container(2, 16, 0), Now: Now{Procs: 5, NumCPU: 16}}, 0, ProgramSet},
		{"program's, and the same", Input{Limits: container(5, 16, 0), Now: Now{Procs: 5, NumCPU: 16}}, 5, QuotaCeil},
		{"program's, overridden", Input{Limits: container(2, 16, 0), Now: Now{Procs: 5, NumCPU: 16}, Policy: Policy{Override: true}}, 2, QuotaCeil},
		{"snug's own", Input{Limits: container(2, 16, 0), Now: Now{Procs: 5, NumCPU: 16, OwnProcs: 5}}, 2, QuotaCeil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Decide(&c.in).GOMAXPROCS
			if s.Value != c.want || s.Code != c.code || s.Leave != (c.want == 0) {
				t.Errorf("= %d, %q (leave %v), want %d, %q", s.Value, s.Code, s.Leave, c.want, c.code)
			}
		})
	}
}

func TestMemory(t *testing.T) {
	high := container(0, 16, 512*mib)
	high.Memory.Soft = limits.Of[int64](400 * mib)
	onlyHigh := container(0, 16, 0)
	onlyHigh.Memory.Soft = limits.Of[int64](400 * mib)
	unknown := container(0, 16, 0)
	unknown.Memory.Hard, unknown.Memory.Soft = limits.Value[int64]{}, limits.Value[int64]{}
	host := container(0, 16, 1024*mib)
	host.Memory.SoftSource.File = cgroup.HostMemory
	running := Now{Procs: 16, NumCPU: 16, MemLimit: NoMemLimit}
	with := func(n Now, f func(*Now)) Now { f(&n); return n }
	for _, c := range []struct {
		name string
		in   Input
		want int64 // 0 = left alone
		code string
	}{
		{"no limit", Input{Limits: container(0, 16, 0)}, 0, NoLimit},
		{"unknown", Input{Limits: unknown}, 0, Unknown},
		{"a tenth stays free", Input{Limits: container(0, 16, 1000*mib)}, 900 * mib, MemoryMax},
		{"at least 8 MiB stay free", Input{Limits: container(0, 16, 72*mib)}, 64 * mib, MemoryMax},
		{"smallest", Input{Limits: container(0, 16, 64*mib)}, 56 * mib, MemoryMax},
		{"too small", Input{Limits: container(0, 16, 64*mib-1)}, 0, TooSmall},
		{"memory.high", Input{Limits: high}, 360 * mib, MemoryHigh},
		{"memory.high alone", Input{Limits: onlyHigh}, 360 * mib, MemoryHigh},
		{"host", Input{Limits: host}, 1024*mib - 1024*mib/10, HostMemory},
		{"share", Input{Limits: container(0, 16, 1000*mib), Policy: Policy{Memory: Memory{Percent: 80}}}, 800 * mib, MemoryMax},
		{"share less a size", Input{Limits: container(0, 16, 1000*mib), Policy: Policy{Memory: Memory{Percent: 90, Less: 100 * mib}}}, 800 * mib, MemoryMax},
		{"share less more than there is", Input{Limits: container(0, 16, 100*mib), Policy: Policy{Memory: Memory{Percent: 90, Less: 100 * mib}}}, 0, TooSmall},
		{"asked for", Input{Limits: container(0, 16, 0), Policy: Policy{Memory: Memory{Bytes: 7}}}, 7, Explicit},
		{"off", Input{Limits: container(0, 16, 512*mib), Policy: Policy{Memory: Memory{Off: true}}}, NoMemLimit, Explicit},
		{"workers", Input{Limits: container(0, 16, 1000*mib), Policy: Policy{Workers: 4}}, 225 * mib, Workers},
		{"too many workers", Input{Limits: container(0, 16, 100*mib), Policy: Policy{Workers: 4}}, 0, TooSmall},
		{"hint tightens", Input{Limits: container(0, 16, 1000*mib), Hints: Hints{MemoryLimit: 500 * mib}}, 450 * mib, MemoryHint},
		{"hint does not widen", Input{Limits: container(0, 16, 500*mib), Hints: Hints{MemoryLimit: 1000 * mib}}, 450 * mib, MemoryMax},
		{"hint where nothing can be read", Input{Limits: unknown, Hints: Hints{MemoryLimit: 1000 * mib}}, 900 * mib, MemoryHint},
		{"operator's", Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: "1GiB"}}, 0, EnvSet},
		{"operator's off", Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: "off"}}, 0, EnvSet},
		{"old Go", Input{Limits: container(0, 16, 500*mib), Go: Go{Minor: 18}}, 0, NotSupported},
		{"running", Input{Limits: container(0, 16, 500*mib), Now: running}, 450 * mib, MemoryMax},
		{"program's", Input{Limits: container(0, 16, 500*mib), Now: with(running, func(n *Now) { n.MemLimit = 5 })}, 0, ProgramSet},
		{"program's, overridden", Input{Limits: container(0, 16, 500*mib), Now: with(running, func(n *Now) { n.MemLimit = 5 }), Policy: Policy{Override: true}}, 450 * mib, MemoryMax},
		{"snug's own", Input{Limits: container(0, 16, 500*mib), Now: with(running, func(n *Now) { n.MemLimit, n.OwnMemLimit = 5, 5 })}, 450 * mib, MemoryMax},
		{"program's, and off asked for", Input{Now: with(running, func(n *Now) { n.MemLimit = 5 }), Policy: Policy{Memory: Memory{Off: true}}}, 0, ProgramSet},
		{"live heap is larger", Input{Limits: container(0, 16, 500*mib), Now: with(running, func(n *Now) { n.Live = 460 * mib })}, 0, LiveHeap},
		{"live heap fits", Input{Limits: container(0, 16, 500*mib), Now: with(running, func(n *Now) { n.Live = 440 * mib })}, 450 * mib, MemoryMax},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := Decide(&c.in).GOMEMLIMIT
			if s.Value != c.want || s.Code != c.code || s.Leave != (c.want == 0) {
				t.Errorf("= %d, %q (leave %v), want %d, %q", s.Value, s.Code, s.Leave, c.want, c.code)
			}
		})
	}
}

func TestGOGC(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		want int64
		code string
	}{
		{"not managed", Input{}, 0, NotManaged},
		{"asked for", Input{Policy: Policy{GOGC: 200}}, 200, Explicit},
		{"off", Input{Policy: Policy{GOGC: Off}}, Off, Explicit},
		{"operator's", Input{Policy: Policy{GOGC: 200}, Env: Env{GOGC: "50"}}, 0, EnvSet},
		{"operator's nonsense", Input{Policy: Policy{GOGC: 200}, Env: Env{GOGC: "lots"}}, 200, Explicit},
	} {
		if s := Decide(&c.in).GOGC; s.Value != c.want || s.Code != c.code {
			t.Errorf("%s: %d, %q, want %d, %q", c.name, s.Value, s.Code, c.want, c.code)
		}
	}
}

func TestWarnings(t *testing.T) {
	shared := container(0, 16, 500*mib)
	shared.Memory.HardShared, shared.Memory.SoftShared = true, true
	for code, in := range map[string]Input{
		EnvInvalid:    {Env: Env{GOMAXPROCS: "x"}},
		MemoryShared:  {Limits: shared},
		MemorySeveral: {Limits: container(0, 16, 500*mib), Others: 1},
		ExplicitAbove: {Limits: container(0, 16, 500*mib), Policy: Policy{Memory: Memory{Bytes: 600 * mib}}},
		LiveHeap:      {Limits: container(0, 16, 500*mib), Now: Now{Procs: 1, NumCPU: 1, MemLimit: NoMemLimit, Live: 500 * mib}},
	} {
		if w := Decide(&in).Warnings; len(w) != 1 || w[0].Code != code {
			t.Errorf("warnings %v, want %q", w, code)
		}
	}
}

// If each of several processes takes its share, there is nothing to warn about.
func TestSeveral(t *testing.T) {
	for _, c := range []struct {
		name   string
		others int
		policy Policy
		hint   int64
		want   int
	}{
		{"two, as many named", 1, Policy{Workers: 2}, 0, 0},
		{"three, two named", 2, Policy{Workers: 2}, 0, 1},
		{"two, half for each", 1, Policy{Memory: Memory{Percent: 50}}, 0, 0},
		{"three, half for each", 2, Policy{Memory: Memory{Percent: 50}}, 0, 1},
		{"two, a size named", 1, Policy{Memory: Memory{Bytes: 200 * mib}}, 0, 0},
		{"two, off", 1, Policy{Memory: Memory{Off: true}}, 0, 0},
		{"two, a share named", 1, Policy{}, 200 * mib, 0},
		{"twenty, too many for a GOMEMLIMIT", 19, Policy{Workers: 10}, 0, 0},
	} {
		p := Decide(&Input{Limits: container(0, 16, 500*mib), Others: c.others, Policy: c.policy, Hints: Hints{MemoryLimit: c.hint}})
		if len(p.Warnings) != c.want || c.want == 1 && p.Warnings[0].Raw != strconv.Itoa(c.others+1) {
			t.Errorf("%s: warnings %v, want %d", c.name, p.Warnings, c.want)
		}
	}
}

// TestMisfit: a value of the operator or the program stays, and one that does not fit is a warning with the
// value and what it does not fit.
func TestMisfit(t *testing.T) {
	running := func(procs int, memory, live int64) Now {
		return Now{Procs: procs, NumCPU: 8, MemLimit: memory, Live: live}
	}
	above := container(8, 16, 0)
	above.CPU.Levels = []limits.CPULevel{{Quota: limits.NoLimit[float64]()}, {Quota: limits.Of(8.0)}}
	for _, c := range []struct {
		name   string
		in     Input
		code   string // "" = no warning
		raw    string
		number float64
	}{
		{"16 Ps on half a core", Input{Limits: container(0.5, 16, 0), Env: Env{GOMAXPROCS: "16"}}, ProcsAbove, "16", 0.5},
		{"the program's own 16", Input{Limits: container(0.5, 32, 0), Now: running(16, NoMemLimit, 0)}, ProcsAbove, "16", 0.5},
		{"by a hint", Input{Limits: container(8, 16, 0), Hints: Hints{CPULimit: 1}, Env: Env{GOMAXPROCS: "4"}}, ProcsAbove, "4", 1},
		{"four times the limit", Input{Limits: container(2, 16, 0), Env: Env{GOMAXPROCS: "8"}}, ProcsAbove, "8", 2},
		{"less than four times", Input{Limits: container(2, 16, 0), Env: Env{GOMAXPROCS: "7"}}, "", "", 0},
		{"Go's minimum on a tenth", Input{Limits: container(0.1, 16, 0), Env: Env{GOMAXPROCS: "2"}}, "", "", 0},
		{"snug's answer, by a minimum", Input{Limits: container(0.5, 16, 0), Env: Env{GOMAXPROCS: "8"}, Policy: Policy{MinProcs: 8}}, "", "", 0},
		{"Go's own choice", Input{Limits: container(0.5, 16, 0), Now: running(16, NoMemLimit, 0)}, "", "", 0},
		{"no limit", Input{Limits: container(0, 2, 0), Env: Env{GOMAXPROCS: "64"}}, "", "", 0},
		{"1 P on 8 cores", Input{Limits: container(8, 16, 0), Env: Env{GOMAXPROCS: "1"}}, ProcsBelow, "1", 8},
		{"1 P on 8 cores, 4 CPUs", Input{Limits: container(8, 4, 0), Env: Env{GOMAXPROCS: "1"}}, "", "", 0},
		{"1 P on 3 cores", Input{Limits: container(3, 16, 0), Env: Env{GOMAXPROCS: "1"}}, "", "", 0},
		{"1 P of a machine", Input{Limits: container(0, 16, 0), Env: Env{GOMAXPROCS: "1"}}, "", "", 0},
		{"1 P beside others", Input{Limits: container(8, 16, 0), Env: Env{GOMAXPROCS: "1"}, Others: 3}, "", "", 0},
		{"1 P of each worker", Input{Limits: container(8, 16, 0), Env: Env{GOMAXPROCS: "1"}, Policy: Policy{Workers: 8}}, "", "", 0},
		{"1 P in a slice of 8 cores", Input{Limits: above, Env: Env{GOMAXPROCS: "1"}}, "", "", 0},
		{"above the memory limit", Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: "600MiB"}}, ExplicitAbove, "", 600 * mib},
		{"above a hinted limit", Input{Limits: container(0, 16, 500*mib), Hints: Hints{MemoryLimit: 256 * mib}, Env: Env{GOMEMLIMIT: "400MiB"}}, ExplicitAbove, "268435456", 400 * mib},
		{"asked for, above a hint", Input{Hints: Hints{MemoryLimit: 256 * mib}, Policy: Policy{Memory: Memory{Bytes: 400 * mib}}}, ExplicitAbove, "268435456", 400 * mib},
		{"the program's, above it", Input{Limits: container(0, 16, 500*mib), Now: running(8, 600*mib, 0)}, ExplicitAbove, "", 600 * mib},
		{"below the live heap", Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: "100MiB"}, Now: running(8, 100*mib, 200*mib)}, LiveHeap, "100MiB", 200 * mib},
		{"the program's, below it", Input{Limits: container(0, 16, 500*mib), Now: running(8, 100*mib, 200*mib)}, LiveHeap, "104857600", 200 * mib},
		{"0, and the live heap is unknown", Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: "0"}}, "", "", 0},
	} {
		if cpu := &c.in.Limits.CPU; cpu.Levels == nil {
			cpu.Levels = []limits.CPULevel{{Quota: cpu.Quota}}
		}
		p := Decide(&c.in)
		switch w := p.Warnings; {
		case c.code == "" && len(w) == 0:
		case c.code == "" || len(w) != 1 || w[0].Code != c.code || w[0].Number != c.number || c.raw != "" && w[0].Raw != c.raw:
			t.Errorf("%s: %+v, want %q with %q and %v", c.name, w, c.code, c.raw, c.number)
		default:
			n := number(c.number)
			if c.number >= mib {
				n = Bytes(int64(c.number))
			}
			if text := WarningText(w[0]); !strings.Contains(text, n) || c.code != ExplicitAbove && !strings.Contains(text, w[0].Raw) {
				t.Errorf("%s: %q without %q or %q", c.name, text, w[0].Raw, n)
			}
		}
		if s := &p.GOMAXPROCS; c.in.Env.GOMAXPROCS != "" && (!s.Leave || s.Code != EnvSet) {
			t.Errorf("%s: %+v, want it left alone", c.name, s)
		}
	}
}

// A stale GOMEMLIMIT in an image's environment is kept, with a warning.
func TestOperatorsLimitAboveTheContainers(t *testing.T) {
	for text, want := range map[string]int{"600MiB": 1, "400MiB": 0, "off": 0} {
		in := Input{Limits: container(0, 16, 500*mib), Env: Env{GOMEMLIMIT: text}}
		if w := Decide(&in).Warnings; len(w) != want || want == 1 && w[0].Code != ExplicitAbove {
			t.Errorf("GOMEMLIMIT=%s: warnings %v, want %d", text, w, want)
		}
	}
}

func TestIgnoredIsSaid(t *testing.T) {
	in := Input{Limits: container(8, 16, 0), Hints: Hints{CPULimit: 3, CPURequest: 1}}
	got := Decide(&in).GOMAXPROCS.Ignored
	if len(got) != 2 || got[0].Code != QuotaCeil || got[0].Number != 8 || got[1].Code != RequestUnused {
		t.Errorf("ignored = %+v, want the quota and the request", got)
	}
}

// FuzzDecide: for any container, the plan is plausible.
func FuzzDecide(f *testing.F) {
	f.Add(1.5, 16, int64(512*mib), int64(512*mib), uint8(0), 0, 0, 0.0, 0.0, 0.0, 0.0, int64(0), 0.0, int64(0), int64(0))
	f.Add(1e18, 1, int64(0), int64(1), uint8(2), 9, 1, 0.5, 3.0, 2.0, 1.0, int64(5), 90.0, int64(1), int64(1<<40))
	f.Add(math.Inf(1), 0, int64(-1), int64(math.MaxInt64), uint8(1), -1, -1, math.NaN(), math.NaN(), math.NaN(), math.NaN(), int64(-1), math.NaN(), int64(-1), int64(-1))
	f.Fuzz(func(t *testing.T, quota float64, cpus int, hard, soft int64, round uint8, least, most int, reserve, hint, request, factor float64, memHint int64, percent float64, less, live int64) {
		l := container(quota, cpus, 0)
		if hard >= 0 {
			l.Memory.Hard = limits.Of(hard)
		}
		if soft >= 0 {
			l.Memory.Soft = limits.Min(l.Memory.Hard, limits.Of(soft))
		}
		in := Input{Limits: l, Hints: Hints{CPULimit: hint, CPURequest: request, MemoryLimit: memHint}, Policy: Policy{
			Round: Round(round), MinProcs: least, MaxProcs: most, ReserveCPUs: reserve, RequestFactor: factor, Memory: Memory{Percent: percent, Less: less},
		}, Now: Now{Procs: 1, NumCPU: 1, MemLimit: NoMemLimit, Live: live}}
		p := Decide(&in)
		if s := p.GOMAXPROCS; s.Leave != (s.Value == 0) || s.Value < 0 || s.Value > maxProcs || cpus > 0 && s.Value > int64(cpus) || s.Code == "" {
			t.Errorf("GOMAXPROCS %+v of %+v", s, in)
		}
		s := p.GOMEMLIMIT
		if s.Leave != (s.Value == 0) || s.Code == "" {
			t.Errorf("GOMEMLIMIT %+v of %+v", s, in)
		}
		if !s.Leave && (s.Value < MinValue || s.Value <= live) {
			t.Errorf("GOMEMLIMIT %d is below the floor or the live heap: %+v", s.Value, in)
		}
		if limit, ok := l.Memory.Soft.Get(); ok && !s.Leave && less >= 0 && s.Value > limit {
			t.Errorf("GOMEMLIMIT %d is above the limit of %d: %+v", s.Value, limit, in)
		}
		for _, s := range []Setting{p.GOMAXPROCS, p.GOMEMLIMIT, p.GOGC} {
			if Text(s.Reason, s.Value) == "" {
				t.Errorf("no text for %+v", s)
			}
		}
	})
}

func TestAutomaxprocs(t *testing.T) {
	for quota, want := range map[float64]int{0: 0, 0.5: 1, 1: 1, 1.5: 1, 2.5: 2, 16: 16} {
		l := container(quota, 16, 0)
		if quota > 0 {
			Confine(&l, quota, 0)
		}
		if got := Automaxprocs(&l.CPU, Go{Automaxprocs: true}); got != want {
			t.Errorf("quota %v: %d, want %d", quota, got, want)
		}
		if got := Automaxprocs(&l.CPU, Go{}); got != 0 {
			t.Errorf("quota %v, not linked in: %d", quota, got)
		}
	}
}

// TestSpace: the address space caps a memory limit; what RLIMIT_AS leaves is one by itself.
func TestSpace(t *testing.T) {
	const gib = 1 << 30
	for _, c := range []struct {
		limit, left, bits int64
		want              int64
		code              string
	}{
		{limit: 8 * gib, bits: 4 * gib, want: 4*gib - 4*gib/10, code: AddressSpace},
		{limit: 2 * gib, bits: 4 * gib, want: 2*gib - 2*gib/10, code: MemoryMax},
		{bits: 4 * gib, code: NoLimit},
		{left: gib, want: gib - gib/10, code: AddressSpace},
		{limit: 2 * gib, left: gib, bits: 4 * gib, want: gib - gib/10, code: AddressSpace},
		{limit: gib, left: 2 * gib, want: gib - gib/10, code: MemoryMax},
		{limit: gib, left: 1 << 20, code: TooSmall},
	} {
		in := Input{Go: Go{Space: c.bits}}
		in.Limits.Memory = limits.Memory{Hard: limits.NoLimit[int64](), Soft: limits.NoLimit[int64](), AddressSpace: limits.NoLimit[int64]()}
		if c.limit > 0 {
			in.Limits.Memory.Hard, in.Limits.Memory.Soft = limits.Of(c.limit), limits.Of(c.limit)
		}
		if c.left > 0 {
			in.Limits.Memory.AddressSpace = limits.Of(c.left)
		}
		if s := Decide(&in).GOMEMLIMIT; s.Value != c.want || s.Code != c.code {
			t.Errorf("limit %d, %d left of a space of %d: %d, %s, want %d, %s", c.limit, c.left, c.bits, s.Value, s.Code, c.want, c.code)
		}
	}
}
