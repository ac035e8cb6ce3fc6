// SPDX-License-Identifier: Apache-2.0

// Package fit contains the steps common to every way of fitting a process: read the operator's
// variables and the container's limits, decide, and log to standard error if asked to.
package fit

import (
	"math"
	"os"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Decide decides for this process. in holds the program's policy and hints, which the operator's
// SNUG_* variables override; now returns the current values, given an upper bound of the live heap;
// Decide reads everything else. f has read the limits and can go on: the caller closes it. It is nil on
// systems other than Linux. With plan.Disable Decide reads nothing, does not call now, and returns no
// plan and no f.
func Decide(in *plan.Input, now func(live int64) plan.Now) (p *plan.Plan, f *limits.Follower, mode plan.Mode) {
	mode, in.Warnings = plan.ReadEnv(os.Getenv, &in.Policy, &in.Hints)
	if mode == plan.Disable {
		return nil, nil, mode
	}
	in.Warnings = append(in.Warnings, plan.UnknownNames(os.Environ())...)
	in.Env.GOMAXPROCS = operators("GOMAXPROCS")
	in.Env.GOMEMLIMIT = operators("GOMEMLIMIT")
	in.Env.GOGC = os.Getenv("GOGC")
	in.Go.Minor, in.Go.Space = goMinor, addressSpace()
	f, err := limits.Follow()
	if err != nil { // not Linux
		return plan.Nothing(plan.NotSupported), nil, mode
	}
	f.Read(&in.Limits)
	in.Others = Others(&in.Limits)
	in.Now = now(f.Anonymous(plan.MinValue))
	in.Go.Blind = blind(in)
	return plan.Choose(in), f, mode
}

// blind reports whether the runtime ignores quotas, because of GODEBUG or a go line of the program
// below 1.25. It infers this from a GOMAXPROCS that the runtime chose.
func blind(in *plan.Input) bool {
	n := &in.Now
	return n.Procs == n.NumCPU && n.OwnProcs == 0 && in.Env.GOMAXPROCS == "" &&
		plan.RuntimeProcs(&in.Limits.CPU, in.Go) != n.Procs
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

// logging reports whether SNUG_LOG asks for lines on standard error, and whether in JSON.
//
//go:noinline
func logging() (on, json bool) {
	on, json, _ = plan.ParseLog(os.Getenv("SNUG_LOG"))
	return on, json
}

// Complain prints one line to standard error for each invalid or unknown variable, whether or not
// SNUG_LOG is set: an operator who meant to turn snug off, or to bound it, must see that it had no
// effect.
func Complain(bad []limits.Warning) {
	if len(bad) == 0 {
		return
	}
	b := newLines()
	n := 0
	for i := range bad {
		if complaint(&bad[i]) == "" {
			continue
		}
		if n++; n <= maxComplaints {
			b.warning(&bad[i])
		}
	}
	if n > maxComplaints {
		b.add("", `warning","text`, "and "+strconv.Itoa(n-maxComplaints)+" more variables", "", "")
	}
	Emit(b.text)
}

// complaint returns Complain's line for a warning, or "" if it is not about a variable.
func complaint(w *limits.Warning) string {
	switch w.Code {
	case plan.EnvInvalid:
		return clip(w.File+"="+w.Raw) + " is invalid, and is ignored"
	case plan.EnvUnknown:
		what := clip(w.File) + " is not a variable of snug, and is ignored"
		if near := plan.NearestName(w.File); near != "" {
			what += ": " + near + " is"
		}
		return what
	}
	return ""
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

// Say prints one line to standard error, whether or not SNUG_LOG is set. kind names it in SNUG_LOG=json.
func Say(kind, text string) {
	b := newLines()
	b.add("", kind+`","text`, text, "", "")
	Emit(b.text)
}

// Log prints one line per decision and warning to standard error, if SNUG_LOG asks for it, and
// reports whether it did. A mount that failed beside one that answered is left out: it changes no
// figure.
func Log(in *plan.Input, p *plan.Plan, did apply.Result) bool {
	if on, _ := logging(); !on {
		return false
	}
	b := newLines()
	b.setting("GOMAXPROCS", &p.GOMAXPROCS, did.GOMAXPROCS)
	b.setting("GOMEMLIMIT", &p.GOMEMLIMIT, did.GOMEMLIMIT)
	for i := range p.Warnings {
		b.warning(&p.Warnings[i])
	}
	for i := range in.Limits.Gaps {
		if g := &in.Limits.Gaps[i]; !g.Redundant {
			b.add("unknown: ", `unknown","field`, g.Field, g.File, g.Why)
		}
	}
	Emit(b.text)
	return true
}

// Sealed prints one line to standard error, if SNUG_LOG asks for it: see limits.Sealed.
func Sealed() {
	note("moves to another cgroup are no longer followed: seccomp was tightened, or the program has closed files that " +
		"it did not open")
}

// Few returns limits.Follower.Few and, if that or limits.Uncounted is true, prints one line to standard
// error, if SNUG_LOG asks for it.
func Few(f *limits.Follower) bool {
	few := f.Few()
	if few {
		note("limits are not followed: the process may have fewer than 64 open files")
	} else if limits.Uncounted() {
		note("moves to another cgroup are not followed: Linux before 5.9 does not show whether seccomp is tightened")
	}
	return few
}

func note(text string) {
	if on, _ := logging(); on {
		Say("note", text)
	}
}

// LogRun is Log for `snug run`, which sets some variables or, if dry, would.
func LogRun(in *plan.Input, p *plan.Plan, sets map[string]bool, dry bool) {
	did := map[bool]apply.Did{true: apply.Set}
	if dry {
		did[true] = apply.Would
	}
	Log(in, p, apply.Result{GOMAXPROCS: did[sets["GOMAXPROCS"]], GOMEMLIMIT: did[sets["GOMEMLIMIT"]]})
	LogSetting("GOGC", &p.GOGC, did[sets["GOGC"]])
}

// LogSetting prints one decision to standard error if SNUG_LOG asks for it.
func LogSetting(name string, s *plan.Setting, did apply.Did) {
	if on, _ := logging(); on {
		b := newLines()
		b.setting(name, s, did)
		Emit(b.text)
	}
}

// LogPressure prints one line to standard error if SNUG_LOG asks for it. effective is in percent.
func LogPressure(level string, effective float64) {
	percent := strconv.FormatFloat(max(0, min(effective, math.MaxInt32)), 'f', 1, 64) // JSON has no +Inf
	switch on, json := logging(); {
	case json:
		Emit(`{"snug":"pressure","level":"` + level + `","effective_gogc_percent":` + percent + "}\n")
	case on:
		Emit("snug: memory pressure: " + level + ", effective GOGC " + percent + "\n")
	}
}

// lines are lines for standard error, as text or as JSON.
type lines struct {
	text string
	json bool
}

func newLines() (b lines) {
	_, b.json = logging()
	return b
}

func (b *lines) setting(name string, s *plan.Setting, did apply.Did) {
	done, left := did.String(), " left alone: "
	if s.Leave && did == apply.Set {
		done, left = "restored", " given back: "
	}
	head, value := name+left, ""
	if !s.Leave {
		value = strconv.FormatInt(s.Value, 10)
		head = name + "=" + value + " (" + done + "): "
		value = `,"value":` + value
	}
	if b.json {
		head = `decision","knob":"` + name + `"` + value + `,"did":"` + done + `","reason`
	}
	b.add(head, head, s.Code, s.Source.File, s.Source.Raw)
}

func (b *lines) warning(w *limits.Warning) {
	if what := complaint(w); what != "" && !b.json {
		b.add("", "", what, "", "")
		return
	}
	b.add("warning: ", `warning","code`, w.Code, w.File, w.Raw)
}

// add appends a line: a code, and its file if it has one. head begins its text, and object its
// object up to the name of the code.
//
// JSON has no time: what collects standard error adds it. It is shorter than 4096 bytes, so that a
// pipe takes all of a line or nothing.
//
//go:noinline
func (b *lines) add(head, object, code, file, text string) {
	start, mid, why, end := "snug: ", ", ", "", "\n"
	if file != "" {
		why = ": "
	}
	if b.json {
		if start, mid, why, end = `{"snug":"`, `","file":"`, `","raw":"`, "\"}\n"; object[0] == 'u' {
			why = `","why":"`
		}
		head = object + `":"`
	}
	b.put(start+head, code)
	if file != "" {
		b.put(mid, file)
	}
	if text != "" {
		b.put(why, text)
	}
	b.put(end, "")
}

// put appends a text, and one that may be of any bytes: the value of a variable or path must not
// control a terminal, forge a line or end a string of JSON. It cuts that to about 1000 bytes.
//
//go:noinline
func (b *lines) put(fixed, foreign string) {
	const enough = 1000
	var line [enough + 8]byte
	n := 0
	for i := range len(foreign) {
		if n > enough {
			n += copy(line[n:], "...")
			break
		}
		c := foreign[i]
		if c < ' ' || c > '~' {
			c = '?'
		}
		if b.json && (c == '"' || c == '\\') {
			line[n] = '\\'
			n++
		}
		line[n] = c
		n++
	}
	b.text += fixed + string(line[:n])
}
