// SPDX-License-Identifier: Apache-2.0

package goenv

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

func container(quota float64, cpus int, memory int64) limits.Limits {
	var l limits.Limits
	l.CPU.Affinity = limits.Of(cpus)
	l.CPU.Quota = limits.NoLimit[float64]()
	l.Memory.Hard, l.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	plan.Confine(&l, quota, memory)
	return l
}

// crashing is a group whose quota the Go runtime cannot convert.
func crashing() limits.Limits {
	l := container(1<<31, 8, 0)
	l.CPU.Quota = limits.NoLimit[float64]() // as with a period of 0
	return l
}

// bound is a group that Go 1.25 does not find, as where it is mounted over /sys/fs/cgroup.
func bound() limits.Limits {
	l := container(3, 8, 0)
	l.CPU.RuntimeLevel125 = &limits.CPULevel{GoQuota: limits.NoLimit[float64]()}
	return l
}

func TestVariables(t *testing.T) {
	const mib = 1 << 20
	old := plan.Go{Minor: 24, Blind: true}
	for _, c := range []struct {
		name string
		in   plan.Input
		want []Variable
	}{
		{"recent Go reads a quota by itself", plan.Input{Limits: container(3, 8, 0)}, nil},
		{"old Go does not", plan.Input{Limits: container(3, 8, 0), Go: old}, []Variable{{"GOMAXPROCS", "3"}}},
		{"recent Go with an old go line does not", plan.Input{Limits: container(3, 8, 0), Go: plan.Go{Minor: 26, Blind: true}}, []Variable{{"GOMAXPROCS", "3"}}},
		{"recent Go rounds up", plan.Input{Limits: container(2.5, 8, 0), Policy: plan.Policy{Round: plan.Floor}}, []Variable{{"GOMAXPROCS", "2"}}},
		{"Go 1.25 reads it too", plan.Input{Limits: container(3, 8, 0), Go: plan.Go{Minor: 25}}, nil},
		{"Go 1.25 does not find it", plan.Input{Limits: bound(), Go: plan.Go{Minor: 25}}, []Variable{{"GOMAXPROCS", "3"}}},
		{"Go 1.26 does", plan.Input{Limits: bound(), Go: plan.Go{Minor: 26}}, nil},
		{"automaxprocs would round down", plan.Input{Limits: container(1.5, 8, 0), Go: plan.Go{Minor: 26, Automaxprocs: true}}, []Variable{{"GOMAXPROCS", "2"}}},
		{"automaxprocs comes to the same", plan.Input{Limits: container(3, 8, 0), Go: plan.Go{Minor: 26, Automaxprocs: true}}, nil},
		{"memory", plan.Input{Limits: container(3, 8, 1000*mib)}, []Variable{{"GOMEMLIMIT", "943718400"}}},
		{"memory, operator's", plan.Input{Limits: container(3, 8, 1000*mib), Env: plan.Env{GOMEMLIMIT: "1GiB"}}, nil},
		{"Go 1.18 has no GOMEMLIMIT", plan.Input{Limits: container(3, 8, 1000*mib), Go: plan.Go{Minor: 18, Blind: true}}, []Variable{{"GOMAXPROCS", "3"}}},
		{"asked for", plan.Input{Limits: container(3, 8, 0), Policy: plan.Policy{GOMAXPROCS: 3, GOGC: 200, Memory: plan.Memory{Off: true}}},
			[]Variable{{"GOMAXPROCS", "3"}, {"GOMEMLIMIT", "off"}, {"GOGC", "200"}}},
		{"GOGC off", plan.Input{Limits: container(3, 8, 0), Policy: plan.Policy{GOGC: plan.Off}}, []Variable{{"GOGC", "off"}}},
		{"a quota that crashes Go", plan.Input{Limits: crashing()}, []Variable{{"GOMAXPROCS", "8"}}},
		{"a quota that crashes Go, operator's", plan.Input{Limits: crashing(), Env: plan.Env{GOMAXPROCS: "4"}}, nil},
		{"a quota that crashes Go, operator's nonsense", plan.Input{Limits: crashing(), Env: plan.Env{GOMAXPROCS: "4.0"}}, []Variable{{"GOMAXPROCS", "8"}}},
		{"a huge quota", plan.Input{Limits: container(17592186044.415, 8, 0)}, []Variable{{"GOMAXPROCS", "8"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Variables(&c.in, plan.Decide(&c.in), func() bool { return false }); !slices.Equal(got, c.want) {
				t.Errorf("= %v, want %v", got, c.want)
			}
		})
	}
}

// TestVariablesOfOwnCode: a program whose own code sets GOMAXPROCS where no variable does.
func TestVariablesOfOwnCode(t *testing.T) {
	for _, c := range []struct {
		name string
		in   plan.Input
		want []Variable
	}{
		{"its Go has the plan's number", plan.Input{Limits: container(1.5, 2, 0), Go: plan.Go{Minor: 19, Blind: true}}, []Variable{{"GOMAXPROCS", "2"}}},
		{"no limit", plan.Input{Limits: container(0, 2, 0), Go: plan.Go{Minor: 19, Blind: true}}, nil},
		{"operator's", plan.Input{Limits: container(1.5, 2, 0), Go: plan.Go{Minor: 19, Blind: true}, Env: plan.Env{GOMAXPROCS: "1"}}, nil},
		{"its Go follows the quota", plan.Input{Limits: container(1.5, 2, 0), Go: plan.Go{Minor: 26}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Variables(&c.in, plan.Decide(&c.in), func() bool { return true }); !slices.Equal(got, c.want) {
				t.Errorf("= %v, want %v", got, c.want)
			}
		})
	}
}

func TestConfineOnlyTightens(t *testing.T) {
	l := container(2, 8, 500)
	plan.Confine(&l, 4, 1000)
	if l.CPU.Quota != limits.Of(2.0) || l.Memory.Hard != limits.Of[int64](500) {
		t.Errorf("quota %v, hard %v, want what the groups above allow", l.CPU.Quota, l.Memory.Hard)
	}
	if q, ok := l.CPU.RuntimeLevel.GoQuota.Get(); !ok || q != 4 {
		t.Errorf("the runtime reads %v, want the new group's own 4", q)
	}
}

func TestSetenv(t *testing.T) {
	got := Setenv([]string{"A=1", "GOGC=1", "B=2", "GOGC=2", "GOGCX=3"}, "GOGC", "off")
	if want := []string{"A=1", "B=2", "GOGCX=3", "GOGC=off"}; !slices.Equal(got, want) {
		t.Errorf("= %v, want %v", got, want)
	}
}
