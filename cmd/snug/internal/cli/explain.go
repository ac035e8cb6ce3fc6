// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func newExplain(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID | WORD | PREFIX | TOPIC]",
		Short: "Explain the id of a reason, a warning or a finding, a term, or an alert",
		Long: `Explain the id of a reason, a warning or a finding (in brackets in text; "reason", "code"
or "id" in JSON), a word on snug's screen such as votes or "heap goal", or an alert of its
chart. json:KIND prints the JSON Schema of a kind of document, such as json:ps.

The name of a topic, such as limits, lists its ids, and a prefix those that begin with it.
Without an argument, list all by topic; with --json their texts are in it.`,
		Example: `  snug explain quota-ceil
  snug explain Ps looking for work
  snug explain gomaxprocs-
  snug explain GoProcsAboveQuota
  snug explain json:ps`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var names []string
			for _, name := range explain.Names() {
				if !strings.Contains(name, " ") {
					names = append(names, name)
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all := explain.All()
			if len(args) == 0 {
				return u.Answer(explain.Index(all))
			}
			words := strings.Join(args, " ")
			kind, isKind := strings.CutPrefix(words, "json:")
			if schema := finding.Schema(kind); isKind && schema != "" {
				return u.Write([]byte(schema))
			}
			if e := explain.Find(all, words); e != nil {
				return u.Answer(&finding.Explanation{Head: finding.NewHead(finding.KindExplain), Entry: *e})
			}
			if under := explain.Under(all, words); len(under) > 0 {
				return u.Answer(explain.Index(under))
			}
			if isKind {
				return message.Usage(message.Typed(kind)+": unknown kind of document",
					"json: and one of "+strings.Join(finding.Kinds(), ", "))
			}
			if len(args) > 1 {
				return message.Usage(message.Typed(args...)+": unknown words",
					"one id or word at a time; snug explain lists them all")
			}
			hint := ui.DidYouMean("snug explain ", words, explain.Names(), "snug explain lists them")
			return message.Usage(message.Typed(words)+": unknown id or word", hint)
		},
	}
	u.JSONFlag(cmd.Flags())
	return cmd
}
