// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// NewLearn returns the command that prints the ConfigMap of what was measured.
func NewLearn(u *ui.UI) *cobra.Command {
	to, until := "snug/snug-learned", ""
	cmd := &cobra.Command{
		Use:   "learn FILE|-",
		Short: "Print measured memory as the ConfigMap that policies and webhook read",
		Long: `Print measured memory as the ConfigMap that admission policies and the webhook read, if their
configuration has learned: observe or use. It applies nothing. Each line of FILE is a container of
a workload, with the largest memory seen that is not Go's, and for how long it was seen:

  ` + learned.RowForm + `

BYTES may be 300MiB. Of several lines of a container the largest memory and the longest time
count. The ConfigMap has what FILE has, and nothing of before.`,
		Example: `  echo shop Deployment web app 300MiB 604800 | snug cluster learn -
  snug cluster learn rows.txt | kubectl apply --server-side -f -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return message.Usage("snug cluster learn needs one file, or - for stdin", "each line of it is "+learned.RowForm)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			namespace, name, _ := strings.Cut(to, "/")
			if !podpatch.IsName(namespace) || !podpatch.IsName(name) {
				return message.Usage("wrong value, --to "+message.Typed(to), "write NAMESPACE/NAME, as learnedFrom in the configuration")
			}
			day := time.Now()
			if until != "" {
				var err error
				if day, err = time.Parse(time.DateOnly, until); err != nil {
					return message.Usage("wrong value, --until "+message.Typed(until), "write a day, 2026-11-27")
				}
				if _, ok := podpatch.ParseMeasured(podpatch.Measured{Seconds: 1, Until: day}.String()); !ok {
					return message.Usage("no reader accepts this day, --until "+message.Typed(until), "write one from 2000-01-01 to 2099-12-31")
				}
			}
			file := args[0]
			peaks, long, err := readRows(u.In, file, day)
			var wrong *learned.Wrong
			if errors.As(err, &wrong) {
				at := message.Typed(file)
				if wrong.Line > 0 {
					at += fmt.Sprintf(":%d", wrong.Line)
				}
				return message.Usage(message.Clean(wrong.What)+", "+at, cmp.Or(wrong.Hint, "write "+learned.RowForm+", as: shop Deployment web app 300MiB 604800"))
			}
			if err != nil {
				return message.Failed("cannot read, "+message.Reason(err)+", "+message.Typed(file), "each line of it is "+learned.RowForm)
			}
			for _, key := range long {
				u.Note("warning: left out, its key would have %d characters, and a ConfigMap's have at most %d: %s", len(key), podpatch.MaxKeyLen, key)
			}
			if len(peaks) == 0 {
				return message.Failed("no rows that fit in a ConfigMap, "+message.Typed(file), "shorten the names of workloads and containers: a ConfigMap of none would clear what was measured")
			}
			if !peaks.Fits() {
				return message.Failed(fmt.Sprintf("%d containers are more than fit in a ConfigMap", len(peaks)), "leave out those that need nothing else than the fixed share")
			}
			return u.Write([]byte(peaks.YAML(namespace, name)))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&to, "to", to, "`NAMESPACE/NAME` of the ConfigMap, learnedFrom in the configuration")
	flags.StringVar(&until, "until", "", "`DAY` on which the measurements ended, 2026-11-27 (default today)")
	return cmd
}

// readRows reads the rows of a file, or of stdin if it is -.
func readRows(stdin io.Reader, file string, until time.Time) (peaks learned.Peaks, long []string, err error) {
	var from *bounded.Source
	if file == "-" {
		from, err = bounded.Wrap(context.Background(), io.NopCloser(stdin), file, bounded.Limits{})
	} else if _, err = os.Stat(file); err == nil { // it opens addresses, too
		from, err = bounded.Open(context.Background(), file, bounded.Limits{})
	}
	if err == nil {
		defer from.Close()
		peaks, long, err = learned.ReadRows(from, until)
	}
	if why, ok := strings.CutSuffix(fmt.Sprint(err), ", "+file); ok {
		err = errors.New(why)
	}
	return peaks, long, err
}
