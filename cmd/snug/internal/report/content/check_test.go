// SPDX-License-Identifier: Apache-2.0

package content

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestPaste(t *testing.T) {
	cell := func(k finding.Knobs, labels ...string) *finding.Cell {
		return &finding.Cell{Arm: finding.Arm{Knobs: k}, Labels: labels}
	}
	set := finding.Knobs{GOMAXPROCS: "1", GOGC: "off"}
	server := []string{"./server", "--name", "a b"}
	const unset, without = "unset GOMAXPROCS GOGC\n", "# without GOMAXPROCS, GOGC\n"
	for name, c := range map[string]struct {
		cell, base *finding.Cell
		want       finding.Environment
	}{
		"knobs": {cell(set), cell(finding.Knobs{}, "default"), finding.Environment{
			Shell: "export GOMAXPROCS=1 GOGC=off\n", Dockerfile: "ENV GOMAXPROCS=1 GOGC=off\n",
			Kubernetes: "env:\n  - name: GOMAXPROCS\n    value: \"1\"\n  - name: GOGC\n    value: \"off\"\n",
		}},
		"any variable": {cell(finding.Knobs{Vars: finding.NewVars([]string{"MODE=fast and $HOME"})}), cell(finding.Knobs{}), finding.Environment{
			Shell: "export MODE='fast and $HOME'\n", Dockerfile: "ENV MODE=\"fast and \\$HOME\"\n",
			Kubernetes: "env:\n  - name: MODE\n    value: \"fast and $HOME\"\n",
		}},
		"Go's default": {cell(finding.Knobs{}, "default"), cell(set, "current"), finding.Environment{Shell: unset, Dockerfile: without, Kubernetes: without}},
		"Go's default, which is snug's plan too": {cell(finding.Knobs{}, "default", "snug"), cell(set, "current"),
			finding.Environment{Shell: unset, Dockerfile: without, Kubernetes: without}},
		"one is no longer set": {cell(finding.Knobs{GOGC: "50"}), cell(set, "current"), finding.Environment{
			Shell: "unset GOMAXPROCS\nexport GOGC=50\n", Dockerfile: "# without GOMAXPROCS\nENV GOGC=50\n",
			Kubernetes: "# without GOMAXPROCS\nenv:\n  - name: GOGC\n    value: \"50\"\n",
		}},
		// snug run leaves variables that are set to the operator.
		"snug's plan": {cell(finding.Knobs{GOMEMLIMIT: "115MiB", GOGC: "50"}, "snug"), cell(set, "current"), finding.Environment{
			Shell:      unset + "snug run -- ./server --name 'a b'\n",
			Dockerfile: without + `ENTRYPOINT ["snug","run","--","./server","--name","a b"]` + "\n",
			Kubernetes: without + `command: ["snug","run","--","./server","--name","a b"]` + "\n",
			Go:         "import _ \"github.com/snug-go/snug/auto\"\n",
		}},
		"a burst": {&finding.Cell{Arm: finding.Arm{Burst: 50_000}}, cell(finding.Knobs{}), finding.Environment{
			Shell:      "# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = 50000\n",
			Dockerfile: "# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = 50000\n",
			Kubernetes: "# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = 50000\n",
		}},
	} {
		if got := Paste(c.cell, c.base, server); *got != c.want {
			t.Errorf("%s: %q, want %q", name, *got, c.want)
		}
	}
}

func TestWorseThan(t *testing.T) {
	two := 2
	low, high := 0.57, 0.67
	gain := &finding.Comparison{Cell: 1, Metric: "cpu_seconds_per_op", Ratio: 0.62, Low: &low, High: &high}
	arm := finding.Arm{Workload: "command", Quota: 0.5, Load: "saturated"}
	one := arm
	one.GOMAXPROCS = "1"
	other := arm
	other.Quota = 1
	cells := []finding.Cell{
		{Arm: arm, Labels: []string{"default"}, Procs: &two},
		{Arm: one},
		{Arm: other, Labels: []string{"default"}, Procs: &two},
	}
	won := finding.Judged{Code: finding.Won, Baseline: 0, Setting: new(1), Gain: gain, Loads: 1}
	kept := finding.Judged{Code: finding.Kept, Baseline: 2, Loads: 1}
	spared := finding.Judged{Code: finding.Spared, Baseline: 1, Setting: new(1), Loads: 1, Fails: &finding.Failure{Code: finding.FailsMemory, Rounds: 7, Of: 7}}
	for want, judged := range map[string][]finding.Judged{
		"the default (GOMAXPROCS=2) is worse than GOMAXPROCS=1, which costs 38 % (33 to 43 %) less CPU per request":             {won},
		"at 0.5 CPUs the default (GOMAXPROCS=2) is worse than GOMAXPROCS=1, which costs 38 % (33 to 43 %) less CPU per request": {won, kept},
		"the default (GOMAXPROCS=2) is worse than GOMAXPROCS=1: it is OOM-killed in 7 of 7 rounds":                              {spared},
		"": {kept},
	} {
		v := finding.BenchVerdict{Judged: judged}
		if got := WorseThan(&v, cells); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	v := finding.BenchVerdict{Judged: []finding.Judged{won, kept}}
	if all := ToPaste(&v, cells, nil); len(all) != 1 || all[0].Where != "at 0.5 CPUs" || all[0].Shell != "export GOMAXPROCS=1\n" {
		t.Errorf("to paste: %+v", all)
	}
}
