// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/learned"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// itHas says what the command reads.
const itHas = "it has what snug cluster size --json prints, or lines of the form " + learned.RowForm

// NewLearn returns the command that prints the ConfigMap of what was measured.
func NewLearn(u *ui.UI) *cobra.Command {
	to, until := "snug/snug-learned", ""
	cmd := &cobra.Command{
		Use:   "learn FILE|-",
		Short: "Print measured memory as the ConfigMap that policies and webhook read",
		Long: `Print measured memory as the ConfigMap that admission policies and the webhook read, if their
configuration has learned: observe or use. It applies nothing. FILE is what snug cluster size
--json prints; what agents could not measure is left out, and said. Or each line of it is a
container of a workload, with the largest memory seen that is not Go's, and for how long it was seen:

  ` + learned.RowForm + `

BYTES may be 300MiB. Of several lines of a container the largest memory and the longest time
count. The ConfigMap has what FILE has, and nothing of before.`,
		Example: `  kubectl snug size --json | snug cluster learn - | kubectl apply --server-side -f -
  echo shop Deployment web app 300MiB 604800 | snug cluster learn -
  snug cluster learn rows.txt`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return message.Usage("snug cluster learn needs one file, or - for stdin", itHas)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			namespace, name, _ := strings.Cut(to, "/")
			if !podpatch.IsName(namespace) || !podpatch.IsName(name) {
				return message.Usage("wrong value, --to "+message.Typed(to), "write NAMESPACE/NAME, as learnedFrom in the configuration")
			}
			var day time.Time // zero = today, or when the agents were asked
			if until != "" {
				var err error
				if day, err = time.Parse(time.DateOnly, until); err != nil {
					return message.Usage("wrong value, --until "+message.Typed(until), "write a day, 2026-11-27")
				}
				if !readable(day) {
					return message.Usage("no reader accepts this day, --until "+message.Typed(until), "write one from 2000-01-01 to 2099-12-31")
				}
			}
			file := args[0]
			m, err := readMeasured(u.In, file, day)
			var wrong *learned.Wrong
			if errors.As(err, &wrong) {
				at := message.Typed(file)
				if wrong.Line > 0 {
					at += fmt.Sprintf(":%d", wrong.Line)
				}
				return message.Usage(message.Clean(wrong.What)+", "+at, cmp.Or(wrong.Hint, "write "+learned.RowForm+", as: shop Deployment web app 300MiB 604800"))
			}
			if err != nil {
				return message.Failed("cannot read, "+message.Reason(err)+", "+message.Typed(file), itHas)
			}
			for _, what := range m.miss {
				u.Note("warning: %s", what)
			}
			for _, l := range grouped(m.left) {
				u.Note("warning: left out, %s: %s", l.Why, l.Name)
			}
			for _, key := range m.long {
				u.Note("warning: left out, its key would have %d characters, and a ConfigMap's have at most %d: %s", len(key), podpatch.MaxKeyLen, key)
			}
			switch {
			case len(m.peaks)+len(m.long) == 0:
				return message.Failed("no container whose memory that is not Go's is known, "+message.Typed(file), "ask again once agents have seen the containers for a few scans, or write lines of the form "+learned.RowForm)
			case len(m.peaks) == 0:
				return message.Failed("no rows that fit in a ConfigMap, "+message.Typed(file), "shorten the names of workloads and containers: a ConfigMap of none would clear what was measured")
			case !m.peaks.Fits():
				return message.Failed(fmt.Sprintf("%d containers are more than fit in a ConfigMap", len(m.peaks)), "leave out those that need nothing else than the fixed share")
			}
			u.Note("note: to apply it replaces what the ConfigMap has: %s", summary(m.peaks))
			return u.Write([]byte(m.peaks.YAML(namespace, name)))
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&to, "to", to, "`NAMESPACE/NAME` of the ConfigMap, learnedFrom in the configuration")
	flags.StringVar(&until, "until", "", "`DAY` on which the measurements ended, 2026-11-27 (default today, or when the agents were asked)")
	return cmd
}

// readable reports whether policies and webhook can read a day.
func readable(day time.Time) bool {
	_, ok := podpatch.ParseMeasured(podpatch.Measured{Seconds: 1, Until: day}.String())
	return ok
}

// rows is what a file has.
type rows struct {
	peaks learned.Peaks
	long  []string       // keys that no ConfigMap can have
	left  []learned.Left // by agents
	miss  []string       // what else is missing
}

// readMeasured reads a file, or stdin if it is -. until is the day on which its measurements ended; zero = when the agents
// were asked, or today.
func readMeasured(stdin io.Reader, file string, until time.Time) (m rows, err error) {
	var from *bounded.Source
	if file == "-" {
		from, err = bounded.Wrap(context.Background(), io.NopCloser(stdin), file, bounded.Limits{})
	} else {
		from, err = bounded.Open(context.Background(), file, bounded.Limits{})
	}
	var head []byte
	if err == nil {
		defer from.Close()
		head, err = from.Head()
	}
	switch {
	case err != nil:
	case bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")): // no row begins with it
		m, err = readSizes(from, until)
	default:
		m.peaks, m.long, err = learned.ReadRows(from, cmp.Or(until, time.Now()))
	}
	if why, ok := strings.CutSuffix(fmt.Sprint(err), ", "+file); ok {
		err = errors.New(why)
	}
	return m, err
}

// readSizes reads what agents have seen of workloads. What is something else is an error of type *learned.Wrong.
func readSizes(r *bounded.Source, until time.Time) (m rows, err error) {
	text, err := r.All()
	if err != nil {
		return m, err
	}
	const hint = "save what snug cluster size --json prints, without --prometheus"
	d, err := finding.Decode(text)
	if err != nil {
		return m, &learned.Wrong{What: err.Error(), Hint: hint}
	}
	s, ok := d.(*finding.FleetSize)
	if !ok || len(s.Other) == 0 && len(s.Workloads) > 0 {
		return m, &learned.Wrong{What: "it does not say how much memory is not Go's", Hint: hint}
	}
	if until.IsZero() {
		if until, err = time.Parse(time.RFC3339, s.At); err != nil || !readable(until) {
			return m, &learned.Wrong{What: "it does not say when the agents were asked, in a way that can be read", Hint: "name the day by --until"}
		}
	}
	if n := len(s.Silent); n > 0 {
		m.miss = append(m.miss, fmt.Sprintf("%d of %d agents did not answer: what only they have seen is missing", n, s.Agents))
	}
	if s.LeftOut > 0 {
		m.miss = append(m.miss, fmt.Sprintf("agents had no room for %s", units.Plural(s.LeftOut, "workload")))
	}
	for _, g := range s.Unknown {
		m.miss = append(m.miss, "unknown: "+g.Field+": "+g.Why)
	}
	m.peaks, m.long, m.left = learned.OfAgents(s.Other, until)
	return m, nil
}

// grouped returns one for each reason, named by the first container and the number of others.
func grouped(all []learned.Left) (some []learned.Left) {
	count := map[string]int{}
	for _, l := range all {
		if count[l.Why]++; count[l.Why] == 1 {
			some = append(some, l)
		}
	}
	for i, l := range some {
		if n := count[l.Why]; n > 1 {
			some[i].Name += fmt.Sprintf(" and %d more", n-1)
		}
	}
	return some
}

// summary says how much there is.
func summary(p learned.Peaks) string {
	namespaces, short := map[string]bool{}, 0
	for key, m := range p {
		namespace, _, _ := strings.Cut(key, "_")
		namespaces[namespace] = true
		if m.Seconds < 24*60*60 {
			short++
		}
	}
	text := units.Plural(len(p), "container") + " of " + units.Plural(len(namespaces), "namespace")
	if short > 0 {
		text += fmt.Sprintf(", %d measured for less than a day", short)
	}
	return text
}
