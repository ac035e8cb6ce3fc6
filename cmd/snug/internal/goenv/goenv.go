// SPDX-License-Identifier: Apache-2.0

// Package goenv makes of a plan the environment variables that a Go program is started with.
package goenv

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
)

// A variable is one to be set for the command.
type Variable struct{ Name, Value string }

// Variables are those that help: every knob that was decided on, but GOMAXPROCS
// only where the command would use another number by itself, or crash. own reports whether
// its own code sets GOMAXPROCS; code that does so as a default honours the variable. Where
// the runtime follows the quota, the variable would end that, for code that may never run.
func Variables(in *plan.Input, p *plan.Plan, own func() bool) []Variable {
	var set []Variable
	s := p.GOMAXPROCS
	if p.Runtime == plan.Crash && s.Leave && s.Code != plan.EnvSet {
		if cpus, ok := in.Limits.CPU.Affinity.Get(); ok {
			s = plan.Setting{Value: int64(cpus)}
		}
	}
	inside := int64(plan.Automaxprocs(&in.Limits.CPU, in.Go)) // it honours the variable
	if !s.Leave && (s.Value != int64(p.Runtime) || inside != 0 && s.Value != inside || s.Code == plan.Explicit || in.Go.Blind && own()) {
		set = append(set, Variable{"GOMAXPROCS", strconv.FormatInt(s.Value, 10)})
	}
	add := func(name string, s *plan.Setting, off int64) {
		switch {
		case s.Leave:
		case s.Value == off:
			set = append(set, Variable{name, "off"})
		default:
			set = append(set, Variable{name, strconv.FormatInt(s.Value, 10)})
		}
	}
	add("GOMEMLIMIT", &p.GOMEMLIMIT, plan.NoMemLimit)
	add("GOGC", &p.GOGC, plan.Off)
	return set
}

// Setenv is env with one variable set. Of several with the same name the first
// counts in C and the last in Go: none of them stays.
func Setenv(env []string, name, value string) []string {
	return append(Unsetenv(env, name), name+"="+value)
}

func Unsetenv(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}
