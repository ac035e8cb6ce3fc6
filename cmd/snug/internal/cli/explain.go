// SPDX-License-Identifier: Apache-2.0

package cli

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// explainText is the one source of what ids mean; see parseExplanations for
// its form. A test compares it with the ids that packages limits and plan can
// give.
//
//go:embed explain.md
var explainText string

// wordsText is the same for words that stand on the screen beside ids.
//
//go:embed explain_words.md
var wordsText string

// alertsText is the same for the alerts that the chart installs.
//
//go:embed explain_alerts.md
var alertsText string

func newExplain(u *ui) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "explain [ID | WORD]",
		Short: "Explain an id that snug gives as a reason, a warning or a finding, a term, or an alert",
		Long: `Explain an id that snug gives as a reason, a warning or a finding, in brackets in text
and as "reason", "code" or "id" in JSON, a word that stands on its screen, such as votes or
"heap goal", or an alert of its chart. Without one, list them all.`,
		Example: `  snug explain quota-ceil
  snug explain Ps looking for work
  snug explain GoProcsAboveQuota`,
		GroupID: groupPlumbing,
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
			words := strings.Join(args, " ")
			if e := explained(all, words); e != nil {
				return u.answer(e)
			}
			if len(args) > 1 {
				return usage("unknown words, "+typed(args...), "one id or word at a time; snug explain lists them all")
			}
			return usage("unknown id or word, "+typed(words), "snug explain lists them")
		},
	}
	u.jsonFlag(cmd)
	return cmd
}

// explained is what an id or a word shown on the screen means; nil = nobody knows.
func explained(all []finding.Explanation, word string) *finding.Explanation {
	for i := range all {
		if all[i].ID == word {
			return &all[i]
		}
	}
	for i := range all {
		for _, shown := range shownAs(all[i].Text) {
			if strings.EqualFold(shown, word) {
				return &all[i]
			}
		}
	}
	for i := range all {
		if strings.EqualFold(all[i].ID, strings.ReplaceAll(word, " ", "-")) {
			return &all[i]
		}
	}
	return nil
}

// shownAs are the words in the last paragraph of a text, "Shown as: one; two.".
func shownAs(text string) []string {
	i := strings.LastIndex(text, "\n\nShown as: ")
	if i < 0 {
		return nil
	}
	_, list, _ := strings.Cut(text[i:], ": ")
	return strings.Split(strings.TrimSuffix(strings.Join(strings.Fields(list), " "), "."), "; ")
}

// explanations are those of explain.md, explain_words.md and explain_alerts.md, and of the
// rules.
func explanations() []finding.Explanation {
	all := slices.Concat(parseExplanations(explainText), parseExplanations(wordsText), parseExplanations(alertsText))
	for _, r := range rules.All() {
		all = append(all, finding.Explanation{
			Head: finding.NewHead(finding.KindExplain), Entry: finding.Entry{ID: r.ID, Class: "rule", Title: r.Title}, Text: r.Text,
		})
	}
	for _, r := range lint.Rules() {
		all = append(all, finding.Explanation{
			Head: finding.NewHead(finding.KindExplain), Entry: finding.Entry{ID: r.ID, Class: "lint", Title: r.Title}, Text: r.Text,
		})
	}
	all = append(all, parseExplanations("\n"+podpatch.Words)...)
	return append(all, vetExplanations()...)
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
