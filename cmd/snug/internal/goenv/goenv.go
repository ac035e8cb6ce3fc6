// SPDX-License-Identifier: Apache-2.0

// Package goenv turns a plan into the environment variables to start a Go program with.
package goenv

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
)

// Variable is an environment variable to set for the command.
type Variable struct{ Name, Value string }

// Variables returns the variables to set: one for each setting that the plan decides. It sets
// GOMAXPROCS only if the command would otherwise use another number or crash. own reports
// whether the command's own code sets GOMAXPROCS. Code that sets it as a default leaves a
// variable alone. own is asked only if the runtime does not follow the quota: otherwise the
// variable would stop the runtime from following it, for code that may never run.
func Variables(in *plan.Input, p *plan.Plan, own func() bool) []Variable {
	var set []Variable
	s := p.GOMAXPROCS
	if p.Runtime == plan.Crash && s.Leave && s.Code != plan.EnvSet {
		if cpus, ok := in.Limits.CPU.Affinity.Get(); ok {
			s = plan.Setting{Value: int64(cpus)}
		}
	}
	// automaxprocs leaves GOMAXPROCS alone if the variable is set
	inside := int64(plan.Automaxprocs(&in.Limits.CPU, in.Go))
	if !s.Leave && (s.Value != int64(p.Runtime) || inside != 0 && s.Value != inside || s.Code == plan.Explicit ||
		in.Go.Blind && own()) {
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

// Setenv returns env with one variable set. Of several variables with the same name the first
// counts in C and the last in Go, so Setenv removes all of them first.
func Setenv(env []string, name, value string) []string {
	return append(Unsetenv(env, name), name+"="+value)
}

// Unsetenv returns env without a variable.
func Unsetenv(env []string, name string) []string {
	out := make([]string, 0, len(env)+1)
	for _, kv := range env {
		if !strings.HasPrefix(kv, name+"=") {
			out = append(out, kv)
		}
	}
	return out
}
