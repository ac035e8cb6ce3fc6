// SPDX-License-Identifier: Apache-2.0

// Package matrix holds one table of container situations and the values of the knobs that programs
// must have there, for machines with cgroup v1 and v2. It makes no cgroup and starts no program.
package matrix

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/programs"
)

// Case is one program, started in one way, in one situation.
type Case struct {
	Situation Situation
	Program   programs.Program
	Run       bool // started by "snug run --"
	Least     bool // with SNUG_MIN_PROCS=1
}

// Name returns a unique name.
func (c Case) Name() string {
	return c.Situation.Name + "/" + c.Program.Name() + "/" + c.Start()
}

// Start names how the program is started.
func (c Case) Start() string {
	start := "direct"
	if c.Run {
		start = "snug run"
	}
	if c.Least {
		start += ", minimum 1"
	}
	return start
}

// Env returns the complete environment.
func (c Case) Env() []string {
	if c.Least {
		return []string{"SNUG_MIN_PROCS=1"}
	}
	return nil
}

// Args returns the command line; paths maps the names of programs to their paths there.
func (c Case) Args(paths func(name string) string) []string {
	args := []string{paths(c.Program.Name())}
	if c.Run {
		args = append([]string{paths("snug"), "run", "--"}, args...)
	}
	return args
}

// Machine is a machine that runs cases.
type Machine struct {
	CPUs int // 2, 4 or 24
	V2   bool
	Slow bool // skip cases that add little
}

// Situations returns the situations that the machine can have.
func (m Machine) Situations() []Situation {
	return slices.DeleteFunc(slices.Clone(table), func(s Situation) bool {
		return s.MinCPUs > m.CPUs || s.OnlyV2 && !m.V2
	})
}

// Cases returns every program in every situation, started directly and by snug run. If a lower
// minimum makes a difference, programs without peers run once more with it. Programs with peers are
// left out if an overflow in a peer would decide the result.
func (m Machine) Cases(situations []Situation, all []programs.Program) []Case {
	few := programs.Few()
	var cases []Case
	for _, s := range situations {
		for _, p := range all {
			if m.Slow && s.Alike && !slices.Contains(few, p) {
				continue
			}
			if p.LinksPeers() && s.Quota > 1<<31 {
				continue
			}
			cases = append(cases, Case{s, p, false, false}, Case{s, p, true, false})
			switch {
			case !s.One || p.LinksPeers():
			case p.Kind == programs.Auto:
				cases = append(cases, Case{s, p, false, true})
			default:
				cases = append(cases, Case{s, p, true, true})
			}
		}
	}
	return cases
}

// Outcome is the exit and output of a program.
type Outcome struct {
	Exit           int
	Signal         string
	Stdout, Stderr string
}

// Report is the output of the probe.
type Report struct {
	Go         string            `json:"go"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GOMEMLIMIT int64             `json:"gomemlimit_bytes"`
	NumCPU     int               `json:"num_cpu"`
	Pid        int               `json:"pid"`
	Args       []string          `json:"args"`
	Env        map[string]string `json:"env"`
	Cgroup     string            `json:"cgroup"`
	Plan       json.RawMessage   `json:"plan"`
}

// Report parses the output of a probe.
func (o Outcome) Report() (Report, error) {
	var r Report
	if o.Exit != 0 || o.Signal != "" {
		return r, fmt.Errorf("exit code %d, signal %q, stderr: %s", o.Exit, o.Signal, o.Stderr)
	}
	if err := json.Unmarshal([]byte(o.Stdout), &r); err != nil {
		return r, fmt.Errorf("%w in %q, stderr: %s", err, o.Stdout, o.Stderr)
	}
	return r, nil
}

// On returns the number for a machine with this many CPUs.
func (p Procs) On(cpus int) int {
	i := slices.Index(columns[:], cpus)
	if i < 0 {
		panic(fmt.Sprintf("the table has no column for %d CPUs", cpus))
	}
	return p[i]
}

// affinity returns the number of CPUs that a program in the situation may run on.
func (s Situation) affinity(cpus int) int {
	for _, l := range slices.Backward(s.Levels) {
		if l.CPUs != "" {
			n := 0
			for part := range strings.SplitSeq(l.CPUs, ",") {
				first, last, isRange := strings.Cut(part, "-")
				if !isRange {
					last = first
				}
				n += int(last[0]-first[0]) + 1 // CPU numbers in the table have one digit
			}
			return n
		}
	}
	return cpus
}

// want returns the expected knobs on a machine with this many CPUs, given the environment that the
// program reports.
func (c Case) want(cpus int, env map[string]string) (procs int, memory int64) {
	s := c.Situation
	sized := c.Run || c.Program.LinksSnug()
	switch {
	case sized && c.Least:
		procs = 1
	case sized:
		procs = s.Snug.On(cpus)
	case c.Program.ReadsQuota():
		procs = s.Runtime.On(cpus)
	default:
		procs = s.affinity(cpus)
	}
	memory = Unset
	if sized && s.Memory != 0 {
		memory = s.Memory
	}
	if c.Program.LinksPeers() {
		return c.peers(cpus, procs, memory, env)
	}
	return procs, memory
}

// peers is want for a program that also links automaxprocs and automemlimit, which do not change
// what the environment sets.
func (c Case) peers(cpus, procs int, memory int64, env map[string]string) (int, int64) {
	s := c.Situation
	first := c.Program.Kind == programs.Before // snug runs before the peers
	if s.PeerProcs != 0 && env["GOMAXPROCS"] == "" {
		// After the peers, snug keeps their GOMAXPROCS, unless the runtime would have chosen the
		// same number: then it looks unset.
		runtimes := s.PeerProcs == s.affinity(cpus) || s.PeerProcs == s.Runtime.On(cpus)
		if first || !runtimes {
			procs = s.PeerProcs
		}
	}
	if env["GOMEMLIMIT"] == "" {
		switch {
		case s.PeerMemory != 0:
			memory = s.PeerMemory
		case first:
			memory = Unset // automemlimit resets a limit that it has no reason for
		}
	}
	return procs, memory
}

// Check compares an outcome with the table, and checks that the program was in its group.
func (c Case) Check(t *testing.T, m Machine, o Outcome) {
	t.Helper()
	r, ok := c.Compare(t, m, o)
	if !ok {
		return
	}
	groups := 3 // cpu, cpuset and memory
	if m.V2 {
		groups = 1
	}
	if in := path(len(c.Situation.Levels) - 1); strings.Count(r.Cgroup, in+"\n") < groups {
		t.Errorf("the program is not in the group %s: %q", in, r.Cgroup)
	}
}

// Compare compares an outcome with the table. If the runtime itself crashes, it must be the known
// crash: otherwise the table is out of date. ok is false without a report, expected or not.
func (c Case) Compare(t *testing.T, m Machine, o Outcome) (r Report, ok bool) {
	t.Helper()
	if c.Situation.Crash && !c.Run && c.Program.ReadsQuota() {
		if o.Exit != 2 || !strings.Contains(o.Stderr, "procresize: invalid arg") {
			t.Errorf("the runtime did not crash: exit code %d, stdout %s, stderr %s", o.Exit, o.Stdout, o.Stderr)
		}
		return r, false
	}
	r, err := o.Report()
	if err != nil {
		t.Error(err)
		return r, false
	}
	if n := c.Situation.affinity(m.CPUs); r.NumCPU != n {
		t.Errorf("%d CPUs inside, want %d: the program is not confined", r.NumCPU, n)
	}
	procs, memory := c.want(m.CPUs, r.Env)
	if r.GOMAXPROCS != procs || r.GOMEMLIMIT != memory {
		t.Errorf("GOMAXPROCS %d, want %d; GOMEMLIMIT %d, want %d; environment %v; stderr %s",
			r.GOMAXPROCS, procs, r.GOMEMLIMIT, memory, slices.Sorted(pairs(r.Env)), o.Stderr)
	}
	if r.Go != c.Program.Toolchain {
		t.Errorf("built by %s, want %s", r.Go, c.Program.Toolchain)
	}
	if c.Program.Kind == programs.Auto {
		if err := c.checkPlan(r); err != nil {
			t.Error(err)
		}
	}
	return r, true
}

func pairs(m map[string]string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k, v := range maps.All(m) {
			if !yield(k + "=" + v) {
				return
			}
		}
	}
}
