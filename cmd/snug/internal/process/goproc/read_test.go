// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/snug-go/snug/limits"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/internal/plan"
)

// Where things stand in the invented program of these tests.
const (
	atProcs, atPacer, atPause, atCPU, atCustom, atSpin = 64, 128, 1024, 8192, 8448, 8516
	atRun, atStops, atGs, atPs, atP                    = 8600, 10000, 11400, 11424, 11500
	memSize                                            = 12000
)

// invented is a program's memory, and a program that reads it.
func invented() (mem []byte, r *reader) {
	mem = make([]byte, memSize)
	sure := func(addr uint64) gobin.Var { return gobin.Var{Addr: addr, Votes: 9, Of: 9} }
	im := &image{PIE: true}
	im.Vars = gobin.Vars{
		GOMAXPROCS: sure(atProcs), GCController: sure(atPacer), PauseTotal: sure(atPause), CPUStats: sure(atCPU),
		CustomGOMAXPROCS: sure(atCustom), Spinning: sure(atSpin), AllGs: sure(atGs), AllPs: sure(atPs),
	}
	im.Sched = gobin.Sched{
		TimeToRun: atRun - atSpin, StopsGC: atStops - atSpin, SysGs: -20, FreeGs: 20, FreeGsNoStack: 28,
		GCPauseDist: -1, PFreeGs: 16, Histogram: sizeCoarse,
	}
	im.Layout = gobin.Layout{
		Source: "table", GCPercent: 0, MemoryLimit: 8, LastHeapGoal: 96, HeapLive: 104, HeapMarked: 152,
		HeapInUse: 272, HeapFree: 288, MappedReady: 312, NumGC: 4104, GCCPUFraction: 4112,
		GCAssist: 0, GCDedicated: 8, GCIdle: 16, GCPause: 24, GCTotal: 32,
		ScavengeAssist: 40, ScavengeBg: 48, ScavengeTotal: 56, Idle: 64, User: 72, Total: 80,
	}
	put32(mem, atProcs, 4)
	put32(mem, atPacer, 100)
	put64(mem, atPacer+8, math.MaxInt64)
	put64(mem, atPacer+72, 8<<20) // goal by percent
	put64(mem, atPacer+88, math.MaxUint64)
	put64(mem, atPacer+96, 6<<20)
	put64(mem, atPacer+104, 5<<20)
	put64(mem, atPacer+152, 4<<20)
	put64(mem, atPacer+296, 7<<20)
	put64(mem, atPause, 1000)
	put32(mem, atPause+4104, 3)
	put64(mem, atPause+4112, math.Float64bits(0.25))
	for i, ns := range []uint64{1, 2, 3, 4, 10, 0, 0, 0, 50, 40, 100} {
		put64(mem, atCPU+8*i, ns)
	}
	put32(mem, atSpin-4, 2)
	put32(mem, atSpin, 1)
	put64(mem, atRun+8*8, 10) // 512 to 640 ns
	put64(mem, atStops+8*9, 6)
	put64(mem, atGs+8, 40)
	put32(mem, atSpin-20, 5)
	put32(mem, atSpin+20, 3)
	put32(mem, atSpin+28, 2)
	put64(mem, atPs, atP)
	put64(mem, atPs+8, 1)
	put64(mem, atP, atP+32)
	put32(mem, atP+32+16, 7)
	return mem, &reader{mem: bytes.NewReader(mem), image: im, pid: 42}
}

func put32(mem []byte, at int, v uint32) { binary.LittleEndian.PutUint32(mem[at:], v) }
func put64(mem []byte, at int, v uint64) { binary.LittleEndian.PutUint64(mem[at:], v) }

// TestSanity damages one value at a time. Figures that depend on it must be unknown and say why; the
// rest must not change.
func TestSanity(t *testing.T) {
	type names map[string]bool
	known := func(f *Facts) names {
		return names{
			"procs": f.GOMAXPROCS.Known(), "percent": f.GOGC.Known(), "limit": f.GOMEMLIMIT.Read(),
			"live": f.HeapLive.Known(), "marked": f.HeapMarked.Known(), "goal": f.HeapGoal.Known(),
			"count": f.Collections.Known(), "pause": f.PauseTotal.Known(), "fraction": f.GCCPUFraction.Known(),
			"cpu": f.CPU.Known(), "idle": f.IdlePs.Known(), "spinning": f.SpinningPs.Known(),
			"allocated": f.Allocated.Known(), "latency": f.SchedLatency.Known(), "stops": f.GCStops.Known(), "goroutines": f.Goroutines.Known(),
		}
	}
	all := []string{"allocated", "procs", "percent", "limit", "live", "marked", "goal", "count", "pause", "fraction", "cpu", "idle", "spinning", "latency", "stops", "goroutines"}
	pacer := []string{"allocated", "percent", "limit", "live", "marked", "goal"}
	for _, c := range []struct {
		name  string
		spoil func(mem []byte, r *reader)
		lost  []string
	}{
		{"nothing", func([]byte, *reader) {}, nil},
		{"GOMAXPROCS negative", func(mem []byte, _ *reader) { put32(mem, atProcs, 1<<31) }, []string{"procs"}},
		{"GOMAXPROCS huge", func(mem []byte, _ *reader) { put32(mem, atProcs, maxProcs+1) }, []string{"procs"}},
		{"GOMAXPROCS not chosen yet", func(mem []byte, _ *reader) { put32(mem, atProcs, 0) }, all},
		{"GOMAXPROCS uncertain", func(_ []byte, r *reader) { r.image.Vars.GOMAXPROCS = gobin.Var{Votes: 3, Of: 11, Rival: 3} }, []string{"procs"}},
		{"GOGC below off", func(mem []byte, _ *reader) { put32(mem, atPacer, 0xfffffffe) }, []string{"percent"}},
		{"GOMEMLIMIT negative", func(mem []byte, _ *reader) { put64(mem, atPacer+8, 1<<63) }, []string{"limit"}},
		{"heap beyond all memory", func(mem []byte, _ *reader) { put64(mem, atPacer+104, 1<<50) }, []string{"live"}},
		{"goal beyond all memory", func(mem []byte, _ *reader) { put64(mem, atPacer+8, 1<<62); put64(mem, atPacer+72, 1<<50) }, []string{"goal"}},
		{"pacer not found", func(_ []byte, r *reader) { r.image.Vars.GCController = gobin.Var{} }, pacer},
		{"pacer out of memory", func(_ []byte, r *reader) { r.image.Vars.GCController.Addr = memSize - 10 }, pacer},
		{"pacer at the end of the address space", func(_ []byte, r *reader) { r.image.Vars.GCController.Addr = math.MaxUint64 - 3 }, pacer},
		{"only what never changed is known", func(_ []byte, r *reader) {
			l := &r.image.Layout
			for _, off := range []*int64{&l.HeapLive, &l.HeapMarked, &l.LastHeapGoal, &l.HeapInUse, &l.HeapFree, &l.MappedReady} {
				*off = -1
			}
		}, []string{"allocated", "live", "marked", "goal"}},
		{"another layout around the goal", func(_ []byte, r *reader) { r.image.Layout.HeapFree = 296 }, []string{"allocated", "goal"}},
		{"absurd offsets", func(_ []byte, r *reader) { r.image.Layout.HeapMarked = math.MaxInt64 }, []string{"marked", "goal"}},
		{"share of CPU time above 1", func(mem []byte, _ *reader) { put64(mem, atPause+4112, math.Float64bits(1.5)) }, []string{"count", "pause", "fraction"}},
		{"share of CPU time no number", func(mem []byte, _ *reader) { put64(mem, atPause+4112, math.Float64bits(math.NaN())) }, []string{"count", "pause", "fraction"}},
		{"pauses of centuries", func(mem []byte, _ *reader) { put64(mem, atPause, 1<<63) }, []string{"count", "pause", "fraction"}},
		{"CPU classes that do not add up", func(mem []byte, _ *reader) { put64(mem, atCPU, 5) }, []string{"cpu"}},
		{"CPU classes that overflow", func(mem []byte, _ *reader) {
			put64(mem, atCPU, 1<<63-1)
			put64(mem, atCPU+8, 1<<63-1)
			put64(mem, atCPU+32, 5)
		}, []string{"cpu"}},
		{"more idle Ps than there are", func(mem []byte, _ *reader) { put32(mem, atSpin-4, 5) }, []string{"idle", "spinning"}},
		{"a count beyond all time", func(mem []byte, _ *reader) { put64(mem, atRun, 1<<60) }, []string{"latency"}},
		{"counts that add up beyond all time", func(mem []byte, _ *reader) { put64(mem, atStops, 1<<48); put64(mem, atStops+8, 1) }, []string{"stops"}},
		{"another release", func(_ []byte, r *reader) {
			r.image.Sched = gobin.Sched{TimeToRun: -1, StopsGC: -1, SysGs: -1, FreeGs: -1, FreeGsNoStack: -1, GCPauseDist: -1, PFreeGs: -1, Histogram: -1}
		}, []string{"latency", "stops", "goroutines"}},
		{"more free goroutines than all", func(mem []byte, _ *reader) { put32(mem, atP+32+16, 31) }, []string{"goroutines"}},
		{"Ps not found", func(_ []byte, r *reader) { r.image.Vars.AllPs = gobin.Var{Votes: 4, Of: 6} }, []string{"goroutines"}},
		{"Ps beyond all memory", func(mem []byte, _ *reader) { put64(mem, atPs, 1<<63) }, []string{"goroutines"}},
		{"a P beyond all memory", func(mem []byte, _ *reader) { put64(mem, atP, math.MaxUint64) }, []string{"goroutines"}},
		{"no Ps", func(mem []byte, _ *reader) { put64(mem, atPs+8, 0) }, []string{"goroutines"}},
		{"fewer than none spinning", func(mem []byte, _ *reader) { put32(mem, atSpin, 0xffffffff) }, []string{"idle", "spinning"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem, r := invented()
			c.spoil(mem, r)
			f := &Facts{Exe: Exe{IsGo: true, Minor: 26}}
			r.read(f)
			want := names{}
			for _, name := range all {
				want[name] = true
			}
			for _, name := range c.lost {
				want[name] = false
			}
			for name, is := range known(f) {
				if is != want[name] {
					t.Errorf("%s known %v, want %v", name, is, want[name])
				}
			}
			for _, why := range []string{f.GOMAXPROCS.Why, f.GOGC.Why, f.GOMEMLIMIT.Why, f.HeapLive.Why, f.HeapMarked.Why, f.HeapGoal.Why, f.Collections.Why, f.PauseTotal.Why, f.CPU.Why, f.IdlePs.Why} {
				if why != "" && len(c.lost) == 0 {
					t.Error(why)
				}
			}
			for name, pair := range map[string]struct {
				known bool
				why   string
			}{
				"procs": {f.GOMAXPROCS.Known(), f.GOMAXPROCS.Why}, "percent": {f.GOGC.Known(), f.GOGC.Why}, "goal": {f.HeapGoal.Known(), f.HeapGoal.Why},
				"count": {f.Collections.Known(), f.Collections.Why}, "cpu": {f.CPU.Known(), f.CPU.Why}, "idle": {f.IdlePs.Known(), f.IdlePs.Why},
			} {
				if pair.known == (pair.why != "") {
					t.Errorf("%s: known %v, why %q", name, pair.known, pair.why)
				}
			}
		})
	}
}

// TestUnknownRelease checks that no GOMEMLIMIT is read from what could be Go 1.18.
func TestUnknownRelease(t *testing.T) {
	_, r := invented()
	f := &Facts{Exe: Exe{IsGo: true}}
	r.read(f)
	if !f.GOMEMLIMIT.Read() || f.HeapGoal.Known() {
		t.Errorf("with CPU classes: %+v, %+v", f.GOMEMLIMIT, f.HeapGoal)
	}
	r.image.Vars.CPUStats = gobin.Var{}
	f = &Facts{Exe: Exe{IsGo: true}}
	r.read(f)
	if f.GOMEMLIMIT.Read() || f.GOMEMLIMIT.Why == "" || !f.GOGC.Known() {
		t.Errorf("without: %+v, %+v", f.GOMEMLIMIT, f.GOGC)
	}
}

func TestReadInvented(t *testing.T) {
	_, r := invented()
	f := &Facts{Exe: Exe{IsGo: true, Minor: 26}}
	r.read(f)
	want := CPUClasses{GCAssist: 1, GCDedicated: 2, GCIdle: 3, GCPause: 4, GCTotal: 10, Idle: 50, User: 40, Total: 100}
	if f.GOMAXPROCS.N != 4 || f.GOGC.N != 100 || f.GOMEMLIMIT.State != limits.None || f.HeapLive.N != 5<<20 ||
		f.HeapMarked.N != 4<<20 || f.HeapGoal.N != 8<<20 || f.Allocated.N != 7<<20 || f.Collections.N != 3 || f.PauseTotal.N != time.Microsecond ||
		f.GCCPUFraction.N != 0.25 || f.CPU.N != want || f.IdlePs.N != 2 || f.SpinningPs.N != 1 ||
		f.Goroutines.N != 40-5-3-2-7 || f.SchedLatency.N.Count() != 10 || f.GCStops.N.Count() != 6 {
		t.Errorf("%+v", f)
	}
	if f.GOMAXPROCS.Source != "/proc/42/mem, 9/9 votes" {
		t.Error(f.GOMAXPROCS.Source)
	}
}

// TestWho follows the runtime's own order.
func TestWho(t *testing.T) {
	aware := Exe{IsGo: true, Minor: 26}
	gated := Exe{IsGo: true, Minor: 26, GODEBUG: map[string]string{"containermaxprocs": "0"}}
	old := Exe{IsGo: true, Minor: 24}
	with := func(e Exe, automaxprocs, snug string) Exe { e.Automaxprocs, e.Snug = automaxprocs, snug; return e }
	for _, c := range []struct {
		name         string
		exe          Exe
		env          map[string]string
		custom, kept bool
		procs, cpus  int
		want         By
		detail       string // "*" is any
	}{
		{"environment", aware, map[string]string{"GOMAXPROCS": "7"}, true, true, 7, 4, ByEnvironment, ""},
		{"code over the environment", aware, map[string]string{"GOMAXPROCS": "3"}, true, true, 7, 4, ByCode, ""},
		{"environment taken back", aware, map[string]string{"GOMAXPROCS": "3"}, false, true, 4, 4, ByRuntime, ""},
		{"code", aware, map[string]string{}, true, true, 7, 4, ByCode, ""},
		{"code that is linked in", with(aware, "v1.6.0", ""), map[string]string{}, true, true, 7, 4, ByCode, "go.uber.org/automaxprocs v1.6.0"},
		{"either of two", with(aware, "v1.6.0", "v0.1.0"), map[string]string{}, true, true, 7, 4, ByCode, "go.uber.org/automaxprocs v1.6.0 or github.com/snug-go/snug v0.1.0"},
		{"wrong variable", aware, map[string]string{"GOMAXPROCS": "0"}, false, true, 4, 4, ByRuntime, ""},
		{"runtime", aware, map[string]string{}, false, true, 2, 4, ByRuntime, ""},
		{"runtime, gated off", gated, map[string]string{}, false, true, 4, 4, ByHostCPUs, ""},
		{"runtime, gate opened", gated, map[string]string{"GODEBUG": "containermaxprocs=1"}, false, true, 4, 4, ByRuntime, ""},
		{"no record read", aware, map[string]string{}, false, false, 4, 4, ByUnknown, "*"},
		{"no record read, but the environment says so", aware, map[string]string{"GOMAXPROCS": "4"}, false, false, 4, 4, ByEnvironment, ""},
		{"no environment", aware, nil, true, true, 4, 4, ByUnknown, "*"},
		{"old, environment", old, map[string]string{"GOMAXPROCS": "7"}, false, false, 7, 4, ByEnvironment, ""},
		{"old, code over the environment", old, map[string]string{"GOMAXPROCS": "7"}, false, false, 2, 4, ByCode, ""},
		{"old, as many as CPUs", old, map[string]string{}, false, false, 4, 4, ByHostCPUs, ""},
		{"old, another number", old, map[string]string{}, false, false, 2, 4, ByUnknown, "*"},
		{"old, another number, setter linked in", with(old, "v1.5.3", ""), map[string]string{}, false, false, 2, 4, ByCode, "go.uber.org/automaxprocs v1.5.3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := &Facts{Exe: c.exe, Env: c.env, CPUs: c.cpus}
			f.GOMAXPROCS.Know(c.procs, "test")
			got := f.whoProcs(c.custom, c.kept)
			if got.By != c.want || got.Detail != c.detail && (c.detail != "*" || got.Detail == "") {
				t.Errorf("%+v, want %q, %q", got, c.want, c.detail)
			}
		})
	}
}

func TestParseByteCount(t *testing.T) {
	for text, want := range map[string]int64{
		"123": 123, "123B": 123, "123KiB": 123 << 10, "123MiB": 123 << 20, "1GiB": 1 << 30, "1TiB": 1 << 40, "0": 0,
		"": -1, "MiB": -1, "B": -1, "1.5GiB": -1, "512MB": -1, "-1": -1, "+1": -1, "8388608TiB": -1, "8388607TiB": 8388607 << 40,
		"99999999999999999999": -1, "1KiBB": -1, "1MiBKiB": -1,
	} {
		if got, ok := plan.ParseGoBytes(text); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v, want %d", text, got, ok, want)
		}
	}
}

// TestAsStarted checks that the environment counts if the memory cannot be read.
func TestAsStarted(t *testing.T) {
	for _, c := range []struct {
		name  string
		env   map[string]string
		procs int // 0 = unknown, as all three
		gogc  int
		limit int64
	}{
		{"nothing set", map[string]string{}, 0, 0, 0},
		{"all set", map[string]string{"GOMAXPROCS": "7", "GOGC": "off", "GOMEMLIMIT": "123MiB"}, 7, -1, 123 << 20},
		{"nonsense", map[string]string{"GOMAXPROCS": "-3", "GOGC": "many", "GOMEMLIMIT": "12 pounds"}, 0, 0, 0},
	} {
		f := &Facts{Pid: 7, Env: c.env, Exe: Exe{IsGo: true, Minor: 26}}
		f.asStarted()
		f.unknown("memory cannot be read")
		if f.GOMAXPROCS.N != c.procs || f.GOMAXPROCS.Known() != (c.procs != 0) || f.GOGC.N != c.gogc || f.GOMEMLIMIT.N != c.limit {
			t.Errorf("%s: %+v, %+v, %+v", c.name, f.GOMAXPROCS, f.GOGC, f.GOMEMLIMIT)
		}
		if known := f.GOMAXPROCSBy.By == ByEnvironment; known != (c.procs != 0) {
			t.Errorf("%s: set by %+v", c.name, f.GOMAXPROCSBy)
		}
	}
}
