// SPDX-License-Identifier: Apache-2.0

// Package explain holds the text for every id and word that snug prints, including those of
// packages rules, lint, podpatch and vet.
package explain

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// explainText explains the ids of limits, plan and the experiments; see Parse for its
// format. A test compares it with the ids that those packages define.
//
//go:embed explain.md
var explainText string

// wordsText explains words that appear on the screen.
//
//go:embed words.md
var wordsText string

// alertsText explains the alerts that the chart installs.
//
//go:embed alerts.md
var alertsText string

// Find returns the explanation of an id or of a word shown on the screen, or nil if there is
// none.
func Find(all []finding.Explanation, word string) *finding.Explanation {
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

// shownAs returns the words in the last paragraph of a text, "Shown as: one; two.".
func shownAs(text string) []string {
	i := strings.LastIndex(text, "\n\nShown as: ")
	if i < 0 {
		return nil
	}
	_, list, _ := strings.Cut(text[i:], ": ")
	return strings.Split(strings.TrimSuffix(strings.Join(strings.Fields(list), " "), "."), "; ")
}

// All returns the explanations of explain.md, words.md and alerts.md, and of packages
// rules, lint, podpatch and vet.
func All() []finding.Explanation {
	all := slices.Concat(Parse(explainText), Parse(wordsText), Parse(alertsText))
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
	all = append(all, Parse("\n"+podpatch.Words)...)
	return append(all, OfVet()...)
}

// Parse reads the format of explain.md. Each section is
//
//	## quota-ceil (reason)
//
//	The CPU quota, rounded up to whole Ps
//
//	Paragraphs of text.
func Parse(text string) []finding.Explanation {
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

// OfVet returns the explanations of package vet's ids.
func OfVet() []finding.Explanation { return Parse("\n" + vet.Text) }

// Texts returns the text of each id.
func Texts() map[string]string {
	texts := map[string]string{}
	for _, e := range All() {
		texts[e.ID] = e.Text
	}
	return texts
}

// Titles returns the title of each id.
func Titles() map[string]string {
	titles := map[string]string{}
	for _, e := range All() {
		titles[e.ID] = e.Title
	}
	return titles
}
