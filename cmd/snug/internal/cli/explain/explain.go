// SPDX-License-Identifier: Apache-2.0

// Package explain holds the text for every id and word that snug prints, including those of
// packages rules, lint, podpatch and vet, by topic. snug explain prints them, and the site has a
// page for each topic.
package explain

import (
	"embed"
	"slices"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podpatch"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// texts has a file for each topic: the topic's title, and sections in the format of Parse.
//
//go:embed texts/*.md
var texts embed.FS

// topics lists the ids of the topics, which are also the names of their files, and what explains
// more ids than the file does.
var topics = []struct {
	id   string
	more func() []finding.Entry
}{
	{"go", nil},
	{"limits", nil},
	{"decisions", nil},
	{"adapt", nil},
	{"warnings", nil},
	{"processes", ofRules},
	{"source", OfVet},
	{"manifests", ofLint},
	{"pods", func() []finding.Entry { return Parse("\n" + podpatch.Words) }},
	{"sizes", nil},
	{"alerts", nil},
	{"figures", nil},
	{"cpu", nil},
	{"experiments", nil},
	{"metrics", nil},
	{"json", ofKinds},
}

// read returns all topics and entries. It parses the texts once.
var read = sync.OnceValue(func() *finding.Index {
	d := &finding.Index{Head: finding.NewHead(finding.KindIndex)}
	for _, topic := range topics {
		text, _ := texts.ReadFile("texts/" + topic.id + ".md") // a test reads every one
		head, _, _ := strings.Cut(string(text), "\n## ")
		title, intro, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(head, "# ")), "\n")
		d.Topics = append(d.Topics, finding.Topic{ID: topic.id, Title: title, Text: strings.TrimSpace(intro)})
		entries := Parse(string(text))
		if topic.more != nil {
			entries = append(entries, topic.more()...)
		}
		for i := range entries {
			entries[i].Topic = topic.id
		}
		d.Entries = append(d.Entries, entries...)
	}
	return d
})

// All returns what every id and word means, in the order of the topics.
func All() []finding.Entry { return slices.Clone(read().Entries) }

// Index lists entries by topic. Entries are in the order of All.
func Index(entries []finding.Entry) *finding.Index {
	d := &finding.Index{Head: finding.NewHead(finding.KindIndex), Topics: []finding.Topic{}, Entries: entries}
	for _, topic := range read().Topics {
		if slices.ContainsFunc(entries, func(e finding.Entry) bool { return e.Topic == topic.ID }) {
			d.Topics = append(d.Topics, topic)
		}
	}
	if len(entries) > 0 {
		d.Next = "snug explain " + entries[0].ID
	}
	return d
}

// Find returns what an id or a word shown on the screen means, or nil if nothing explains it.
func Find(all []finding.Entry, word string) *finding.Entry {
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

// Under returns the entries of a topic, or those whose id or word on the screen begins with prefix.
func Under(all []finding.Entry, prefix string) []finding.Entry {
	begins := func(s string) bool { return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix) }
	var of, under []finding.Entry
	for _, e := range all {
		if e.Topic == prefix {
			of = append(of, e)
		}
		if begins(e.ID) || slices.ContainsFunc(shownAs(e.Text), begins) {
			under = append(under, e)
		}
	}
	if of != nil {
		return of
	}
	return under
}

// Names returns every topic, id and word on the screen.
func Names() []string {
	var names []string
	for _, topic := range read().Topics {
		names = append(names, topic.ID)
	}
	for _, e := range read().Entries {
		names = append(append(names, e.ID), shownAs(e.Text)...)
	}
	return names
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

// Parse reads the format of the texts. Each section is
//
//	## quota-ceil (reason)
//
//	The CPU quota, rounded up to whole Ps
//
//	Paragraphs of text.
//
// A last paragraph, "Shown as: one; two.", lists the words as they appear on the screen; Find finds
// the section by each of them.
func Parse(text string) []finding.Entry {
	var all []finding.Entry
	for _, section := range strings.Split(text, "\n## ")[1:] {
		head, rest, _ := strings.Cut(section, "\n")
		id, class, _ := strings.Cut(strings.TrimSuffix(head, ")"), " (")
		title, body, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		all = append(all, finding.Entry{ID: id, Class: class, Title: title, Text: strings.TrimSpace(body) + "\n"})
	}
	return all
}

// OfVet returns the entries of package vet's ids.
func OfVet() []finding.Entry { return Parse("\n" + vet.Text) }

func ofRules() []finding.Entry {
	var all []finding.Entry
	for _, r := range rules.All() {
		all = append(all, finding.Entry{ID: r.ID, Class: "rule", Title: r.Title, Text: r.Text})
	}
	return all
}

func ofLint() []finding.Entry {
	var all []finding.Entry
	for _, r := range lint.Rules() {
		all = append(all, finding.Entry{ID: r.ID, Class: "lint", Title: r.Title, Text: r.Text})
	}
	return all
}

// ofKinds explains each kind of document by the first sentence of its schema.
func ofKinds() []finding.Entry {
	var all []finding.Entry
	about := finding.About()
	for _, kind := range finding.Kinds() {
		title, more, _ := strings.Cut(strings.TrimSuffix(about[kind], "."), ". ")
		text := "Its fields: docs/json.md#" + kind + ". Its JSON Schema: snug explain json:" + kind + "\n"
		if more != "" {
			text = more + ".\n\n" + text
		}
		all = append(all, finding.Entry{ID: "json:" + kind, Class: "document", Title: title, Text: text})
	}
	return all
}

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
