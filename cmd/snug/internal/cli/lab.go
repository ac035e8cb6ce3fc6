// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// lab is what `snug bench` and `snug tune` have in common: the program and its
// load, the cgroups, the record, and how an experiment is told.
type lab struct {
	ui    *ui
	flags *pflag.FlagSet // as they were given

	cmd     []string // the program to measure; nil for a built-in workload
	urls    []string
	method  string
	body    string
	header  []string
	timeout time.Duration
	ready   time.Duration

	rounds    int
	window    time.Duration
	warmUp    time.Duration
	seed      uint64
	objective string
	// objectiveSet: it was asked for, and is no default.
	objectiveSet bool
	realTime     bool
	noLimit      bool
	recordFile   string
	records      bool // --record is for this command
	html         string
	metrics      []string
	stdout       string
	benchfmt     string // of snug bench
	trace        bool   // of snug bench

	ctx  context.Context // see interruptible
	stop context.CancelFunc

	runner   *runner.Runner
	choice   choice
	program  string // SHA-256 of the program's file
	machine  finding.Machine
	warnings []finding.Warning
}

// add defines the flags.
func (l *lab) add(fs *pflag.FlagSet) {
	defineList(fs, "url", "load the service at `URL`; several are replicas", "an address such as http://127.0.0.1:8080/", parseURL, &l.urls)
	fs.StringVar(&l.method, "method", "", "HTTP `METHOD` of the requests (default GET, with --body POST)")
	fs.StringVar(&l.body, "body", "", "`TEXT` to send, or @FILE")
	fs.StringArrayVar(&l.header, "header", nil, "header of the requests, as `'Name: value'`; repeatable")
	defineValue(fs, "timeout", "a request may take `TIME` (default 10s)", "a time such as 10s", parseTime, &l.timeout)
	defineValue(fs, "ready", "the service may take `TIME` until it listens (default 10s)", "a time such as 10s", parseTime, &l.ready)
	defineValue(fs, "rounds", "measure every setting `N` times (default 7)", "a whole number from 1 to 1000", func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= 1000
	}, &l.rounds)
	defineValue(fs, "window", "measure for `TIME` in each run", "a time from 100ms to 1h", parseWindow, &l.window)
	defineValue(fs, "warmup", "load for `TIME` before each window (default 1s)", "a time such as 1s", parseTime, &l.warmUp)
	l.seed = 1
	defineValue(fs, "seed", "`N` that order, arrivals and resampling start from (default 1)", "a whole number", func(text string) (uint64, bool) {
		n, err := strconv.ParseUint(text, 10, 64)
		return n, err == nil
	}, &l.seed)
	defineValue(fs, "objective", "what better means: `cpu` (per request), rps, p99 or wall", "cpu, rps, p99 or wall", func(text string) (string, bool) {
		return text, slices.Contains(objectiveWords, text)
	}, &l.objective)
	fs.BoolVar(&l.realTime, "rt", false, "the load generator gets real-time priority (needs root)")
	fs.BoolVar(&l.noLimit, "no-limit", false, "make no cgroup and enforce no limit; every output says so")
	fs.Var((*textFlag)(&l.recordFile), "record", "write each run to `FILE` at once, and go on from what it has")
	fs.Var((*textFlag)(&l.html), "html", "also write a report to `FILE`, one page that needs nothing else")
}

// command takes what stands after the flags.
func (l *lab) command(cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
		return usage("arguments without --, "+typed(args[0]), "flags first, then --, then the program: "+cmd.CommandPath()+" -- "+shellQuote(args[0]))
	}
	if cmd.ArgsLenAtDash() == 0 && len(args) == 0 {
		return usage("no command after --, "+cmd.CommandPath(), "name the program to measure")
	}
	if len(args) > 0 && args[0] == "" {
		return emptyWord(cmd.CommandPath() + " -- ''")
	}
	l.cmd = args
	l.flags = cmd.Flags()
	return nil
}

// timing completes the times that were not asked for.
func (l *lab) timing(window time.Duration, quick bool) {
	if l.window == 0 {
		l.window = window
	}
	if l.warmUp == 0 {
		if l.warmUp = time.Second; quick {
			l.warmUp = 400 * time.Millisecond
		}
	}
	if l.objectiveSet = l.objective != ""; !l.objectiveSet {
		l.objective = "cpu"
	}
}

// look reads the container that this process is in.
func (l *lab) look() (err error) {
	if l.choice.limits, err = limits.Self(); err != nil {
		return failed("cannot read this process's container, "+err.Error(), "snug limits says what is wrong")
	}
	return nil
}

// prepare looks at the machine and the program, and proves on a short run that
// the program can be confined as asked.
func (l *lab) prepare() error {
	for _, f := range [][2]string{{"--html", l.html}, {"--benchfmt", l.benchfmt}, {"--record", l.recordFile}} {
		if err := writable(f[0], f[1]); err != nil {
			return err
		}
	}
	if info, err := os.Stat(l.recordFile); err == nil && !info.Mode().IsRegular() {
		return failed("no file that can be gone on with, "+l.recordFile, "give --record the name of a new file, or of the record to go on with")
	}
	self, err := os.Executable()
	if err != nil {
		return failed("cannot find snug's own program, "+reason(err), "run it by its whole path")
	}
	body, err := l.content()
	if err != nil {
		return err
	}
	l.machine = runner.Machine()
	l.runner = &runner.Runner{
		Self: self, Command: l.cmd, Env: nil,
		Ready: orDefault(l.ready, 10*time.Second), WarmUp: l.warmUp, Window: l.window,
		Probe: probeTime, RealTime: l.realTime, NoLimit: l.noLimit, Exec: l.trace, Stdout: l.stdout,
	}
	if l.stdout != "" {
		if err := os.MkdirAll(l.stdout, 0o755); err != nil {
			return failed("cannot keep what the runs print, "+err.Error(), "--stdout wants a directory that can be written")
		}
	}
	l.runner.Long = sync.OnceFunc(func() {
		l.ui.note("note: %s has been running for %g s; if it is a service, give its address: --url http://127.0.0.1:PORT/", l.cmd[0], runner.LongRun.Seconds())
	})
	req := &l.runner.Request
	req.URLs, req.Method, req.Body, req.Timeout = l.urls, l.method, body, orDefault(l.timeout, 10*time.Second)
	if req.Method == "" && body != nil {
		req.Method = "POST"
	}
	req.Header = map[string]string{}
	for _, h := range l.header {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return usage("not a header, --header "+shellQuote(h), "write --header 'Name: value'")
		}
		req.Header[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return l.recognise(self)
}

// The codes of warnings: see snug explain.
const (
	WarnNotGo       = "bench-not-go"
	WarnOwnLimits   = "bench-own-limits"
	WarnConfinement = "bench-confinement"
)

func (l *lab) warn(code, format string, args ...any) {
	l.warnings = append(l.warnings, finding.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}

// confessed are the warnings of an experiment, those that its runs met included.
func (l *lab) confessed() []finding.Warning {
	all := append([]finding.Warning{}, l.warnings...)
	if l.runner.Own || l.runner.NoLimit { // there it is said already
		return all
	}
	for _, w := range l.runner.Warnings {
		all = append(all, finding.Warning{Code: WarnConfinement, Text: w})
	}
	return all
}

// recognise finds out which Go the program is.
func (l *lab) recognise(self string) error {
	file := self
	if len(l.cmd) > 0 {
		var err error
		if file, err = cgrun.LookPath(l.cmd[0], nil, ""); err != nil {
			return failed(err.Error(), "check the name and PATH; everything after -- is the command")
		}
		l.choice.env = plan.Env{GOMAXPROCS: l.ui.getenv("GOMAXPROCS"), GOMEMLIMIT: l.ui.getenv("GOMEMLIMIT"), GOGC: l.ui.getenv("GOGC")}
	} else if len(l.urls) > 0 {
		return nil
	}
	l.program = checksum(file)
	exe, err := goproc.ReadExe(file)
	if err == nil && exe.IsGo {
		l.runner.Trace = true
		l.machine.Go = exe.GoVersion
		blind := !exe.Aware(l.ui.getenv("GODEBUG"))
		if file == self {
			blind = false // its workloads are told to behave as other programs do
		}
		l.choice.goes = plan.Go{Minor: exe.Minor, Blind: blind}
		l.choice.known = exe.Minor != 0
		return nil
	}
	what := exe.What
	if err != nil {
		what = reason(err)
	}
	l.warn(WarnNotGo, "%s is not a Go program that snug can read (%s): knobs are set all the same, and its children may read them", l.cmd[0], what)
	return nil
}

func orDefault(d, other time.Duration) time.Duration {
	if d == 0 {
		return other
	}
	return d
}

// setup describes the experiment for its document.
func (l *lab) setup(started time.Time) finding.Setup {
	s := finding.Setup{
		Version: build().Version, Started: started.UTC(), Command: append([]string{}, l.cmd...),
		URL: l.addresses(), Seed: l.seed, Rounds: l.rounds, Program: l.program, Probe: l.probe().Seconds(),
		WarmUp: l.warmUp.Seconds(), Window: l.window.Seconds(), NoLimit: l.noLimit,
		Objective: l.objective, Metrics: l.metrics, Machine: l.machine, Capacities: []finding.Capacity{},
	}
	if len(l.urls) > 0 || len(l.cmd) == 0 {
		q := &l.runner.Request
		s.Request = &finding.Request{
			Method: cmp.Or(q.Method, "GET"), Headers: slices.Sorted(maps.Keys(q.Header)),
			Timeout: q.Timeout.Seconds(), Connections: runner.Connections, RealTime: l.realTime,
		}
		if q.Body != nil {
			s.Request.BodySHA256 = fmt.Sprintf("%x", sha256.Sum256(q.Body))
		}
	}
	return s
}

// addresses are the URLs as they may be shown: without passwords.
func (l *lab) addresses() string {
	var all []string
	for _, u := range l.urls {
		all = append(all, runner.Redacted(u))
	}
	return strings.Join(all, " ")
}

// generator is the scheduling policy of the load generator, as the runs read it
// back; "" when there was none.
func generator(runs []finding.Run) string {
	for _, r := range runs {
		if r.Generator != nil {
			return r.Generator.Policy
		}
	}
	return ""
}

// interruptible is a context that ends with Ctrl-C or SIGTERM. It is the same one
// from the first call on, so that no signal is lost in between.
func (l *lab) interruptible() (context.Context, context.CancelFunc) {
	if l.ctx == nil {
		l.ctx, l.stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	}
	return l.ctx, l.stop
}

// probeTime is how long a built-in service's threads spin to measure the stall:
// six periods.
const probeTime = 600 * time.Millisecond

// probe is the time that a run spends on the stall probe.
func (l *lab) probe() time.Duration {
	if len(l.cmd)+len(l.urls) > 0 {
		return 0
	}
	return probeTime
}

// runCost is what a run takes beside warm-up and window: starting, settling,
// stopping.
const runCost = 400 * time.Millisecond

// roughly prints a duration with no more digits than it deserves.
func roughly(d time.Duration) string {
	switch {
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s"
	default:
		return strconv.Itoa(int(d.Round(time.Minute).Minutes())) + " min"
	}
}

// confinement proves on a program that does nothing that cgroups can be made,
// and completes the limits of the sweep. Where none can be made and none was
// asked for, the limits of the container that snug is in hold, if it has any.
func (l *lab) confinement(s *sweep) error {
	asked := len(s.cpus)+len(s.memory)+len(s.burst) > 0
	switch {
	case len(l.cmd) == 0 && len(l.urls) > 0:
		l.machine.CgroupWay = ""
		return nil
	case l.noLimit:
		if asked {
			return usage("limits and no limits, --no-limit with --cpus, --memory or --burst", "give one or the other")
		}
		l.machine.CgroupWay = string(cgrun.WayNone)
		if quota, ok := l.choice.limits.CPU.Quota.Get(); ok {
			l.warn(WarnOwnLimits, "snug enforces no quota, and the %s CPUs of the container that it is in hold all the same: the load generator has its share of them", trimFloat(quota))
		}
		return nil
	}
	quota, limited := l.choice.limits.CPU.Quota.Get()
	if len(s.cpus) == 0 {
		s.cpus = []float64{1}
		if limited && quota < 1 {
			s.cpus[0] = quota
		}
	}
	ctx, _ := l.interruptible()
	way, err := l.runner.Try(ctx, s.cpus[0])
	if err == nil {
		l.machine.CgroupWay = way
		return nil
	}
	var noWay *cgrun.NoWayError
	if asked || !limited || !errors.As(err, &noWay) || !noWay.Container {
		return l.explain(ctx, err)
	}
	l.runner.Own = true
	s.cpus = []float64{quota}
	l.machine.CgroupWay = string(cgrun.WayContainer)
	l.warn(WarnOwnLimits, "the program, snug and the load generator shared the %s CPUs of one container: throughput and latency are worse than the program's own, and throttling is that of all of them", trimFloat(quota))
	l.ui.note("note: no cgroup can be made here; the limits of this container hold (%s CPUs), and only the knobs are compared", trimFloat(quota))
	return nil
}
