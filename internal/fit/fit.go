// SPDX-License-Identifier: Apache-2.0

// Package fit is what every way to fit a process has in common: to read the
// operator's variables and the container's limits, to decide, and to say so on
// standard error where that was asked for.
package fit

import (
	"os"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Decide decides for this process. in holds what the program wants, and now
// tells what it uses; the rest Decide finds out itself. The operator's SNUG_*
// variables win. With plan.Disable nothing was read, now was not asked, and there
// is no plan.
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

// blind reports whether the runtime does not look at quotas: GODEBUG, or a go line of the
// program before 1.25, switch that off. A number of Ps that is the runtime's own choice
// shows it.
func blind(in *plan.Input) bool {
	n := &in.Now
	return n.Procs == n.NumCPU && n.OwnProcs == 0 && in.Env.GOMAXPROCS == "" && plan.RuntimeProcs(&in.Limits.CPU, in.Go) != n.Procs
}

// RunVariable names the variable in which `snug run` lists the variables of Go
// that it has set, see plan.OfRun.
const RunVariable = "SNUG_RUN"

// operators is a variable of Go that the operator has set. One that `snug run` has set,
// and that still has its value, is snug's: apply takes the knob over.
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

// InTest reports whether this is a test binary, by the name that go test gives
// it. To ask package testing would link it.
func InTest() bool {
	return len(os.Args) > 0 && (strings.HasSuffix(os.Args[0], ".test") || strings.HasSuffix(os.Args[0], ".test.exe"))
}

// logging reports whether SNUG_LOG asks for lines on standard error.
func logging() bool {
	on, _ := plan.ParseSwitch(os.Getenv("SNUG_LOG"))
	return on
}

// Complain prints one line to standard error for each variable that makes no sense or
// that nothing reads, whether SNUG_LOG is set or not: an operator who believes that
// snug is off, or bounded, has to see that it is not.
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
		if n++; n <= mostComplaints {
			b.add(what, "", "", "")
		}
	}
	if n > mostComplaints {
		b.add("and "+strconv.Itoa(n-mostComplaints)+" variables more", "", "", "")
	}
	Emit(string(b))
}

// complaint is what Complain says of a warning; "" where that is not about a variable.
func complaint(w *limits.Warning) string {
	what := " makes no sense, and is ignored"
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

// mostComplaints is how many variables are complained of one by one, and mostText how
// many bytes of each are shown.
const (
	mostComplaints = 5
	mostText       = 80
)

func clip(text string) string {
	if len(text) > mostText {
		return text[:mostText] + "..."
	}
	return text
}

// Say prints one line to standard error, whether SNUG_LOG is set or not.
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

// add adds a line: a code, and the file it comes from where there is one. What
// a variable or a path holds must not act on a terminal or pass for a line.
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
