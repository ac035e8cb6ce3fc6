// SPDX-License-Identifier: Apache-2.0

// Package fit contains the steps common to every way of fitting a process: read the operator's
// variables and the container's limits, decide, and log to standard error if asked to.
package fit

import (
	"os"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Decide decides for this process. in holds the program's policy and hints, which the operator's
// SNUG_* variables override; now returns the current values; Decide reads everything else. With
// plan.Disable it reads nothing, does not call now, and returns no plan.
func Decide(in *plan.Input, now func() plan.Now) (*plan.Plan, plan.Mode) {
	var mode plan.Mode
	mode, in.Warnings = plan.ReadEnv(os.Getenv, &in.Policy, &in.Hints)
	if mode == plan.Disable {
		return nil, mode
	}
	in.Warnings = append(in.Warnings, plan.UnknownNames(os.Environ())...)
	in.Env.GOMAXPROCS = operators("GOMAXPROCS")
	in.Env.GOMEMLIMIT = operators("GOMEMLIMIT")
	in.Env.GOGC = os.Getenv("GOGC")
	in.Go.Minor = goMinor
	f, err := limits.Follow()
	if err != nil { // not Linux
		return plan.Nothing(plan.NotSupported), mode
	}
	f.Read(&in.Limits)
	in.Others = Others(&in.Limits)
	in.Now = now()
	in.Go.Blind = blind(in)
	return plan.Decide(in), mode
}

// blind reports whether the runtime ignores quotas, because of GODEBUG or a go line of the program
// below 1.25. It infers this from a GOMAXPROCS that the runtime chose.
func blind(in *plan.Input) bool {
	n := &in.Now
	return n.Procs == n.NumCPU && n.OwnProcs == 0 && in.Env.GOMAXPROCS == "" && plan.RuntimeProcs(&in.Limits.CPU, in.Go) != n.Procs
}

// RunVariable is the variable in which `snug run` lists the variables of Go that it has set, see
// plan.OfRun.
const RunVariable = "SNUG_RUN"

// operators returns a variable of Go if the operator has set it. If `snug run` has set it and the
// knob still has that value, snug adopts the knob, and operators returns "".
func operators(name string) string {
	value := os.Getenv(name)
	if value == "" || !plan.OfRun(os.Getenv(RunVariable), name, value) {
		return value
	}
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && apply.Adopt(name, n) {
		return ""
	}
	return value
}

// InTest reports whether this is a test binary, by the name go test gives it. Package testing
// could tell, but would be linked.
func InTest() bool {
	return len(os.Args) > 0 && (strings.HasSuffix(os.Args[0], ".test") || strings.HasSuffix(os.Args[0], ".test.exe"))
}

// logging reports whether SNUG_LOG asks for lines on standard error.
func logging() bool {
	on, _ := plan.ParseSwitch(os.Getenv("SNUG_LOG"))
	return on
}

// Complain prints one line to standard error for each invalid or unknown variable, whether or not
// SNUG_LOG is set: an operator who meant to turn snug off, or to bound it, must see that it had no
// effect.
func Complain(bad []limits.Warning) {
	if len(bad) == 0 {
		return
	}
	var b lines
	n := 0
	for i := range bad {
		what := complaint(&bad[i])
		if what == "" {
			continue
		}
		if n++; n <= maxComplaints {
			b.add(what, "", "", "")
		}
	}
	if n > maxComplaints {
		b.add("and "+strconv.Itoa(n-maxComplaints)+" more variables", "", "", "")
	}
	Emit(string(b))
}

// complaint returns Complain's line for a warning, or "" if it is not about a variable.
func complaint(w *limits.Warning) string {
	what := " is invalid, and is ignored"
	switch w.Code {
	case plan.EnvInvalid:
	case plan.EnvUnknown:
		what = " is not a variable of snug, and is ignored"
		if near := plan.NearestName(w.File); near != "" {
			what += ": " + near + " is"
		}
	default:
		return ""
	}
	return clip(w.File+"="+w.Raw) + what
}

// maxComplaints is the number of variables reported one by one, and maxText the number of bytes
// shown of each.
const (
	maxComplaints = 5
	maxText       = 80
)

func clip(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "..."
	}
	return text
}

// Say prints one line to standard error, whether or not SNUG_LOG is set.
func Say(what, text string) {
	var b lines
	b.add(what, text, "", "")
	Emit(string(b))
}

// Log prints one line per decision and warning to standard error, if SNUG_LOG=1, and reports
// whether it did.
func Log(in *plan.Input, p *plan.Plan, did apply.Result) bool {
	if !logging() {
		return false
	}
	var b lines
	b.setting("GOMAXPROCS", &p.GOMAXPROCS, did.GOMAXPROCS)
	b.setting("GOMEMLIMIT", &p.GOMEMLIMIT, did.GOMEMLIMIT)
	for i := range p.Warnings {
		w := &p.Warnings[i]
		if what := complaint(w); what != "" {
			b.add(what, "", "", "")
			continue
		}
		b.add("warning: ", w.Code, w.File, w.Raw)
	}
	for i := range in.Limits.Unknown {
		g := &in.Limits.Unknown[i]
		b.add("unknown: ", g.Field, g.File, g.Why)
	}
	Emit(string(b))
	return true
}

// LogSetting prints one decision to standard error if SNUG_LOG=1.
func LogSetting(name string, s *plan.Setting, did apply.Did) {
	if logging() {
		var b lines
		b.setting(name, s, did)
		Emit(string(b))
	}
}

// LogPressure prints one line to standard error if SNUG_LOG=1.
func LogPressure(level string, effective float64) {
	if logging() {
		Emit("snug: memory pressure: " + level + ", effective GOGC " + strconv.FormatFloat(effective, 'f', 1, 64) + "\n")
	}
}

type lines string

func (b *lines) setting(name string, s *plan.Setting, did apply.Did) {
	head := name + " left alone: "
	switch {
	case s.Leave && did == apply.Set:
		head = name + " given back: "
	case !s.Leave:
		head = name + "=" + strconv.FormatInt(s.Value, 10) + " (" + did.String() + "): "
	}
	b.add(head, s.Code, s.Source.File, s.Source.Raw)
}

// add appends a line: a code, and its file if it has one. The value of a variable or path must not
// control a terminal or forge a line.
//
//go:noinline
func (b *lines) add(head, code, file, text string) {
	if file != "" {
		code += ", " + file + ": "
	}
	line := []byte("snug: " + head + code + text)
	for i, c := range line {
		if c < ' ' || c > '~' {
			line[i] = '?'
		}
	}
	*b += lines(line) + "\n"
}
