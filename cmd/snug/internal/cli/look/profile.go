// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/google/pprof/profile"
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

// topFunctions is how many functions a summary lists.
const topFunctions = 10

func NewProfile(u *ui.UI) *cobra.Command {
	o := cpuprof.Options{Duration: 10 * time.Second}
	var file, html flagvalue.Text
	cmd := &cobra.Command{
		Use:   "profile PID|PROGRAM|FILE|URL",
		Short: "Sample the CPU time of any Go process, and sort it into causes",
		Long: `Sample the CPU time of a Go process by perf events, without preparing, stopping
or changing it, and sort it into causes: the program, the scheduler, the garbage
collector, and so on. Function names are shown for stripped programs too, from Go 1.18.

An existing CPU profile, in a file or at the address of net/http/pprof, is sorted the
same way. -o writes it for go tool pprof; --html writes a flame graph as one
self-contained page.`,
		Example: `  snug profile 4711 --duration 30s --html flame.html
  snug profile server -o cpu.pprof && go tool pprof -top cpu.pprof
  snug profile http://127.0.0.1:6060/debug/pprof`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return message.Usage("one target, "+cmd.CommandPath(), "snug ps lists the Go processes here")
			}
			return nil
		},
		ValidArgsFunction: completePids(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if o.Duration <= 0 || o.Duration > time.Hour {
				return message.Usage("wrong value, --duration "+o.Duration.String(), "write up to an hour")
			}
			apart := outfile.Apart(outfile.File{Name: args[0]}, outfile.File{Flag: "--output", Name: string(file)}, outfile.File{Flag: "--html", Name: string(html)})
			if err := cmp.Or(apart, outfile.Writable("--output", string(file)), outfile.Writable("--html", string(html))); err != nil {
				return err
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			s, err := examine.Resolve(args[0])
			if err != nil {
				return err
			}
			if len(s) > 1 {
				return message.Usage("several processes, "+args[0], "name one by its number: snug ps "+message.Quote(args[0])+" lists them")
			}
			var p *profile.Profile
			d := &finding.Profile{Head: finding.NewHead(finding.KindProfile), Findings: []finding.Finding{}}
			if s[0].PID != 0 {
				p, err = capture(ctx, u, d, s[0].PID, o)
			} else {
				p, err = readProfile(ctx, d, args[0], o.Duration)
			}
			if err != nil {
				return err
			}
			return profiled(u, d, p, string(file), string(html))
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&o.Duration), "duration", "sample for `DURATION`")
	cmd.Flags().Var((*rateFlag)(&o.Rate), "rate", "take `SAMPLES` for each second of CPU time, at most 250; 0 is 99")
	cmd.Flags().VarP(&file, "output", "o", "write the profile to `FILE`, for go tool pprof")
	cmd.Flags().Var(&html, "html", "write a flame graph to `FILE`")
	return cmd
}

// rateFlag is a number of samples a second.
type rateFlag int

func (r *rateFlag) String() string { return strconv.Itoa(int(*r)) }
func (r *rateFlag) Type() string   { return "rate" }

func (r *rateFlag) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > cpuprof.MaxRate {
		return errors.New("1 to 250 samples a second; 0 is 99")
	}
	*r = rateFlag(n)
	return nil
}

// capture samples a process.
func capture(ctx context.Context, u *ui.UI, d *finding.Profile, pid int, o cpuprof.Options) (*profile.Profile, error) {
	p, err := proc.Open(pid)
	if err != nil {
		return nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	defer p.Close()
	stat := p.First()
	d.Target = "pid " + strconv.Itoa(pid) + " (" + finding.UTF8(stat.Name) + ")"
	sym, err := examine.OpenSymbols(p)
	if errors.Is(err, gobin.ErrNotGo) {
		return nil, message.Failed("not a Go program, pid "+strconv.Itoa(pid), "snug ps lists the Go processes here")
	}
	if err != nil {
		return nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	defer sym.Close()
	u.Status("sampling " + d.Target + " for " + o.Duration.String() + "; Ctrl-C ends it early")
	raw, err := cpuprof.Capture(ctx, pid, o)
	u.Status("")
	var denied *cpuprof.DeniedError
	switch {
	case errors.As(err, &denied):
		return nil, message.Failed(denied.Error(), "run it as root; or snug doctor "+strconv.Itoa(pid)+", which counts instead of sampling")
	case err != nil:
		return nil, examine.LookFailure(strconv.Itoa(pid), err)
	}
	return raw.Profile(sym)
}

// readProfile reads an existing profile.
func readProfile(ctx context.Context, d *finding.Profile, name string, duration time.Duration) (*profile.Profile, error) {
	src, err := examine.OpenInput(ctx, name, duration)
	if err != nil {
		return nil, examine.InputFailure(err)
	}
	defer src.Close()
	d.Target = finding.UTF8(src.Name)
	p, err := cpuprof.Read(src)
	if err != nil {
		return nil, examine.InputFailure(examine.InSource(err, src))
	}
	return p, nil
}

// profiled prints the summary of a profile and writes the requested files.
func profiled(u *ui.UI, d *finding.Profile, p *profile.Profile, file, html string) error {
	s, err := cpuprof.Summarize(p)
	if err != nil {
		return examine.InputFailure(fmt.Errorf("%w, %s", err, d.Target))
	}
	d.Source, d.CPU, d.Samples = string(s.Source), s.CPUSeconds, s.Samples
	if s.Duration > 0 {
		d.Seconds = new(s.Duration.Seconds())
	}
	d.Classes, d.Top = []finding.Class{}, []finding.Top{}
	for _, c := range s.Shares {
		d.Classes = append(d.Classes, finding.Class{ID: string(c.Class), Words: c.Class.Words(), Ratio: c.Ratio})
	}
	for _, t := range s.Top[:min(len(s.Top), topFunctions)] {
		d.Top = append(d.Top, finding.Top{Function: finding.UTF8(t.Name), Ratio: t.Self, Caused: t.Caused})
	}
	f := &rules.Facts{Target: d.Target}
	examine.SummaryFacts(f, s)
	d.Findings = rules.Check(f)
	// Print the answer even if the disk is full.
	var wrong error
	for _, form := range []struct {
		file  string
		write func(io.Writer) error
		in    **string
	}{
		{file, p.Write, &d.Saved},
		{html, func(w io.Writer) error {
			g, err := cpuprof.GraphOf(p)
			if err != nil {
				return err
			}
			return page.Flame(w, g, d.Target)
		}, &d.Page},
	} {
		if form.file == "" {
			continue
		}
		var b bytes.Buffer
		err := form.write(&b)
		if err == nil {
			err = outfile.Replace(form.file, b.Bytes())
		}
		if err == nil {
			*form.in = &form.file
		} else if wrong == nil {
			wrong = message.Failed("cannot write, "+message.Reason(err)+", "+form.file, outfile.RoomHint)
		}
	}
	d.Next = afterProfile(d)
	if err := u.Answer(d); err != nil {
		return err
	}
	return wrong
}

// afterProfile returns the next command to try: to open the saved profile, or to explain
// the first finding, or else the largest class that is not the program's own code.
func afterProfile(d *finding.Profile) string {
	if d.Saved != nil {
		return "go tool pprof -top " + message.Quote(*d.Saved)
	}
	if len(d.Findings) > 0 {
		return "snug explain " + d.Findings[0].ID
	}
	for _, c := range d.Classes {
		if c.ID != string(cpuprof.User) {
			return "snug explain " + c.ID
		}
	}
	return ""
}
