// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"math"
	"testing"

	"github.com/snug-go/snug/limits"
)

// Quantities exactly at a bound.
func TestEdgesOfQuantities(t *testing.T) {
	for text, ok := range map[string]bool{"1": true, "9223372036854775807": false, "8EiB": false, "8388607TiB": true} {
		if _, got := ParseBytes(text); got != ok {
			t.Errorf("ParseBytes(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"0.001": true, "1m": true, "1000000": true, "1000000.1": false, "123456789012345m": false} {
		if _, got := ParseCPUs(text); got != ok {
			t.Errorf("ParseCPUs(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"1": true, "8192": true, "8193": false, "0": false} {
		if _, got := ParseProcs(text); got != ok {
			t.Errorf("ParseProcs(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"0": false, "0.001": true, "1000": true, "1000.1": false} {
		if _, got := ParseFactor(text); got != ok {
			t.Errorf("ParseFactor(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"1023": false, "1KiB": true, "0.1%": true, "0%": false, "100%": true} {
		if _, got := ParseMemory(text); got != ok {
			t.Errorf("ParseMemory(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"": false, ".": false, "123456789012345": true, "1234567890123456": false} {
		if _, got := ParseDecimal(text); got != ok {
			t.Errorf("ParseDecimal(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"iB": false, "9223372036854775807": true, "8589934591GiB": true, "8589934592GiB": false, "9007199254740991KiB": true} {
		if _, got := parseGoMemory(text); got != ok {
			t.Errorf("parseGoMemory(%q): %v", text, got)
		}
	}
	for text, ok := range map[string]bool{"100": true, "-5": true, "off": true, "2147483648": false, "Off": false} {
		if validGOGC(text) != ok {
			t.Errorf("validGOGC(%q): %v", text, !ok)
		}
	}
}

func TestEdgesOfDecisions(t *testing.T) {
	memory := func(limit int64) limits.Limits { return container(0, 16, limit) }
	highFirst := memory(500 * mib)
	highFirst.Memory.Soft = limits.Of[int64](400 * mib)
	for _, c := range []struct {
		name     string
		in       Input
		value    int64
		code     string
		warnings int
	}{
		{"Go 1.18 has none", Input{Limits: memory(500 * mib), Go: Go{Minor: 18}}, 0, NotSupported, 0},
		{"Go 1.19 has", Input{Limits: memory(500 * mib), Go: Go{Minor: 19}}, 450 * mib, MemoryMax, 0},
		{"the operator's equals the limit", Input{Limits: memory(500 * mib), Env: Env{GOMEMLIMIT: "500MiB"}}, 0, EnvSet, 0},
		{"the operator's is a byte above", Input{Limits: memory(500 * mib), Env: Env{GOMEMLIMIT: "524288001"}}, 0, EnvSet, 1},
		{"the operator's, no limit", Input{Limits: memory(0), Env: Env{GOMEMLIMIT: "500MiB"}}, 0, EnvSet, 0},
		{"asked for: the limit", Input{Limits: memory(500 * mib), Policy: Policy{Memory: Memory{Bytes: 500 * mib}}}, 500 * mib, Explicit, 0},
		{"asked for: a byte more", Input{Limits: memory(500 * mib), Policy: Policy{Memory: Memory{Bytes: 500*mib + 1}}}, 500*mib + 1, Explicit, 1},
		{"asked for, no limit", Input{Limits: memory(0), Policy: Policy{Memory: Memory{Bytes: 500 * mib}}}, 500 * mib, Explicit, 0},
		{"one worker is none", Input{Limits: memory(500 * mib), Policy: Policy{Workers: 1}}, 450 * mib, MemoryMax, 0},
		{"two workers", Input{Limits: memory(500 * mib), Policy: Policy{Workers: 2}}, 225 * mib, Workers, 0},
		{"memory.high is lower", Input{Limits: highFirst}, 360 * mib, MemoryHigh, 0},
		{"memory.high equals memory.max", Input{Limits: memory(400 * mib)}, 360 * mib, MemoryMax, 0},
		{"the smallest limit", Input{Limits: memory(64 * mib)}, 56 * mib, MemoryMax, 0},
		{"a byte less", Input{Limits: memory(64*mib - 1)}, 0, TooSmall, 0},
		{"the live heap is the value", Input{Limits: memory(500 * mib), Now: Now{Procs: 1, NumCPU: 1, MemLimit: NoMemLimit, Live: 450 * mib}}, 0, LiveHeap, 1},
		{"the live heap is a byte less", Input{Limits: memory(500 * mib), Now: Now{Procs: 1, NumCPU: 1, MemLimit: NoMemLimit, Live: 450*mib - 1}}, 450 * mib, MemoryMax, 0},
		{"headroom is a tenth or 8 MiB", Input{Limits: memory(80 * mib)}, 72 * mib, MemoryMax, 0},
	} {
		p := Decide(&c.in)
		if s := p.GOMEMLIMIT; s.Value != c.value || s.Code != c.code || len(p.Warnings) != c.warnings {
			t.Errorf("%s: %d, %q, %v; want %d, %q, %d warnings", c.name, s.Value, s.Code, p.Warnings, c.value, c.code, c.warnings)
		}
	}
	if s := Decide(&Input{Limits: highFirst}).GOMEMLIMIT; len(s.Ignored) != 1 || s.Ignored[0].Code != MemoryMax || s.Ignored[0].Number != 500*mib {
		t.Errorf("ignored %+v, want memory.max", s.Ignored)
	}
	if s := Decide(&Input{Limits: memory(400 * mib)}).GOMEMLIMIT; len(s.Ignored) != 0 {
		t.Errorf("ignored %+v, want nothing", s.Ignored)
	}
	for hint, want := range map[int64][]string{0: nil, 600 * mib: {HintUnused}, 500 * mib: {HintUnused}, 300 * mib: {MemoryMax}} {
		s := Decide(&Input{Limits: memory(500 * mib), Hints: Hints{MemoryLimit: hint}}).GOMEMLIMIT
		if len(s.Ignored) != len(want) || len(want) == 1 && s.Ignored[0].Code != want[0] {
			t.Errorf("hint %d MiB: ignored %+v, want %v", hint/mib, s.Ignored, want)
		}
	}
}

func TestEdgesOfProcs(t *testing.T) {
	for _, c := range []struct {
		name string
		in   Input
		want int64
		code string
	}{
		{"the quota is the affinity", Input{Limits: container(16, 16, 0)}, 16, QuotaCeil},
		{"the quota is a little above it", Input{Limits: container(16.1, 16, 0)}, 16, Affinity},
		{"the maximum is the number", Input{Limits: container(4, 16, 0), Policy: Policy{MaxProcs: 4}}, 4, QuotaCeil},
		{"the number is the minimum", Input{Limits: container(3, 16, 0), Policy: Policy{MinProcs: 3}}, 3, QuotaCeil},
		{"8191 cores and no affinity", Input{Limits: container(8191, 0, 0)}, 8191, QuotaCeil},
		{"8192 cores and no affinity", Input{Limits: container(8192, 0, 0)}, 0, Unknown},
		{"half a core and nearest", Input{Limits: container(2.5, 16, 0), Policy: Policy{Round: Nearest}}, 3, QuotaNearest},
		{"less than half and nearest", Input{Limits: container(2.49, 16, 0), Policy: Policy{Round: Nearest}}, 2, QuotaNearest},
		{"no request", Input{Limits: container(0, 16, 0), Hints: Hints{CPURequest: 0}}, 0, NoLimit},
		{"the hint is the quota", Input{Limits: container(3, 16, 0), Hints: Hints{CPULimit: 3}}, 3, QuotaCeil},
	} {
		s := Decide(&c.in).GOMAXPROCS
		if s.Value != c.want || s.Code != c.code {
			t.Errorf("%s: %d, %q; want %d, %q", c.name, s.Value, s.Code, c.want, c.code)
		}
	}
	if s := Decide(&Input{Limits: container(3, 16, 0)}).GOMAXPROCS; len(s.Ignored) != 0 {
		t.Errorf("ignored %+v without a request", s.Ignored)
	}
	level := func(quota float64) (c limits.CPU) {
		l := container(0, 16, 0)
		Confine(&l, quota, 0)
		return l.CPU
	}
	lost := func(quota float64) (c limits.CPU) {
		l := container(0, 16, 0)
		l.CPU.Levels = []limits.CPULevel{{Source: limits.Source{File: "/sys/fs/cgroup/cpu.max"}}}
		l.CPU.RuntimeLevel125 = &limits.CPULevel{Source: limits.Source{File: "/sys/fs/cgroup/d/cpu.max"}}
		Confine(&l, quota, 0)
		return l.CPU
	}
	for _, c := range []struct {
		name string
		cpu  limits.CPU
		g    Go
		want int
	}{
		{"Go 1.24", level(3), Go{Minor: 24}, 16},
		{"Go 1.25", level(3), Go{Minor: 25}, 3},
		{"Go 1.25 in a group that it does not find", lost(3), Go{Minor: 25}, 16},
		{"Go 1.26 in it", lost(3), Go{Minor: 26}, 3},
		{"a later one in it", lost(3), Go{Minor: NewestKnown + 1}, 3},
		{"not known", level(3), Go{}, 3},
		{"blind", level(3), Go{Minor: 26, Blind: true}, 16},
		{"at least two", level(0.5), Go{Minor: 26}, 2},
		{"as many as there are", level(16), Go{Minor: 26}, 16},
		{"more than there are", level(17), Go{Minor: 26}, 16},
		{"no affinity", container(0, 0, 0).CPU, Go{Minor: 26}, 0},
		{"no level", container(0, 16, 0).CPU, Go{Minor: 26}, 16},
	} {
		if got := RuntimeProcs(&c.cpu, c.g); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for quota, want := range map[float64]int{8191.5: 8191, 8192: 0, 1: 1} {
		c := level(quota)
		if got := Automaxprocs(&c, Go{Automaxprocs: true}); got != want {
			t.Errorf("automaxprocs at %v cores: %d, want %d", quota, got, want)
		}
	}
}

func TestLeave(t *testing.T) {
	s := Setting{Value: 3, Reason: Reason{Code: QuotaCeil, Number: 3}}
	if s.leave(ProgramSet, 7); s.Value != 0 || !s.Leave || s.Code != ProgramSet || s.Number != 7 || len(s.Ignored) != 1 || s.Ignored[0].Code != QuotaCeil {
		t.Errorf("%+v", s)
	}
	s = Setting{}
	if s.leave(NoLimit, 0); len(s.Ignored) != 0 {
		t.Errorf("a setting without a value ignores %+v", s.Ignored)
	}
}

// People read reasons: numbers, plurals, and what was done about them.
func TestTexts(t *testing.T) {
	for _, c := range []struct {
		reason Reason
		value  int64
		want   string
	}{
		{Reason{Code: QuotaCeil, Number: 1}, 2, "the quota is 1 core"},
		{Reason{Code: QuotaCeil, Number: 1.5}, 2, "the quota is 1.5 cores, rounded up"},
		{Reason{Code: QuotaFloor, Number: 2.0015}, 2, "the quota is 2.002 cores, rounded down"},
		{Reason{Code: QuotaNearest, Number: 2.5}, 3, "the quota is 2.5 cores, rounded to the nearest"},
		{Reason{Code: QuotaMin, Number: 0.1}, 8, "the limit or request is 0.1 cores, raised to the minimum"},
		{Reason{Code: CPURequest, Number: 0.1}, 2, "no limit, so Ps for the request of 0.1 cores, at least 2; idle CPUs beyond them stay unused"},
		{Reason{Code: CPURequest, Number: 1}, 2, "no limit, so Ps for the request of 1 core; idle CPUs beyond them stay unused"},
		{Reason{Code: Affinity, Number: 16}, 16, "the process may run on 16 CPUs"},
		{Reason{Code: Affinity, Number: 1}, 1, "the process may run on 1 CPU"},
		{Reason{Code: Affinity, Number: 17}, 16, "the limit of 17 cores is more than the CPUs it may run on"},
		{Reason{Code: MemoryMax, Number: 500 * mib}, 450 * mib, "the memory limit is 500 MiB, less 50 MiB headroom"},
		{Reason{Code: MemoryMax, Number: 500 * mib}, 0, "the memory limit is 500 MiB"},
		{Reason{Code: ProgramSet, Number: 8192}, 0, "the program itself set it to 8192"},
		{Reason{Code: ProgramSet, Number: 64 * mib}, 0, "the program itself set it to 64 MiB"},
	} {
		if got := Text(c.reason, c.value); got != c.want {
			t.Errorf("%+v: %q, want %q", c.reason, got, c.want)
		}
	}
	for n, want := range map[int64]string{
		0: "0 B", 1: "1 B", 1023: "1023 B", 1024: "1 KiB", 1536: "1.5 KiB", -2048: "-2 KiB", 1075: "1 KiB", 1 << 20: "1 MiB",
		1127219200: "1 GiB", 1 << 40: "1 TiB", 1 << 50: "1 PiB", 1 << 60: "1 EiB", math.MaxInt64: "8 EiB",
	} {
		if got := Bytes(n); got != want {
			t.Errorf("Bytes(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestNames(t *testing.T) {
	for name, want := range map[string]string{
		"SNUG_MAXPROCS": "SNUG_MAX_PROCS", "SNUG_WORKER": "SNUG_WORKERS", "SNUG_ROUNDS": "SNUG_ROUND", "SNUG_X": "", "SNUG_": "", "": "",
		"SNUG_MEMROY_LIMIT": "SNUG_MEMORY_LIMIT", "SNUG_PROCS_MAX_LIMIT_OF_MINE": "", "SNUG_WATHC": "SNUG_WATCH", "SNUG_RESERVE_CPU": "SNUG_RESERVE_CPUS",
		"SNUG_GOMEMLIMT": "SNUG_GOMEMLIMIT",
	} {
		if got := NearestName(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	names := func(environ ...string) (all []string) {
		for _, w := range UnknownNames(environ) {
			all = append(all, w.File)
		}
		return all
	}
	if got := names("SNUG", "SNUG_", "SNUGX=1", "PATH=/bin", "SNUG_LOG=1", "SNUG_SERVICE_HOST=10.0.0.1", "SNUG_PORT_443_TCP=x", "SNUG_E2E=root", "SNUG_TEST_X=1"); len(got) != 1 || got[0] != "SNUG_" {
		t.Errorf("unknown: %q, want SNUG_ alone", got)
	}
	for text, want := range map[string]string{"AZ": "az", "aZ@[": "az@[", "OFF": "off", "": ""} {
		if got := lower(text); got != want {
			t.Errorf("lower(%q) = %q", text, got)
		}
	}
}
