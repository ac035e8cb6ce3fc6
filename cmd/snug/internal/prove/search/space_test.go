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
func pairsOf(candidates []finding.Arm) string {
	var out []string
	for _, c := range candidates {
		if c.GOMAXPROCS == "" && c.Burst == 0 {
			out = append(out, c.GOGC+"/"+c.GOMEMLIMIT)
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
		"1.5 of 8":                      {1.5, 8, pointer(2), ",1,3,4"},
		"4 of 64":                       {4, 64, pointer(4), ",1,5,8"},
		"4 of 6":                        {4, 6, pointer(4), ",1,5"},
		"no quota on 8":                 {0, 8, pointer(8), ",1,4"},
		"one CPU":                       {0, 1, pointer(1), ""},
	} {
		t.Run(name, func(t *testing.T) {
			factors, candidates, pruned := Space(SpaceInput{Base: finding.Arm{Quota: c.quota}, CPUs: c.cpus, Procs: c.procs})
			if got := values(factors, "GOMAXPROCS"); got != c.want {
				t.Errorf("values %q, want %q; left out %v", got, c.want, pruned)
			}
			if candidates[0] != (finding.Arm{Quota: c.quota}) {
				t.Errorf("first is %+v, not the baseline", candidates[0])
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
	one := SpaceInput{Base: finding.Arm{Quota: 1, Memory: 500 * mi}, CPUs: 1, Procs: pointer(1), Memory: 500 * mi, CPUOnly: true}
	for name, c := range map[string]struct {
		change func(*SpaceInput)
		want   string // GOGC/GOMEMLIMIT
		why    string // what is left out, and a word of the reason
	}{
		"a raised GOGC has a limit":   {func(s *SpaceInput) {}, "/ /450MiB 200/400MiB 400/400MiB 800/400MiB off/400MiB", ""},
		"less memory may be the aim":  {func(s *SpaceInput) { s.CPUOnly = false }, "/ /450MiB 200/400MiB 400/400MiB 50/400MiB 800/400MiB off/400MiB", ""},
		"the collector is idle":       {func(s *SpaceInput) { s.GC = pointer(0.004) }, "/", "GOGC: 0.4 % of the baseline's"},
		"idle, but memory is bounded": {func(s *SpaceInput) { s.GC, s.CPUOnly = pointer(0.004), false }, "/ /450MiB 200/400MiB 400/400MiB 50/400MiB 800/400MiB off/400MiB", ""},
		"no limit":                    {func(s *SpaceInput) { s.Memory = 0 }, "/ 200/ 400/ 800/", "GOMEMLIMIT: no memory limit"},
		"own GOGC":                    {func(s *SpaceInput) { s.Memory, s.Values.GOGC = 0, []string{"100", "300"} }, "/ 300/", ""},
		"own GOGC below a limit":      {func(s *SpaceInput) { s.Values.GOGC = []string{"100", "300"} }, "/ /450MiB 300/ 300/450MiB", ""},
		"own both, tried as they are": {func(s *SpaceInput) {
			s.Values = Values{GOGC: []string{"off", "1000"}, GOMEMLIMIT: []string{"unset", "100MiB"}}
		}, "/ 1000/ 1000/100MiB off/100MiB", ""},
		"snug's own is kept": {func(s *SpaceInput) {
			s.GC, s.Snug = pointer(0.004), &finding.Knobs{GOMAXPROCS: "1", GOMEMLIMIT: "440MiB"}
		}, "/ /440MiB", ""},
		"snug's limit is the limit": {func(s *SpaceInput) { s.Snug = &finding.Knobs{GOMEMLIMIT: "440MiB"} }, "/ /440MiB 200/400MiB 400/400MiB 800/400MiB off/400MiB", ""},
		"only what a sweep has": {func(s *SpaceInput) {
			s.Only = func(a finding.Arm) bool { return a.GOGC == "" }
		}, "/ /450MiB", ""},
		"the baseline is what would be left out": {func(s *SpaceInput) { s.Base.GOGC = "off" }, "/400MiB 200/400MiB 400/400MiB 800/400MiB off/ off/450MiB", ""},
		"the program sets GOGC":                  {func(s *SpaceInput) { s.Overridden[gogcKnob] = "200 where 400 was set" }, "/ /450MiB", "GOGC: the program sets it itself: 200 where 400"},
		"the program sets both":                  {func(s *SpaceInput) { s.Overridden = [knobs]string{gogcKnob: "200", limitKnob: "off"} }, "/", "GOMEMLIMIT: sets it itself"},
	} {
		t.Run(name, func(t *testing.T) {
			in := one
			c.change(&in)
			_, candidates, pruned := Space(in)
			if got := pairsOf(candidates); got != c.want {
				t.Errorf("got\n%s\nwant\n%s\nleft out %v", got, c.want, pruned)
			}
			if what, word, ok := strings.Cut(c.why, ": "); ok && !strings.Contains(whyPruned(pruned, what), word) {
				t.Errorf("%s is left out because %q", what, whyPruned(pruned, what))
			}
			if candidates[0] != in.Base {
				t.Errorf("first is %+v, not the baseline", candidates[0])
			}
		})
	}
}

func TestSpaceIsOfTheSizeThatASearchCanTry(t *testing.T) {
	const gi = 1 << 30
	for name, in := range map[string]SpaceInput{
		"1.5 CPUs of 2": {Base: finding.Arm{Quota: 1.5}, CPUs: 2, Procs: pointer(2), Memory: gi},
		"4 CPUs of 64":  {Base: finding.Arm{Quota: 4}, CPUs: 64, Procs: pointer(4), Memory: gi},
	} {
		if _, c, _ := Space(in); len(c) < 10 || len(c) > 30 {
			t.Errorf("%s: %d candidates", name, len(c))
		}
	}
}

// TestFirstCandidates: a small budget tries only the first ones.
func TestFirstCandidates(t *testing.T) {
	const mi = 1 << 20
	_, c, _ := Space(SpaceInput{Base: finding.Arm{Quota: 1}, CPUs: 2, Procs: pointer(2), Memory: 500 * mi, CPUOnly: true,
		Snug: &finding.Knobs{GOMEMLIMIT: "450MiB"}})
	var got []string
	for _, a := range c {
		got = append(got, strings.Join([]string{a.GOMAXPROCS, a.GOGC, a.GOMEMLIMIT}, "/"))
	}
	want := "// //450MiB 1// /400/400MiB 1/400/400MiB /off/400MiB 1/off/400MiB /200/400MiB 1/200/400MiB /800/400MiB 1/800/400MiB 1//450MiB"
	if strings.Join(got, " ") != want {
		t.Errorf("%s\nwant\n%s", strings.Join(got, " "), want)
	}
}
