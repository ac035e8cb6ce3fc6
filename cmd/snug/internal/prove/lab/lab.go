// SPDX-License-Identifier: Apache-2.0

// Package lab runs the experiments of snug bench and snug tune, from the flags to the
// document. It validates the request, chooses the settings and loads to compare, and
// reports progress.
package lab

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Objectives are the values of --objective.
var Objectives = []string{experiment.Auto, "cpu", "rps", "p99", "wall", experiment.None}

// talk prints notes and the status line while an experiment runs.
type talk interface {
	Note(format string, args ...any)
	Status(text string)
}

// Lab is what `snug bench` and `snug tune` have in common: the program and its load, the
// cgroups, the record, and the reporting.
type Lab struct {
	Talk    talk
	Getenv  func(string) string
	Version string // of snug

	Cmd     []string // the program to measure; nil for a built-in workload
	URLs    []string
	method  string
	body    string
	header  []string
	http2   bool
	grpc    string // a method
	timeout time.Duration
	ready   time.Duration
	loadCmd string // loads the service; "" is snug's load generator
	fill    string // the prepare command; "" is none

	rounds    int
	window    time.Duration
	warmUp    time.Duration
	seed      uint64
	objective string
	// objectiveSet reports that the operator chose the objective; false is the default.
	objectiveSet bool
	RealTime     bool
	noLimit      bool
	RecordFile   string
	HTML         string
	Metrics      []string
	Benchfmt     string // of snug bench
	Trace        bool   // of snug bench

	beat time.Duration   // between two looks at the progress; 0 is the meter's own
	ctx  context.Context // see interruptible
	stop context.CancelFunc

	runner   *runner.Runner
	choice   choice
	program  string // SHA-256 of the program's file
	scratch  string // directory of a program that snug built; "" is none
	machine  finding.Machine
	warnings []finding.Warning
}

// timing fills in the times and the objective that the flags left unset.
func (l *Lab) timing(window time.Duration, quick bool) {
	if l.window == 0 {
		l.window = window
	}
	if l.warmUp == 0 {
		if l.warmUp = time.Second; quick {
			l.warmUp = 400 * time.Millisecond
		}
	}
	if l.objectiveSet = l.objective != "" && l.objective != experiment.Auto; !l.objectiveSet {
		l.objective = experiment.Auto
	}
}

// readLimits reads the limits of this process's container.
func (l *Lab) readLimits() (err error) {
	if l.choice.limits, err = limits.Self(); err != nil {
		return message.Failed("cannot read this process's container: "+err.Error(), "snug limits says what is wrong")
	}
	return nil
}

// prepare checks the output files, builds the Runner from the flags, and inspects the
// machine and the program.
func (l *Lab) prepare() error {
	files := []outfile.File{{Flag: "--html", Name: l.HTML}, {Flag: "--benchfmt", Name: l.Benchfmt},
		{Flag: "--record", Name: l.RecordFile}}
	if err := outfile.Apart(files...); err != nil {
		return err
	}
	for _, f := range files {
		if err := outfile.Writable(f.Flag, f.Name); err != nil {
			return err
		}
	}
	if info, err := os.Stat(l.RecordFile); err == nil && !info.Mode().IsRegular() {
		return message.Failed(l.RecordFile+": not a regular file",
			"give --record the name of a new file, or of the record to resume")
	}
	self, err := os.Executable()
	if err != nil {
		return message.Failed("cannot find snug's own program: "+message.Reason(err), "run it by its full path")
	}
	body, err := l.content()
	if err != nil {
		return err
	}
	l.machine = runner.Machine()
	l.runner = &runner.Runner{
		Self: self, Command: l.Cmd, Env: nil, Load: l.loadCmd, Prepare: l.fill,
		Ready: cmp.Or(l.ready, 10*time.Second), WarmUp: l.warmUp, Window: l.window,
		RealTime: l.RealTime, NoLimit: l.noLimit, Exec: l.Trace,
	}
	l.runner.Long = sync.OnceFunc(func() {
		l.Talk.Note("note: %s has been running for %g s; if it is a service, give its address: --url http://127.0.0.1:PORT/",
			l.Cmd[0], runner.LongRun.Seconds())
	})
	l.runner.LongPrepare = sync.OnceFunc(func() {
		l.Talk.Note("note: the prepare command has been running for %g s; it may take %s", runner.LongRun.Seconds(),
			approximate(runner.PrepareTime))
	})
	req := &l.runner.Request
	req.URLs, req.Method, req.Body, req.Timeout = l.URLs, l.method, body, cmp.Or(l.timeout, 10*time.Second)
	req.HTTP2, req.GRPC = l.http2, l.grpc
	if req.Method == "" && (body != nil || l.grpc != "") {
		req.Method = "POST"
	}
	req.Header = map[string]string{}
	for _, h := range l.header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return message.Usage("--header "+message.Quote(h)+": not a header", "write --header 'Name: value'")
		}
		req.Header[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if err := l.build(self); err != nil {
		return err
	}
	return l.recognise(self)
}

// Codes of warnings, see snug explain.
const (
	WarnNotGo       = "bench-not-go"
	WarnOwnLimits   = "bench-own-limits"
	WarnConfinement = "bench-confinement"
)

func (l *Lab) warn(code, format string, args ...any) {
	l.warnings = append(l.warnings, finding.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// allWarnings returns the warnings of the experiment and of its runs.
func (l *Lab) allWarnings() []finding.Warning {
	all := append([]finding.Warning{}, l.warnings...)
	if l.runner.Own || l.runner.NoLimit { // a warning says so already
		return all
	}
	for _, w := range l.runner.Warnings {
		all = append(all, finding.Warning{Code: WarnConfinement, Text: w})
	}
	return all
}

// recognise finds the program's file and its Go version.
func (l *Lab) recognise(self string) error {
	file := self
	if len(l.Cmd) > 0 {
		var err error
		if file, err = cgrun.LookPath(l.runner.Command[0], nil, ""); err != nil {
			return message.Failed(err.Error(), "check the name and PATH; everything after -- is the command")
		}
		l.choice.env = plan.Env{GOMAXPROCS: l.Getenv("GOMAXPROCS"), GOMEMLIMIT: l.Getenv("GOMEMLIMIT"),
			GOGC: l.Getenv("GOGC")}
	} else if len(l.URLs) > 0 {
		return nil
	}
	l.program = checksum(file)
	exe, err := goproc.ReadExe(file)
	if err == nil && exe.IsGo {
		l.runner.Trace = true
		l.machine.Go = exe.GoVersion
		l.choice.goVersion = exe.Go(l.Getenv("GODEBUG"))
		if file == self {
			l.choice.goVersion.Blind = false // GODEBUG makes its workloads aware, see runner
		} else {
			own, err := goproc.OwnSetters(file)
			if err != nil {
				return message.Failed("cannot read "+file+": "+message.Reason(err), "run it again, or check the disk")
			}
			l.choice.setsProcs = len(own.GOMAXPROCS) > 0
		}
		l.choice.known = exe.Minor != 0
		return nil
	}
	what := exe.What
	if err != nil {
		what = message.Reason(err)
	}
	l.warn(WarnNotGo,
		"%s is not a Go program that snug can read (%s): snug sets the knobs anyway, and its children may read them",
		l.Cmd[0], what)
	return nil
}

// setup returns the experiment's description for its document.
func (l *Lab) setup(started time.Time) finding.Setup {
	s := finding.Setup{
		Version: l.Version, Started: started.UTC(), Command: append([]string{}, l.Cmd...),
		LoadCommand: l.loadCmd, Prepare: l.fill, URL: l.addresses(), Seed: l.seed, Rounds: l.rounds, Program: l.program,
		WarmUp: l.warmUp.Seconds(), Window: l.window.Seconds(), NoLimit: l.noLimit,
		Objective: l.objective, Metrics: l.Metrics, Machine: l.machine, Capacities: []finding.Capacity{},
	}
	if len(l.URLs) > 0 || len(l.Cmd) == 0 {
		q := &l.runner.Request
		s.Request = &finding.Request{
			Method: cmp.Or(q.Method, "GET"), Headers: slices.Sorted(maps.Keys(q.Header)),
			HTTP2: q.HTTP2 || q.GRPC != "", GRPC: q.GRPC, Timeout: q.Timeout.Seconds(),
			Connections: runner.Connections, RealTime: l.RealTime,
		}
		if l.loadCmd != "" { // it has its own requests and connections
			s.Request.Method, s.Request.Connections = "", 0
		}
		if q.Body != nil {
			s.Request.BodySHA256 = fmt.Sprintf("%x", sha256.Sum256(q.Body))
		}
	}
	return s
}

// addresses returns the URLs without passwords, as they may be shown.
func (l *Lab) addresses() string {
	var all []string
	for _, u := range l.URLs {
		all = append(all, runner.Redacted(u))
	}
	return strings.Join(all, " ")
}

// generator returns the scheduling policy that the runs read back for the load generator;
// "" if there was none.
func generator(runs []finding.Run) string {
	for _, r := range runs {
		if r.Generator != nil {
			return r.Generator.Policy
		}
	}
	return ""
}

// interruptible returns a context that Ctrl-C or SIGTERM ends. Every call returns the
// same context, so that no signal is lost between two calls.
func (l *Lab) interruptible() (context.Context, context.CancelFunc) {
	if l.ctx == nil {
		l.ctx, l.stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	}
	return l.ctx, l.stop
}

// runCost is what a run takes besides warm-up and window: to start, settle and stop.
const runCost = 400 * time.Millisecond

// approximate formats a duration in whole seconds, or in whole minutes from 2 minutes on.
func approximate(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s"
	default:
		return strconv.Itoa(int(d.Round(time.Minute).Minutes())) + " min"
	}
}

// confinement runs a program that does nothing, to prove that cgroups can be made, and
// completes the limits of the sweep. If none can be made and the flags set no limit, the
// limits of snug's own container apply, if it has any.
func (l *Lab) confinement(s *sweep) error {
	asked := len(s.CPUs)+len(s.Memory) > 0
	switch {
	case len(l.Cmd) == 0 && len(l.URLs) > 0:
		l.machine.CgroupWay = ""
		return nil
	case l.noLimit:
		if asked {
			return message.Usage("--no-limit with --cpus or --memory: limits and no limits", "give one or the other")
		}
		l.machine.CgroupWay = string(cgrun.WayNone)
		if quota, ok := l.choice.limits.CPU.Quota.Get(); ok {
			l.warn(WarnOwnLimits,
				"snug enforces no quota, but the %s CPUs of its own container still apply: the load generator uses part of them",
				units.Exact(quota))
		}
		return nil
	}
	quota, limited := l.choice.limits.CPU.Quota.Get()
	if len(s.CPUs) == 0 {
		s.CPUs = []float64{1}
		if limited && quota < 1 {
			s.CPUs[0] = quota
		}
	}
	ctx, _ := l.interruptible()
	way, err := l.runner.Try(ctx, s.CPUs[0])
	if err == nil {
		l.machine.CgroupWay = way
		return nil
	}
	var noWay *cgrun.NoWayError
	if asked || !limited || !errors.As(err, &noWay) || !noWay.Container {
		return l.explain(ctx, err)
	}
	l.runner.Own = true
	s.CPUs = []float64{quota}
	l.machine.CgroupWay = string(cgrun.WayContainer)
	l.warn(WarnOwnLimits, "the program, snug and the load generator shared the %s CPUs of one container: throughput "+
		"and latency are worse than the program's own, and throttling counts all of them", units.Exact(quota))
	l.Talk.Note("note: no cgroup can be made here; the limits of this container apply (%s CPUs), and only the knobs "+
		"are compared", units.Exact(quota))
	return nil
}

const (
	maxBody    = 64 << 20 // of what snug sends with each request
	maxProgram = 1 << 40  // of a program, whose checksum streams
)

// content returns the body of a request: the text of --body, or the file that it names.
func (l *Lab) content() ([]byte, error) {
	file, isFile := strings.CutPrefix(l.body, "@")
	switch {
	case l.body == "":
		return nil, nil
	case !isFile:
		return []byte(l.body), nil
	}
	b, err := bounded.ReadFile(file, maxBody)
	if err != nil {
		return nil, message.Failed("cannot read the body "+file+": "+message.Reason(err), "--body takes text, or @FILE")
	}
	return b, nil
}

// checksum returns the SHA-256 of a file in hex, "" if it cannot be read. A program that
// was rebuilt is another program.
func checksum(name string) string {
	f, err := bounded.Open(context.Background(), name, bounded.Limits{Bytes: maxProgram, Unpacked: maxProgram})
	if err != nil {
		return ""
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}
