// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func NewTune(u *ui.UI) *cobra.Command {
	t := &lab.Tune{Lab: newLab(u)}
	cmd := &cobra.Command{
		Use:   "tune [LIMITS] [KNOBS] [LOAD] [--url URL] -- CMD [ARG...]",
		Short: "Find the settings of Go that suit a program best, or say to keep the default",
		Long: `Search for the GOMAXPROCS, GOGC and GOMEMLIMIT that suit a program best in its
container: a service under load with --url, or a batch command without it.

The search looks at the default first: for how long a window must be, when the
program has started up, and which knobs it sets itself, which are not searched.
It then measures all settings in the same rounds, as snug bench does, keeps the
better half for twice the rounds, and so on. Last it compares the leader with the
default in fresh, paired runs, and with itself without each of its knobs: a knob
is left out if that is shown to cost no more than the margin. If the default is
killed or serves nothing, what snug run sets is the setting to beat. The verdict
is the winner with its interval, or to keep the default: without a gain that is
shown, and for a setting that fails more requests, has a longer P99, is throttled
more without serving more, or leaves less than a tenth of the memory free.

--budget is a deadline, kept within 10 %. A small budget has shorter runs and
fewer of them; one that is too small for windows of ten median latencies is refused.

Objectives: cpu (CPU time per request), rps, p99, wall (of a batch command), or auto:
wall for a batch, rps for a service that leaves part of its quota unused, else cpu of
the settings that are not worse in throughput or latency.
--constraint sets bounds that the winner must keep: p99<20ms, rss<=400MiB,
rps>=1000. A setting that fails requests or runs out of memory never wins.`,
		Example: `  snug tune --cpus 1 --memory 512MiB --url http://127.0.0.1:8080/ -- ./server
  snug tune --objective p99 --load 400/s --budget 60m --url http://127.0.0.1:8080/ -- ./server
  snug tune --cpus 2 --memory 1GiB -- ./batch input.xml
  snug tune --constraint 'rss<=400MiB' --html report.html --url http://127.0.0.1:8080/ -- ./server`,
		Args:        cobra.ArbitraryArgs,
		Annotations: usage.AnotherProgram(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command(&t.Lab, cmd, args); err != nil {
				return err
			}
			doc, err := t.Run()
			if doc == nil {
				return err
			}
			doc.Next = nextTune(t, cmd.Flags(), doc)
			if e := publish(u, &t.Lab, doc); err == nil {
				err = e
			}
			return err
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.SortFlags = false
	t.Sweep.AddLimits(fs)
	t.Sweep.AddKnobs(fs)
	flagvalue.Define(fs, "workload", "tune the built-in `NAME` instead of a program (see snug bench --help)",
		wantWorkload(), parseWorkload, &t.Workload)
	flagvalue.Define(fs, "load", "one `LOAD` of a service: saturated, 80%, 800/s (default saturated; 80% for p99)",
		"saturated, a share of capacity such as 80%, or a rate such as 800/s", lab.ParseLoad, &t.Load)
	flagvalue.Define(fs, "users", "a closed loop with `N` users instead of a --load", "a whole number from 1 to 10000",
		parseUsers, &t.Users)
	fs.StringArrayVar(&t.Constraints, "constraint", nil, "the winner must meet `BOUND`, such as 'p99<20ms'; repeatable")
	flagvalue.Define(fs, "budget", "search for `DURATION` (default 15m)", "a time from 1m to 24h",
		func(text string) (time.Duration, bool) {
			d, err := time.ParseDuration(text)
			return d, err == nil && d >= time.Minute && d <= 24*time.Hour
		}, &t.Budget)
	t.Add(fs)
	fs.Lookup("objective").Usage = "what better means, one `OBJECTIVE`: cpu (per request), rps, p99, wall, or auto " +
		"(default): see above"
	usage.Complete(cmd, "objective",
		slices.DeleteFunc(slices.Clone(lab.Objectives), func(o string) bool { return o == experiment.None })...)
	usage.Complete(cmd, "workload", workload.Names()...)
	fs.MarkHidden("rounds") // lab.Tune rejects it with a reason
	u.JSONFlag(cmd.Flags())
	lab.Sections(fs)
	return cmd
}

// nextTune returns the command to run next: the rest of a search that stopped, or the
// answer beside other settings.
func nextTune(t *lab.Tune, flags *pflag.FlagSet, doc *finding.Tune) string {
	if !doc.Complete && t.RecordFile != "" {
		all := append([]string{"gomaxprocs", "gogc", "gomemlimit", "constraint", "budget", "window", "warmup", "seed",
			"objective"}, target...)
		return "snug tune --record " + message.Quote(t.RecordFile) + again(&t.Lab, flags, all...)
	}
	return "snug bench" + winner(doc) + again(&t.Lab, flags, target...)
}

// winner returns the flag with which snug bench measures the best setting; "" if that is
// the default.
func winner(doc *finding.Tune) string {
	if doc.Verdict.Best == nil {
		return ""
	}
	var set []string
	k := doc.Cells[*doc.Verdict.Best].Knobs
	for _, v := range []struct{ name, value string }{{"GOMAXPROCS", k.GOMAXPROCS}, {"GOGC", k.GOGC},
		{"GOMEMLIMIT", k.GOMEMLIMIT}} {
		if v.value != "" {
			set = append(set, v.name+"="+v.value)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return " --set " + strings.Join(set, ",")
}
