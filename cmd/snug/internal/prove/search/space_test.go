// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func values(factors []finding.Factor, knob string) string {
	for _, f := range factors {
		if f.Knob == knob {
			return strings.Join(f.Values, ",")
		}
	}
	return "no factor"
}

func pointer[T any](v T) *T { return &v }

// pairsOf returns the candidates' GOGC/GOMEMLIMIT at the baseline's GOMAXPROCS.
func pairsOf(candidates []Candidate) string {
	var out []string
	for _, c := range candidates {
		if c.Arm.GOMAXPROCS == "" && c.Arm.Burst == 0 {
			out = append(out, c.Arm.GOGC+"/"+c.Arm.GOMEMLIMIT)
		}
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

func TestSpaceProcs(t *testing.T) {
	for name, c := range map[string]struct {
		quota float64
		cpus  int
		procs *int
		want  string
	}{
		"half a CPU of 2":               {0.5, 2, pointer(2), ",1"},
		"half a CPU of 2, nothing told": {0.5, 2, nil, ",1,2"},
		"1.5 of 8":                      {1.5, 8, pointer(2), ",1,3,4,8"},
		"4 of 64":                       {4, 64, pointer(4), ",1,5,8,16,64"},
		"4 of 6":                        {4, 6, pointer(4), ",1,5,6"},
		"no quota on 8":                 {0, 8, pointer(8), ",1,4"},
		"one CPU":                       {0, 1, pointer(1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			factors, candidates, pruned := Space(SpaceInput{Base: finding.Arm{Quota: c.quota}, CPUs: c.cpus, Procs: c.procs})
			if got := values(factors, "GOMAXPROCS"); got != c.want {
				t.Errorf("values %q, want %q; left out %v", got, c.want, pruned)
			}
			if candidates[0].Arm != (finding.Arm{Quota: c.quota}) {
				t.Errorf("first is %+v, not the baseline", candidates[0].Arm)
			}
			if why := whyPruned(pruned, "GOMEMLIMIT"); !strings.Contains(why, "no memory limit") {
				t.Errorf("GOMEMLIMIT is left out because %q", why)
			}
		})
	}
	_, _, pruned := Space(SpaceInput{Base: finding.Arm{Quota: 4}, CPUs: 6, Procs: pointer(4)})
	if why := whyPruned(pruned, "GOMAXPROCS=8"); !strings.Contains(why, "6 CPUs") {
		t.Errorf("8 on 6 CPUs is left out because %q", why)
	}
	if why := whyPruned(pruned, "GOMAXPROCS=4"); !strings.Contains(why, "default") {
		t.Errorf("4 is left out because %q", why)
	}
}

func whyPruned(pruned []finding.Pruned, what string) string {
	i := slices.IndexFunc(pruned, func(p finding.Pruned) bool { return p.What == what })
	if i < 0 {
		return "it was not left out"
	}
	return pruned[i].Why
}

func TestSpacePruning(t *testing.T) {
	const mi = 1 << 20
	one := SpaceInput{Base: finding.Arm{Quota: 1, Memory: 500 * mi}, CPUs: 1, Procs: pointer(1), Memory: 500 * mi}
	for name, c := range map[string]struct {
		change func(*SpaceInput)
		want   string // GOGC/GOMEMLIMIT
		why    string // what is left out, and a word of the reason
	}{
		"live heap not known": {func(s *SpaceInput) {}, "/ /350MiB /400MiB /450MiB " +
			"200/ 200/350MiB 200/400MiB 200/450MiB 400/ 400/350MiB 400/400MiB 400/450MiB " +
			"50/ 50/350MiB 50/400MiB 50/450MiB 800/ 800/350MiB 800/400MiB 800/450MiB " +
			"off/350MiB off/400MiB off/450MiB", "GOGC=off with GOMEMLIMIT unset: nothing would start"},
		// Peaks at 50 to 800: 75, 100, 150, 250, 450 MiB.
		"a tenth of the limit lives": {func(s *SpaceInput) { s.Live = pointer(50.0 * mi) },
			"/ 200/ 400/ 50/ 800/350MiB 800/400MiB 800/450MiB off/400MiB off/450MiB",
			"GOGC=800 with GOMEMLIMIT unset: 450 MiB is not below"},
		"and 60 MiB beside the heap": {func(s *SpaceInput) { s.Live, s.Other = pointer(50.0*mi), 60*mi },
			"/ 200/ 400/ 400/350MiB 50/ 800/350MiB 800/400MiB 800/450MiB off/450MiB",
			"GOGC=off with GOMEMLIMIT=350MiB: the limit decides"},
		// Peaks 450, 600, ...; 1.3 L is 390 MiB.
		"most of it lives": {func(s *SpaceInput) { s.Live = pointer(300.0 * mi) },
			"/ /400MiB /450MiB 50/400MiB 50/450MiB",
			"GOMEMLIMIT=350MiB: less than 1.3 times"},
		"the collector is idle": {func(s *SpaceInput) { s.Live, s.GC, s.CPUOnly = pointer(50.0*mi), pointer(0.004), true },
			"/", "GOGC: 0.4 % of the baseline's"},
		"idle, but memory is bounded": {func(s *SpaceInput) { s.Live, s.GC = pointer(50.0*mi), pointer(0.004) },
			"/ 200/ 400/ 50/ 800/350MiB 800/400MiB 800/450MiB off/400MiB off/450MiB", ""},
		"no limit": {func(s *SpaceInput) { s.Memory, s.Live = 0, pointer(50.0*mi) },
			"/ 200/ 400/ 50/ 800/", "GOMEMLIMIT: no memory limit"},
		"own GOGC": {func(s *SpaceInput) {
			s.Memory, s.Values.GOGC = 0, []string{"100", "300"}
		}, "/ 300/", ""},
		"own both, tried as they are": {func(s *SpaceInput) {
			s.Live, s.Values = pointer(300.0*mi), Values{GOGC: []string{"off", "1000"}, GOMEMLIMIT: []string{"unset", "100MiB"}}
		}, "/ 1000/ 1000/100MiB off/ off/100MiB", ""},
		"snug's own is kept": {func(s *SpaceInput) {
			s.Live, s.GC, s.CPUOnly = pointer(50.0*mi), pointer(0.004), true
			s.Keep = []finding.Knobs{{GOMAXPROCS: "1", GOMEMLIMIT: "450MiB"}}
		}, "/ /450MiB", ""},
		// 90 % of 268 MB are 230 MiB in whole ones; snug computes it to the byte.
		"snug's limit is about one of the shares": {func(s *SpaceInput) {
			s.Memory, s.Live, s.Values.GOGC = 268435456, pointer(100.0*mi), []string{"100"}
			s.Keep = []finding.Knobs{{GOMEMLIMIT: "241591911B"}}
		}, "/ /179MiB /204MiB /241591911B", "GOMEMLIMIT=230MiB: within 1 % of GOMEMLIMIT=241591911B"},
		"snug's limit is about the user's": {func(s *SpaceInput) {
			s.Memory, s.Values = 268435456, Values{GOGC: []string{"100"}, GOMEMLIMIT: []string{"230MiB", "231MiB"}}
			s.Keep = []finding.Knobs{{GOMEMLIMIT: "241591911B"}}
		}, "/ /230MiB /231MiB", ""},
		"only what a sweep has": {func(s *SpaceInput) {
			s.Live = pointer(50.0 * mi)
			s.Only = func(a finding.Arm) bool { return a.GOMEMLIMIT == "" }
		}, "/ 200/ 400/ 50/", ""},
		"the baseline is what would be left out": {func(s *SpaceInput) {
			s.Live, s.Base.GOGC = pointer(50.0*mi), "off"
		}, "/ 200/ 400/ 50/ 800/350MiB 800/400MiB 800/450MiB off/ off/400MiB off/450MiB", ""},
	} {
		t.Run(name, func(t *testing.T) {
			in := one
			c.change(&in)
			_, candidates, pruned := Space(in)
			if got := pairsOf(candidates); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\nleft out %v", got, c.want, pruned)
			}
			if what, word, ok := strings.Cut(c.why, ": "); ok && !strings.Contains(reasonFor(pruned, what), word) {
				t.Errorf("%s is left out because %q", what, reasonFor(pruned, what))
			}
			if candidates[0].Arm != in.Base {
				t.Errorf("first is %+v, not the baseline", candidates[0].Arm)
			}
		})
	}
}

// reasonFor returns the reason of the entry that names the setting, alone or with other
// values of GOGC.
func reasonFor(pruned []finding.Pruned, what string) string {
	gogc, with, pair := strings.Cut(what, " with ")
	for _, p := range pruned {
		list, other, _ := strings.Cut(p.What, " with ")
		if p.What == what || pair && other == with &&
			slices.Contains(strings.Split(strings.TrimPrefix(list, "GOGC="), ", "), strings.TrimPrefix(gogc, "GOGC=")) {
			return p.Why
		}
	}
	return "it was not left out"
}

func TestSpaceBurst(t *testing.T) {
	in := SpaceInput{Base: finding.Arm{Quota: 0.5, Burst: 2000}, CPUs: 2}
	if f, _, _ := Space(in); values(f, "burst") != "2000" {
		t.Errorf("burst %q", values(f, "burst"))
	}
	in.Base.Burst, in.Values.Burst = 0, []int64{1000}
	if f, c, _ := Space(in); values(f, "burst") != "0,1000" || len(c) != 1+3*5 {
		t.Errorf("burst %q of %d candidates", values(f, "burst"), len(c))
	}
}

func TestSpaceIsOfTheSizeThatASearchCanTry(t *testing.T) {
	const gi = 1 << 30
	for name, in := range map[string]SpaceInput{
		"1.5 CPUs of 2":   {Base: finding.Arm{Quota: 1.5}, CPUs: 2, Procs: pointer(2), Memory: gi, Live: pointer(80e6)},
		"4 CPUs of 64":    {Base: finding.Arm{Quota: 4}, CPUs: 64, Procs: pointer(4), Memory: gi, Live: pointer(80e6), Other: 40e6},
		"a small program": {Base: finding.Arm{Quota: 2}, CPUs: 8, Procs: pointer(2), Memory: gi, Live: pointer(4e6), Other: 10e6},
	} {
		if _, c, _ := Space(in); len(c) < 10 || len(c) > 60 {
			t.Errorf("%s: %d candidates", name, len(c))
		}
	}
}
