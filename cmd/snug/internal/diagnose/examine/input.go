// SPDX-License-Identifier: Apache-2.0

package examine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/profile/golog"
	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	untrusted "github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/remote"
)

const (
	// logBytes bounds the size of a log.
	logBytes = 8 << 30
	// headerTimeout is how long a server may take to begin its answer.
	headerTimeout = 10 * time.Second
)

// Input examines a file or an address. It fetches an address of counters twice, for rates.
func Input(ctx context.Context, name string, duration time.Duration) (*finding.Examined, error) {
	src, err := OpenInput(ctx, name, duration)
	if err != nil {
		return nil, InputFailure(err)
	}
	defer src.Close()
	head, err := src.Head()
	if err != nil {
		return nil, InputFailure(err)
	}
	f := &rules.Facts{Target: finding.UTF8(src.Name)}
	kind, few, cut := "", "", ""
	switch k := untrusted.Sniff(head); k {
	case untrusted.Profile:
		var s *cpuprof.Summary
		if s, err = readProfile(src); err == nil {
			kind = "profile"
			few = SummaryFacts(f, s)
		}
	case untrusted.RuntimeLog, untrusted.Text, untrusted.Goroutines:
		if kind, err = "log", logFacts(f, src); err != nil && k == untrusted.Goroutines {
			err = message.Failed(f.Target+": printed goroutines, and no gctrace or schedtrace line",
				"snug profile --goroutines "+message.Quote(name)+" counts them")
		}
	case untrusted.Metrics, untrusted.Vars, untrusted.HeapText:
		kind, err = "metrics", metricFacts(ctx, f, k, src, name, duration)
	case untrusted.ELF:
		return nil, message.Failed(src.Name+": a program, not a process",
			"snug plan --exe "+message.Quote(name)+" shows what Go would do; snug ps lists what runs")
	case untrusted.Document:
		return nil, message.Failed(src.Name+": a saved answer of snug",
			"snug report "+message.Quote(name)+" renders it; snug doctor BEFORE AFTER compares two of its own")
	case untrusted.Trace:
		kind = "trace"
		cut, err = tracedFacts(ctx, f, src)
	default:
		return nil, message.Failed(src.Name+": neither a profile nor a trace nor a log nor metrics",
			"snug doctor --help lists what it can read")
	}
	if err != nil {
		return nil, InputFailure(err)
	}
	unknown := []finding.Gap{}
	if few != "" {
		unknown = append(unknown, finding.Gap{Field: "causes", File: f.Target, Why: few})
	}
	if cut != "" {
		unknown = append(unknown, finding.Gap{Field: "the rest of the trace", File: f.Target, Why: cut})
	}
	unknown = append(unknown, finding.Gap{Field: missing(f), File: f.Target,
		Why: "not in this input, so nothing that depends on it was judged"})
	return examined(kind, f, unknown), nil
}

// missing names what the input does not show: the container's limits, and often settings too.
func missing(f *rules.Facts) string {
	var names []string
	for _, k := range []struct {
		name string
		read bool
	}{{"GOMAXPROCS", f.Procs.Read()}, {"GOGC", f.GOGC.Read()}, {"GOMEMLIMIT", f.MemLimit.Read()}} {
		if !k.read {
			names = append(names, k.name)
		}
	}
	return strings.Join(append(names, "the container's limits"), ", ")
}

func InputFailure(err error) error {
	var f *message.Failure
	switch {
	case errors.As(err, &f):
		return err
	case errors.Is(err, untrusted.ErrTooMuch):
		return message.Failed(err.Error(), "cut it, or take a shorter one")
	case errors.Is(err, context.Canceled):
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
	}
	if errors.Is(err, cpuprof.ErrNotCPU) {
		return message.Failed(err.Error(),
			"snug profile shows a heap or goroutine profile; doctor, A B and --merge take CPU profiles")
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EACCES) {
		return message.Failed(err.Error(), message.OwnerHint)
	}
	if strings.Contains(err.Error(), "://") {
		return message.Failed(err.Error(), "use the address of a running program's /metrics or /debug/pprof")
	}
	return message.Failed(err.Error(), "snug doctor --help lists what it can read")
}

// ProfileAddress returns the address of a profile of a program, for the page that lists them; any other name
// stays as it is.
func ProfileAddress(name, profile string) string {
	u, err := url.Parse(name)
	if err != nil || !Address(name) {
		return name
	}
	p := strings.TrimSuffix(u.Path, "/")
	if !strings.HasSuffix(p, "/debug/pprof") {
		return name
	}
	u.Path = p + "/" + profile
	return u.String()
}

// OpenInput opens a file, "-" or an address. For the page that lists a program's profiles it
// opens the CPU profile.
func OpenInput(ctx context.Context, name string, duration time.Duration) (*untrusted.Source, error) {
	l, header := untrusted.Limits{Bytes: logBytes, Unpacked: logBytes}, headerTimeout
	if u, err := url.Parse(name); err == nil && Address(name) {
		if p := strings.TrimSuffix(u.Path, "/"); strings.HasSuffix(p, "/debug/pprof") {
			u.Path = p + "/profile"
			u.RawQuery = "seconds=" + strconv.Itoa(max(1, int(duration.Seconds())))
			name = u.String()
		}
		if strings.HasSuffix(u.Path, "/trace") {
			return OpenTrace(ctx, name)
		}
		if strings.HasSuffix(u.Path, "/profile") {
			n, err := strconv.Atoi(u.Query().Get("seconds"))
			if err != nil {
				n = 30 // the default of net/http/pprof
			}
			// The answer begins when the profile is complete.
			header = time.Duration(min(n, 3600))*time.Second + 15*time.Second
		}
		l = untrusted.Limits{}
	}
	return open(ctx, name, header, l)
}

// open opens a file, "-" or an address, whose answer has to begin within header.
func open(ctx context.Context, name string, header time.Duration, l untrusted.Limits) (*untrusted.Source, error) {
	switch {
	case name == "-":
		return untrusted.Wrap(ctx, standardInput(ctx), "standard input", l)
	case Address(name):
		return remote.Open(ctx, name, header, l)
	}
	return untrusted.Open(ctx, name, l)
}

// standardInput returns standard input. Reads of it end with ctx.
func standardInput(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, os.Stdin)
		w.CloseWithError(err)
	}()
	context.AfterFunc(ctx, func() { w.CloseWithError(context.Cause(ctx)) })
	return r
}

// readProfile reads a CPU profile. Its errors name the source.
func readProfile(src *untrusted.Source) (*cpuprof.Summary, error) {
	p, err := cpuprof.Read(src)
	if err != nil {
		return nil, InSource(err, src)
	}
	s, err := cpuprof.Summarize(p)
	if err != nil {
		return nil, InSource(err, src)
	}
	return s, nil
}

// InSource adds the name of the source to an error, unless the error has it.
func InSource(err error, src *untrusted.Source) error {
	if strings.HasPrefix(err.Error(), src.Name+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", src.Name, err)
}

// SummaryFacts adds the figures of a profile to f. few says why the profile shows no causes;
// "" if it does.
func SummaryFacts(f *rules.Facts, s *cpuprof.Summary) (few string) {
	if d := s.Duration.Seconds(); d > 0 {
		f.Seconds = figure.New(d, "")
		f.Used = observe.PerSecond(s.CPUSeconds, s.Duration, string(s.Source))
	}
	if s.Samples < minSamples && s.CPUSeconds < 1 {
		return fewSamples(s)
	}
	causes(f, s)
	return ""
}

// causes adds the shares of a profile to f.
func causes(f *rules.Facts, s *cpuprof.Summary) {
	from := string(s.Source) + ", " + strconv.FormatInt(s.Samples, 10) + " samples"
	f.OverSize, f.GCShare = figure.New(s.OverSize(), from), figure.New(s.GC(), from)
	f.Sched, f.Timers = figure.New(s.Ratio(cpuprof.Scheduling...), from), figure.New(s.Ratio(cpuprof.Timers), from)
	f.Locks, f.Stacks = figure.New(s.Ratio(cpuprof.Lock), from), figure.New(s.Ratio(cpuprof.Stack), from)
	f.Syscalls = figure.New(s.Ratio(cpuprof.Syscall), from)
	f.Sites = s.Sites
}

// fewSamples says why a profile shows no causes.
func fewSamples(s *cpuprof.Summary) string {
	return units.Plural(int(s.Samples), "sample") + " of CPU time, too few to judge"
}

func logFacts(f *rules.Facts, r io.Reader) error {
	s, err := golog.Read(r)
	if err != nil {
		return err
	}
	if s.GC.Cycles == 0 && s.Sched.Looks == 0 {
		return message.Failed(f.Target+": no gctrace or schedtrace line in it",
			"set GODEBUG=gctrace=1 to make Go write them to stderr")
	}
	if g := &s.GC; g.Cycles > 0 {
		from := "gctrace, " + units.Plural(g.Cycles, "collection")
		num := func(v float64) figure.Of[float64] { return figure.New(v, from) }
		f.Procs = num(float64(g.Procs))
		if f.Live = num(float64(g.Live)); g.Goal != golog.NoGoal {
			f.Goal = num(float64(g.Goal))
		}
		if rate, ok := g.PerSecond(); ok {
			f.Cycles = num(rate)
			f.Seconds = num(g.Last - g.First)
			// There is one interval fewer than collections.
			f.GCCores = num(float64(g.Cycles-1) / float64(g.Cycles) * g.CPU / (g.Last - g.First))
		}
	}
	if h := &s.Sched; h.Looks > 0 {
		from := "schedtrace, " + units.Plural(h.Looks, "look")
		num := func(v float64) figure.Of[float64] { return figure.New(v, from) }
		f.Procs = num(float64(h.Procs))
		f.Busy, f.Spinning = num(float64(h.Procs)-h.IdleProcs()), num(h.Spinning())
	}
	return nil
}

// metricFacts adds the figures that a program reports about itself. It fetches an address
// again after duration, for rates.
func metricFacts(ctx context.Context, f *rules.Facts, k untrusted.Kind, r io.Reader, name string,
	duration time.Duration) error {
	a, err := readMetrics(k, r)
	if err != nil {
		return err
	}
	if !a.IsGo {
		return message.Failed(f.Target+": no figures of a Go program in it", "client_golang's default collectors export them")
	}
	if a.Several {
		return message.Failed(f.Target+": figures of several processes in it", "name the address of one process")
	}
	began := time.Now()
	b, took := a, time.Duration(0)
	if Address(name) && duration > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(duration):
		}
		if src, err := OpenInput(ctx, name, duration); err == nil {
			defer src.Close()
			if again, err := readMetrics(k, src); err == nil && again.Started == a.Started {
				b, took = again, time.Since(began)
			}
		}
	}
	reportedFacts(f, &a, &b, took)
	return nil
}

func readMetrics(k untrusted.Kind, r io.Reader) (promtext.GoFacts, error) {
	switch k {
	case untrusted.Vars:
		return promtext.ReadVars(r)
	case untrusted.HeapText:
		return promtext.ReadHeap(r)
	}
	s, err := promtext.Read(r, "go_", "process_")
	if err != nil {
		return promtext.GoFacts{}, err
	}
	return promtext.Go(s.Samples), nil
}

// reportedFacts adds the figures that a program reported about itself, once or twice.
func reportedFacts(f *rules.Facts, a, b *promtext.GoFacts, took time.Duration) {
	const from = "reported by the program"
	f.Go = finding.UTF8(b.Version.N)
	f.Procs, f.GOGC, f.MemLimit = figure.As[float64](b.GOMAXPROCS), figure.As[float64](b.GOGC),
		figure.As[float64](b.GOMEMLIMIT)
	f.Live, f.Goal = figure.As[float64](b.HeapLive), figure.As[float64](b.HeapGoal)
	if b.Sys.Known() && b.HeapReleased.Known() {
		f.Mapped = figure.New(float64(b.Sys.N-b.HeapReleased.N), from)
	}
	if took <= 0 {
		return
	}
	f.Seconds = figure.New(took.Seconds(), "")
	if a.CPUSeconds.Known() && b.CPUSeconds.Known() {
		f.Used = observe.PerSecond(b.CPUSeconds.N-a.CPUSeconds.N, took, from)
	}
	if a.GCs.Known() && b.GCs.Known() {
		f.Cycles = observe.PerSecond(float64(b.GCs.N-a.GCs.N), took, from)
	}
	known := func(g *promtext.GoFacts) bool { return g.GCCPU.Known() && g.GCIdle.Known() && g.User.Known() }
	if !f.Used.Known() || !known(a) || !known(b) {
		return
	}
	seconds := func(v float64) time.Duration { return time.Duration(min(max(v, -1e9), 1e9) * 1e9) }
	gc := (b.GCCPU.N - b.GCIdle.N) - (a.GCCPU.N - a.GCIdle.N)
	part := observe.GCShare(seconds(gc), seconds(b.User.N-a.User.N), seconds(b.Scavenge.N-a.Scavenge.N), from)
	if part.Known() {
		f.GCCores = figure.New(f.Used.N*part.N, from)
	}
}
