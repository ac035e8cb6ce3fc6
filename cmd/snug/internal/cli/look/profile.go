// SPDX-License-Identifier: Apache-2.0

package look

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
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
	merge, share := false, false
	var heap, goroutines bool
	cmd := &cobra.Command{
		Use:   "profile PID|PROGRAM|FILE|URL [B]",
		Short: "Sample the CPU time of any Go process, and sort it into causes",
		Long: `Sample the CPU time of a Go process by perf events, without preparing, stopping
or changing it, and sort it into causes: the program, the scheduler, the garbage
collector, and so on. Function names are shown for stripped programs too, from Go 1.18.

An existing profile, in a file or at the address of net/http/pprof, is shown the same
way: of CPU time, memory or goroutines, and the goroutines that a program printed when it
ended. -o writes it for go tool pprof and go build -pgo; --html writes a flame graph
as one self-contained page.

Two targets are compared, by cause and by function: in CPU seconds for each second, or,
with --share or if a profile has no duration, in shares of the CPU time. A difference is
shown only if it is more than chance in sampling makes. --merge adds up any number of
profiles instead, as go build -pgo wants it.

--heap shows which calls allocated the memory that a process holds, by the runtime's own
heap profile, and --goroutines what its goroutines wait for and what created them. Both
are read from its memory, again without preparing or stopping it, from Go 1.18 to 1.27,
or from a file or an address.`,
		Example: `  snug profile 4711 --duration 30s --html flame.html
  snug profile server -o cpu.pprof && go tool pprof -top cpu.pprof
  snug profile 4711 --heap
  snug profile crash.log --goroutines
  snug profile http://127.0.0.1:6060/debug/pprof
  snug profile before.pprof after.pprof --html diff.html
  snug profile --merge monday.pprof tuesday.pprof -o default.pgo && go build -pgo default.pgo`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return message.Usage(cmd.CommandPath()+": target missing", "snug ps lists the Go processes here")
			case len(args) > 2 && !merge:
				return message.Usage(cmd.CommandPath()+": more than two targets", "name two to compare; --merge adds up any number")
			}
			return nil
		},
		ValidArgsFunction: completePids(math.MaxInt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if heap || goroutines {
				if err := alone(cmd, args, heap && goroutines); err != nil {
					return err
				}
			}
			if o.Duration <= 0 || o.Duration > time.Hour {
				return message.Usage("--duration "+o.Duration.String()+": wrong value", "write up to an hour")
			}
			compare := len(args) == 2 && !merge
			switch {
			case share && !compare:
				return message.Usage("--share compares two targets", "snug profile --share A B")
			case compare && file != "":
				return message.Usage("--output "+message.Quote(string(file))+": a comparison is no profile",
					"--merge adds the targets up and writes the sum; --html writes a page of the differences")
			}
			files := []outfile.File{{Flag: "--output", Name: string(file)}, {Flag: "--html", Name: string(html)}}
			for _, name := range args {
				files = append(files, outfile.File{Name: name})
			}
			if err := cmp.Or(outfile.Apart(files...), outfile.Writable("--output", string(file)),
				outfile.Writable("--html", string(html))); err != nil {
				return err
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			if heap || goroutines {
				return holdings(ctx, u, args[0], heap, string(file), string(html))
			}
			all, err := takeAll(ctx, u, args, o)
			switch {
			case err != nil:
				return err
			case compare:
				return compared(u, all, share, string(html))
			}
			t := all[0]
			if t.held != nil {
				return t.held.answer(u, string(file), string(html))
			}
			if len(all) > 1 {
				if t, err = sum(all); err != nil {
					return err
				}
			}
			return profiled(u, t, string(file), string(html))
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&o.Duration), "duration", "sample for `DURATION`")
	cmd.Flags().Var((*rateFlag)(&o.Rate), "rate", "take `SAMPLES` for each second of CPU time, at most 250; 0 is 99")
	cmd.Flags().BoolVar(&heap, "heap", false, "show what holds the memory, instead of CPU time")
	cmd.Flags().BoolVar(&goroutines, "goroutines", false, "show what the goroutines do, instead of CPU time")
	cmd.Flags().VarP(&file, "output", "o", "write the profile to `FILE`, for go tool pprof and go build -pgo")
	cmd.Flags().BoolVar(&merge, "merge", false, "add the targets up")
	cmd.Flags().BoolVar(&share, "share", false, "compare shares of the CPU time, for targets under different load")
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

// profiled prints the summary of a profile and writes the requested files.
func profiled(u *ui.UI, t *taken, file, html string) error {
	p, s := t.profile, t.Summary
	d := &finding.Profile{Head: finding.NewHead(finding.KindProfile), Target: t.target, PGO: cpuprof.ForPGO(p)}
	d.Source, d.CPU, d.Samples, d.Seconds = string(s.Source), s.CPUSeconds, s.Samples, t.seconds()
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
	wrong := cmp.Or(written(file, &d.Saved, p.Write), written(html, &d.Page, func(w io.Writer) error {
		g, err := cpuprof.GraphOf(p)
		if err != nil {
			return err
		}
		return page.Flame(w, g, d.Target)
	}))
	d.Next = afterProfile(d)
	if err := u.Answer(d); err != nil {
		return err
	}
	return wrong
}

// written writes a file, if it is named, and notes its name in the document.
func written(file string, in **string, write func(io.Writer) error) error {
	if file == "" {
		return nil
	}
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = outfile.Replace(file, b.Bytes())
	}
	if err != nil {
		return outfile.Failed(err, file)
	}
	*in = &file
	return nil
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
