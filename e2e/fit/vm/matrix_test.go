// SPDX-License-Identifier: Apache-2.0

package vm_test

import (
	"path"
	"slices"
	"testing"

	"github.com/snug-go/snug/e2e/fit/vm"
	"github.com/snug-go/snug/e2e/fit/vm/wire"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/matrix"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// v2 is the machine that most tests share.
var v2 = vm.Kind{CPUs: 4}

func TestMatrixOn4CPUs(t *testing.T) {
	gate.Need(t, "vm")
	m := matrix.Machine{CPUs: 4, V2: true, Slow: true}
	testMatrix(t, m, m.Situations(), []programs.Program{auto}, matrix.Answers)
}

// TestWholeMatrixOn4CPUs runs the table with the programs that TestMatrixOn4CPUs leaves out.
func TestWholeMatrixOn4CPUs(t *testing.T) {
	gate.Need(t, "machines")
	m := matrix.Machine{CPUs: 4, V2: true, Slow: true}
	others := slices.DeleteFunc(programs.All(), func(p programs.Program) bool { return p == auto })
	testMatrix(t, m, m.Situations(), others, nil)
}

// TestMatrixOn24CPUs leaves out cases that do not depend on the number of CPUs.
func TestMatrixOn24CPUs(t *testing.T) {
	gate.Need(t, "machines")
	m := matrix.Machine{CPUs: 24, V2: true, Slow: true}
	situations := slices.DeleteFunc(m.Situations(), func(s matrix.Situation) bool { return s.Quota == 0 && s.Hard+s.Soft != 0 })
	testMatrix(t, m, situations, programs.Few(), matrix.Answers)
}

// TestMatrixOnV1 runs the table on cgroup v1, with more CPUs than the development machines have and
// with another kernel.
func TestMatrixOnV1(t *testing.T) {
	gate.Need(t, "machines")
	m := matrix.Machine{CPUs: 4, Slow: true}
	testMatrix(t, m, m.Situations(), programs.Few(), matrix.Answers)
}

func testMatrix(t *testing.T, m matrix.Machine, situations []matrix.Situation, all []programs.Program, answers map[string][]string) {
	spec := vm.Spec{Kind: vm.Kind{CPUs: m.CPUs}, Files: files(t, all)}
	if !m.V2 {
		spec.Hierarchy = wire.V1
	}
	// checks holds a check for the result of each step.
	var checks []func(*testing.T, matrix.Outcome)
	add := func(s matrix.Situation, name string, args, env []string, check func(*testing.T, matrix.Outcome)) {
		step := vm.Step{Name: name, Args: args, Env: env, Uid: 65532}
		step.Cgroup, step.In = place(m, s)
		spec.Steps = append(spec.Steps, step)
		checks = append(checks, check)
	}
	for _, c := range m.Cases(situations, all) {
		add(c.Situation, c.Name(), c.Args(guestPath), c.Env(), func(t *testing.T, o matrix.Outcome) { c.Check(t, m, o) })
	}
	for _, s := range situations {
		for name, args := range answers {
			add(s, s.Name+"/snug "+name, slices.Concat([]string{guestPath("snug")}, args), nil, func(t *testing.T, o matrix.Outcome) { s.CheckAnswer(t, m, name, o) })
		}
	}
	for i, r := range vm.Run(t, spec) {
		t.Run(r.Name, func(t *testing.T) {
			if r.Err != "" {
				t.Fatal(r.Err)
			}
			checks[i](t, matrix.Outcome{Exit: r.Exit, Signal: r.Signal, Stdout: r.Stdout, Stderr: r.Stderr})
		})
	}
}

// place returns the groups of a situation in the form of steps.
func place(m matrix.Machine, s matrix.Situation) (groups, []string) {
	if m.V2 {
		made, in := s.V2()
		return made, []string{in}
	}
	made := groups{}
	var in []string
	controllers, inner := s.V1("0-3", "0")
	for c, paths := range controllers {
		for p, files := range paths {
			made[path.Join("/", c, p)] = files
		}
		in = append(in, path.Join("/", c, inner))
	}
	return made, in
}
