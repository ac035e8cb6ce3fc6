// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// machine is a choice for a program of Go 1.26 on a machine without limits.
func machine(cpus int) choice {
	c := choice{goVersion: plan.Go{Minor: 26}, known: true}
	c.limits.CPU.Affinity = limits.Of(cpus)
	c.limits.CPU.Quota = limits.NoLimit[float64]()
	c.limits.Memory.Hard, c.limits.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	return c
}

// brief formats an arm in a few characters: its knobs that are set, then its labels.
func brief(a finding.Arm, labels []string) string {
	var parts []string
	add := func(name string, v any) {
		if !reflect.ValueOf(v).IsZero() {
			parts = append(parts, fmt.Sprint(name, v))
		}
	}
	add("", a.Workload)
	add("", a.Load)
	add("q", a.Quota)
	add("m", a.Memory>>20)
	add("P", a.GOMAXPROCS)
	add("GC", a.GOGC)
	add("L", a.GOMEMLIMIT)
	return strings.TrimSpace(strings.Join(parts, " ") + " " + strings.Join(labels, "+"))
}

func TestArms(t *testing.T) {
	unknown := machine(16)
	unknown.goVersion, unknown.known = plan.Go{}, false
	blind := machine(16)
	blind.goVersion = plan.Go{Minor: 24, Blind: true}
	maxprocs, own := machine(16), machine(16)
	maxprocs.goVersion.Automaxprocs, own.setsProcs = true, true
	blindOwn := blind
	blindOwn.setsProcs = true
	with := func(env plan.Env) choice {
		c := machine(16)
		c.env = env
		return c
	}
	for _, c := range []struct {
		name, flags string
		choice      choice
		want        []string
	}{
		{"default and snug are the same", "--cpus 1 --gomaxprocs 1,8", machine(16),
			[]string{"q1 default+snug", "q1 P1", "q1 P8"}},
		{"what the runtime chooses is the default", "--cpus 1 --gomaxprocs 1,2,8", machine(16),
			[]string{"q1 default+snug", "q1 P1", "q1 P8"}},
		{"also beside another knob", "--cpus 1 --gomaxprocs 1,2 --gogc 50", machine(16),
			[]string{"q1 default+snug", "q1 P1 GC50", "q1 GC50"}},
		{"what the runtime chooses is not known", "--cpus 1 --gomaxprocs 2", unknown,
			[]string{"q1 default+snug", "q1 P2"}},
		{"a runtime that does not look at quotas", "--cpus 1 --gomaxprocs 2,16", blind,
			[]string{"q1 default", "q1 P2 snug"}},
		{"automaxprocs, which chooses another number than Go", "--cpus 1 --gomaxprocs 1,2", maxprocs,
			[]string{"q1 default", "q1 P2 snug", "q1 P1"}},
		{"automaxprocs below one core", "--cpus 0.5 --gomaxprocs 2", maxprocs,
			[]string{"q0.5 default", "q0.5 P1 snug", "q0.5 P2"}},
		{"automaxprocs, and the same number", "--cpus 2 --gomaxprocs 2 --gogc default,400", maxprocs,
			[]string{"q2 default+snug", "q2 P2", "q2 P2 GC400"}},
		{"its own code may set it", "--cpus 1 --gomaxprocs 2", own, []string{"q1 default+snug", "q1 P2"}},
		{"its own code may set it, and its Go does not look at quotas", "--cpus 16 --gomaxprocs 16", blindOwn,
			[]string{"q16 default", "q16 P16 snug"}},
		{"the default by name", "--cpus 1 --gomaxprocs default,4", machine(16),
			[]string{"q1 default+snug", "q1 P4"}},
		{"GOGC of 100 is a setting of its own", "--cpus 1 --gogc 100,default,off", machine(16),
			[]string{"q1 default+snug", "q1 GC100", "q1 GCoff"}},
		{"knobs are crossed, the last varies first", "--cpus 1 --gomaxprocs 1,4 --gogc 50,200 --gomemlimit 64MiB,off", machine(16),
			[]string{"q1 default+snug",
				"q1 P1 GC50 L64MiB", "q1 P1 GC50 Loff", "q1 P1 GC200 L64MiB", "q1 P1 GC200 Loff",
				"q1 P4 GC50 L64MiB", "q1 P4 GC50 Loff", "q1 P4 GC200 L64MiB", "q1 P4 GC200 Loff"}},
		{"containers and loads in the order given", "--cpus 2,0.5 --load saturated,50% --gomaxprocs 4", machine(16),
			[]string{"saturated q2 default+snug", "saturated q2 P4", "50% q2 default+snug", "50% q2 P4",
				"saturated q0.5 default", "saturated q0.5 P1 snug", "saturated q0.5 P4", "50% q0.5 default", "50% q0.5 P1 snug", "50% q0.5 P4"}},
		{"twice the same is once", "--cpus 1,1000m --gomaxprocs 4,04 --gogc 50,50 --load 50%,50.0%", machine(16),
			[]string{"50% q1 default+snug", "50% q1 P4 GC50"}},
		{"no swept knob", "--cpus 1", machine(16), []string{"q1 default+snug"}},
		{"percent are of the memory limit", "--cpus 1 --memory 200MiB,400MiB --gomemlimit 50%,50%-10MiB", machine(16),
			[]string{"q1 m200 default", "q1 m200 L180MiB snug", "q1 m200 L100MiB", "q1 m200 L90MiB",
				"q1 m400 default", "q1 m400 L360MiB snug", "q1 m400 L200MiB", "q1 m400 L190MiB"}},
		{"snug's memory limit by another name", "--cpus 1 --memory 200MiB --gomemlimit 90%,180MiB,188743680", machine(16),
			[]string{"q1 m200 default", "q1 m200 L180MiB snug"}},
		{"memory that is no number of MiB", "--cpus 1 --memory 100MiB --gomemlimit 1000000", machine(16),
			[]string{"q1 m100 default", "q1 m100 L90MiB snug", "q1 m100 L1000000B"}},
		{"the operator's setting", "--cpus 1 --gomaxprocs 4", with(plan.Env{GOMAXPROCS: "4", GOGC: "50"}),
			[]string{"q1 default+snug", "q1 P4 GC50 current", "q1 P4"}},
		{"the operator's setting is the default", "--cpus 1 --gomaxprocs 4", with(plan.Env{GOMAXPROCS: "2"}),
			[]string{"q1 default+current+snug", "q1 P4"}},
		{"the operator's setting is snug's", "--cpus 1 --memory 200MiB", with(plan.Env{GOMEMLIMIT: "188743680"}),
			[]string{"q1 m200 default", "q1 m200 L180MiB current+snug"}},
		{"the operator's setting is swept", "--cpus 1 --gomemlimit 1024MiB", with(plan.Env{GOMEMLIMIT: "1GiB"}),
			[]string{"q1 default+snug", "q1 L1024MiB current"}},
		{"the operator's setting is nonsense", "--cpus 1 --gomemlimit 1GiB", with(plan.Env{GOMEMLIMIT: "1.0GiB"}),
			[]string{"q1 default+snug", "q1 L1.0GiB current", "q1 L1024MiB"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			arms, err := parsed(t, c.flags).Sweep.arms(&c.choice)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			seen := map[finding.Arm]bool{}
			for _, a := range arms {
				got = append(got, brief(a.Arm, a.Labels))
				if a.Labels == nil {
					t.Errorf("%s: labels are null", brief(a.Arm, nil))
				}
				if seen[a.Arm] {
					t.Errorf("%s is there twice", brief(a.Arm, a.Labels))
				}
				seen[a.Arm] = true
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(c.want, "\n  "))
			}
		})
	}
}

// parsed returns a bench with these flags, not yet completed.
func parsed(t *testing.T, flags string) *Bench {
	t.Helper()
	b := &Bench{}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	b.Sweep.AddLimits(fs)
	b.Sweep.AddKnobs(fs)
	flagvalue.DefineList(fs, "load", "", "", ParseLoad, &b.Sweep.Loads)
	flagvalue.DefineList(fs, "workload", "", "", func(text string) (string, bool) { return text, true }, &b.Sweep.Workloads)
	b.Add(fs)
	fs.BoolVar(&b.Trace, "trace", false, "")
	fs.BoolVar(&b.Full, "full", false, "")
	fs.BoolVar(&b.Check, "check", false, "")
	b.AddUsers(fs)
	if err := fs.Parse(strings.Fields(flags)); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestArmsThatCannotBe(t *testing.T) {
	c := machine(16)
	for flags, want := range map[string]string{
		"--gomemlimit 90%":                             "--gomemlimit: a percentage without a limit",
		"--gomemlimit 10%-100MiB --memory 512MiB":      "--gomemlimit: nothing is left of 512 MiB",
		"--cpus 1 --memory 1GiB --gomemlimit 50%,0.1%": "",
	} {
		s := parsed(t, flags).Sweep
		for _, err := range []error{s.check(&choice{}), func() error { _, err := s.arms(&c); return err }()} {
			if got := fmt.Sprint(err); err == nil && want != "" || err != nil && got != want {
				t.Errorf("%s: %v, want %q", flags, err, want)
			}
		}
	}
}

func TestParseLoad(t *testing.T) {
	for _, c := range []struct {
		text  string
		ok    bool
		share float64 // of capacity; 0 is none
		rate  float64
	}{
		{"saturated", true, 0, 0},
		{"80%", true, 0.8, 0},
		{"0.5%", true, 0.005, 0},
		{"120%", true, 1.2, 0},
		{"800/s", true, 0, 800},
		{"0.5/s", true, 0, 0.5},
		{"0%", false, 0, 0}, {"-5%", false, 0, 0}, {"NaN%", false, 0, 0}, {"Inf/s", false, 0, 0}, {"1000001/s", false, 0, 0},
		{"80", false, 0, 0}, {"%", false, 0, 0}, {"/s", false, 0, 0}, {"", false, 0, 0}, {"80 %", false, 0, 0}, {"batch", false, 0, 0},
	} {
		load, ok := ParseLoad(c.text)
		if ok != c.ok {
			t.Errorf("%q: %v", c.text, ok)
		}
		if !ok {
			continue
		}
		share, isShare := percentOf(load)
		if isShare != (c.share > 0) || share != c.share || rateOf(load) != c.rate {
			t.Errorf("%q: share %g, rate %g; want %g, %g", c.text, share, rateOf(load), c.share, c.rate)
		}
	}
}

func TestFit(t *testing.T) {
	for _, c := range []struct {
		name   string
		choice choice
		cpus   float64
		memory int64
		knobs  finding.Knobs
		procs  int
	}{
		{"quota", machine(16), 4, 0, finding.Knobs{}, 4},
		{"fraction", machine(16), 2.5, 0, finding.Knobs{}, 3},
		{"above the machine", machine(2), 4, 0, finding.Knobs{}, 2},
		{"no limit", machine(16), 0, 0, finding.Knobs{}, 16},
		{"memory", machine(16), 1, 200 << 20, finding.Knobs{GOMEMLIMIT: "180MiB"}, 2},
	} {
		k, procs := c.choice.fit(c.cpus, c.memory)
		if k != c.knobs || procs != c.procs {
			t.Errorf("%s: %+v, %d; want %+v, %d", c.name, k, procs, c.knobs, c.procs)
		}
	}
	c := machine(16)
	c.limits.CPU.Levels = make([]limits.CPULevel, 1, 8)
	before := fmt.Sprint(c.limits)
	c.fit(1, 1<<30)
	c.fit(2, 1<<20)
	if after := fmt.Sprint(c.limits); after != before {
		t.Errorf("the limits have changed: %s", after)
	}
}
