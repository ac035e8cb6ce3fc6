// SPDX-License-Identifier: Apache-2.0

package look

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

// sizeTrials are the flags and the run of snug size with a command: the container is found by experiment.
type sizeTrials struct {
	*lab.Size
	ui    *ui.UI
	flags *pflag.FlagSet // only those of an experiment
}

// newSizeTrials adds the flags of an experiment to snug size.
func newSizeTrials(u *ui.UI, cmd *cobra.Command) *sizeTrials {
	s := &sizeTrials{ui: u, Size: &lab.Size{
		Lab: lab.Lab{Talk: u, Getenv: u.Getenv, Version: finding.NewBuild().Version},
		Watch: func(ctx context.Context, pid int, duration time.Duration, price size.Price) (*finding.Size, error) {
			d, err := examine.Size(ctx, pid, duration, price, observe.NewFiles())
			if err != nil {
				err = examine.LookFailure(strconv.Itoa(pid), err)
			}
			return d, err
		},
	}}
	s.flags = pflag.NewFlagSet("", pflag.ContinueOnError)
	s.flags.SortFlags = false
	s.Add(s.flags)
	cmd.Flags().AddFlagSet(s.flags)
	lab.Sections(cmd.Flags())
	usage.Complete(cmd, "slo", "p99<50ms", "p95<20ms", "p50<5ms", "rss<=400MiB")
	pids := cmd.ValidArgsFunction
	cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if s.asked(cmd) {
			return nil, cobra.ShellCompDirectiveDefault // files, as a command has
		}
		return pids(cmd, args, prefix)
	}
	return s
}

// asked reports whether the command line has a command, or a flag that is only of use with one.
func (s *sizeTrials) asked(cmd *cobra.Command) bool {
	if cmd.ArgsLenAtDash() >= 0 {
		return true
	}
	for _, name := range [...]string{"url", "load-cmd", "rate", "slo"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

// unused returns an error if a flag of an experiment is there, and no command.
func (s *sizeTrials) unused() (err error) {
	s.flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed && err == nil {
			err = message.Usage("--"+f.Name+" without a command",
				"leave it out, or name the program after --: snug size --url http://127.0.0.1:8080/ --rate 300 -- ./server")
		}
	})
	return err
}

// run finds the container and prints it.
func (s *sizeTrials) run(cmd *cobra.Command, args []string, f *sizing) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case len(args) > 0 && dash != 0:
		return message.Usage(message.Typed(args[0])+": arguments without --",
			"a process is watched without --url, --rate and --slo; a command comes after --: "+cmd.CommandPath()+
				" --url http://127.0.0.1:8080/ --rate 300 -- ./server")
	case len(args) > 0 && args[0] == "":
		return ui.EmptyWord(cmd.CommandPath() + " -- ''")
	}
	if err := outfile.Writable("--html", string(f.html)); err != nil {
		return err
	}
	s.Cmd, s.Price = args, f.price
	if cmd.Flags().Changed("for") {
		s.For = f.duration
	}
	d, err := s.Run()
	if d == nil {
		return err
	}
	if e := f.answer(s.ui, d); err == nil {
		err = e
	}
	return err
}
