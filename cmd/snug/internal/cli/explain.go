// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func newExplain(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID | WORD]",
		Short: "Explain the id of a reason, a warning or a finding, a term, or an alert",
		Long: `Explain the id of a reason, a warning or a finding (in brackets in text; "reason", "code"
or "id" in JSON), a word on snug's screen such as votes or "heap goal", or an alert of its
chart. json:KIND prints the JSON Schema of a kind of document, such as json:ps. Without an
argument, list all ids and words.`,
		Example: `  snug explain quota-ceil
  snug explain Ps looking for work
  snug explain GoProcsAboveQuota
  snug explain json:ps`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, e := range explain.All() {
				ids = append(ids, e.ID)
			}
			for _, kind := range finding.Kinds() {
				ids = append(ids, "json:"+kind)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all := explain.All()
			if len(args) == 0 {
				d := &finding.Index{Head: finding.NewHead(finding.KindIndex), Next: "snug explain " + all[0].ID}
				for _, e := range all {
					d.Entries = append(d.Entries, e.Entry)
				}
				return u.Answer(d)
			}
			words := strings.Join(args, " ")
			if kind, ok := strings.CutPrefix(words, "json:"); ok {
				schema := finding.Schema(kind)
				if schema == "" {
					return message.Usage("unknown kind of document, "+message.Typed(kind), "json: and one of "+strings.Join(finding.Kinds(), ", "))
				}
				return u.Write([]byte(schema))
			}
			if e := explain.Find(all, words); e != nil {
				return u.Answer(e)
			}
			if len(args) > 1 {
				return message.Usage("unknown words, "+message.Typed(args...), "one id or word at a time; snug explain lists them all")
			}
			hint := "snug explain lists them"
			var ids []string
			for _, e := range all {
				ids = append(ids, e.ID)
			}
			if like := ui.Like(words, ids); len(like) > 0 {
				hint = "did you mean snug explain " + strings.Join(like, " or ") + "?"
			}
			return message.Usage("unknown id or word, "+message.Typed(words), hint)
		},
	}
	u.JSONFlag(cmd.Flags())
	return cmd
}
