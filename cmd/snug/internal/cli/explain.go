// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/rules"
)

// explainText is the one source of what ids mean; see parseExplanations for
// its form. A test compares it with the ids that packages limits and plan can
// give.
//
//go:embed explain.md
var explainText string

func newExplain(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID]",
		Short: "Explain an id that snug gives as a reason, a warning or a finding, or a term",
		Long: `Explain an id that snug gives as a reason, a warning or a finding, in brackets in text
and as "reason", "code" or "id" in JSON, or a term such as stall-law. Without one, list them
all.`,
		Example: "  snug explain quota-ceil",
		GroupID: groupPlumbing,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage("one id at a time, "+cmd.CommandPath()+" "+strings.Join(args, " "), "snug explain lists them all")
			}
			return nil
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			var ids []string
			for _, e := range explanations() {
				ids = append(ids, e.ID)
			}
			return ids, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			all := explanations()
			if len(args) == 0 {
				d := &finding.Index{Head: finding.NewHead(finding.KindIndex), Next: "snug explain " + all[0].ID}
				for _, e := range all {
					d.Entries = append(d.Entries, e.Entry)
				}
				return u.answer(d)
			}
			i := slices.IndexFunc(all, func(e finding.Explanation) bool { return e.ID == args[0] })
			if i < 0 {
				return usage("unknown id, "+args[0], "snug explain lists them")
			}
			return u.answer(&all[i])
		},
	}
	u.jsonFlag(cmd)
	return cmd
}

// explanations are those of explain.md and of the rules.
func explanations() []finding.Explanation {
	all := parseExplanations(explainText)
	for _, r := range rules.All() {
		all = append(all, finding.Explanation{
			Head: finding.NewHead(finding.KindExplain), Entry: finding.Entry{ID: r.ID, Class: "rule", Title: r.Title}, Text: r.Text,
		})
	}
	return all
}

// parseExplanations reads explain.md. Each section is
//
//	## quota-ceil (reason)
//
//	The CPU quota, rounded up to whole Ps
//
//	Paragraphs of text.
func parseExplanations(text string) []finding.Explanation {
	var all []finding.Explanation
	for _, section := range strings.Split(text, "\n## ")[1:] {
		head, rest, _ := strings.Cut(section, "\n")
		id, class, _ := strings.Cut(strings.TrimSuffix(head, ")"), " (")
		title, body, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		all = append(all, finding.Explanation{
			Head:  finding.NewHead(finding.KindExplain),
			Entry: finding.Entry{ID: id, Class: class, Title: title},
			Text:  strings.TrimSpace(body) + "\n",
		})
	}
	return all
}
