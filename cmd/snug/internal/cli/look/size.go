// SPDX-License-Identifier: Apache-2.0

package look

import (
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/examine"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// enough is the watch after which the next step is the patch.
const enough = 2 * time.Minute

// NewSize returns the command that says which container a running program needs.
func NewSize(u *ui.UI) *cobra.Command {
	duration, patch := enough, false
	var prices flagvalue.Text
	cmd := &cobra.Command{
		Use:   "size PID",
		Short: "Say which container a running Go program needs: memory, CPU, GOMEMLIMIT, GOMAXPROCS",
		Long: `Watch a Go program under its usual load, and say which container it needs: memory limit,
GOMEMLIMIT, CPU request and limit, GOMAXPROCS, each with the reason, and what more or less
memory would cost in collections and money.

It never advises less memory than it saw the program need: what lived at most, memory that is
not Go's, and room for collections. What it cannot know, it says and adds to the answer. Watch at
the time of most load. A target is a process number or a program's name.`,
		Example: `  snug size 4711
  snug size server --for 10m
  snug size server --price 0.03,0.004 --json
  snug size server --patch`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return message.Usage("name one process, "+cmd.CommandPath(), "snug ps lists the Go processes here")
			}
			return nil
		},
		ValidArgsFunction: completePids(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if duration < 5*time.Second || duration > 24*time.Hour {
				return message.Usage("wrong value, --for "+duration.String(), "write 5s to a day")
			}
			price, err := priceOf(string(prices))
			if err != nil {
				return err
			}
			if patch && u.JSON {
				return message.Usage("--patch with --json", "leave one out")
			}
			found, err := examine.Resolve(args[0])
			switch {
			case err != nil:
				return err
			case len(found) != 1:
				return message.Failed("several processes, "+message.Typed(args[0]), "name one by its number: snug ps")
			case found[0].PID == 0:
				return message.Failed("not a process, "+message.Typed(args[0]), "snug ps lists the Go processes here")
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			u.Status("watching " + found[0].Name + " for " + duration.String() + "; Ctrl-C ends it early")
			d, err := examine.Size(ctx, found[0].PID, duration, price, observe.NewFiles())
			u.Status("")
			if err != nil {
				return examine.LookFailure(args[0], err)
			}
			if patch {
				text, why := patchOf(d)
				if why != "" {
					return message.Failed("no patch: "+why, "watch longer: --for 10m")
				}
				for _, what := range d.Unseen {
					u.Note("not seen: %s", what)
				}
				return u.Write([]byte(text))
			}
			d.Next = "snug size " + strconv.Itoa(found[0].PID) + " --for 10m"
			if len(d.Curve) > 0 && d.Seconds >= enough.Seconds() {
				d.Next += " --patch"
			}
			return u.Answer(d)
		},
	}
	u.JSONFlag(cmd.Flags())
	cmd.Flags().Var((*flagvalue.Span)(&duration), "for", "watch for `DURATION`")
	cmd.Flags().Var(&prices, "price", "what a core and a GiB cost for the same time, as `CORE,GIB` (default AWS Fargate's, 0.04048,0.004445)")
	cmd.Flags().BoolVar(&patch, "patch", false, "print the resources and variables of a Kubernetes container instead")
	return cmd
}

// priceOf reads "0.04,0.004"; "" = the default.
func priceOf(text string) (size.Price, error) {
	if text == "" {
		return size.Fargate, nil
	}
	core, gib, _ := strings.Cut(text, ",")
	c, err1 := strconv.ParseFloat(core, 64)
	g, err2 := strconv.ParseFloat(gib, 64)
	if err1 != nil || err2 != nil || !(c >= 1e-9 && c < 1e9 && g >= 1e-9 && g < 1e9) {
		return size.Price{}, message.Usage("wrong value, --price "+message.Typed(text), "write two numbers above 0, such as 0.04,0.004")
	}
	return size.Price{Core: c, GiB: g}, nil
}

// patchOf returns the answer as a part of a container in a manifest, or why a value of it is missing. A GOMAXPROCS that
// Go chooses by itself is left out.
func patchOf(d *finding.Size) (text, why string) {
	for _, v := range [...]*finding.SizeValue{&d.Memory, &d.CPURequest, &d.CPULimit} {
		if v.Value == nil {
			return "", v.Why
		}
	}
	memory, request, limit := d.Memory.Value, d.CPURequest.Value, d.CPULimit.Value
	mib := strconv.FormatInt(int64(*memory)>>20, 10) + "Mi"
	milli := func(cores float64) string { return strconv.FormatFloat(cores*1000, 'f', 0, 64) + "m" }
	text = "resources:\n  requests:\n    cpu: " + milli(*request) + "\n    memory: " + mib + "\n  limits:\n    cpu: " + milli(*limit) + "\n    memory: " + mib + "\n"
	env := ""
	if n := d.GOMAXPROCS.Value; n != nil && !d.ByGo {
		env = "  - name: GOMAXPROCS\n    value: \"" + strconv.FormatFloat(*n, 'f', 0, 64) + "\"\n"
	}
	if n := d.GOMEMLIMIT.Value; n != nil {
		env += "  - name: GOMEMLIMIT\n    value: " + units.GoMebibytes(int64(*n)) + "\n"
	}
	if env != "" {
		text += "env:\n" + env
	}
	return text, ""
}
