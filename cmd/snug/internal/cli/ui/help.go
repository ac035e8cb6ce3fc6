// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
)

// Help is the help of a command. It is not a template of package text/template, because the linker
// keeps all methods of all types in a program that has one.
type Help struct {
	Path                 string // the command with the names before it
	Short, Long, Example string
	Use                  string // the line below "Usage:"
	Groups               []HelpGroup
	Flags                *pflag.FlagSet
	Brief                bool // without the long text and the examples
}

// HelpGroup is a list of commands under a title.
type HelpGroup struct {
	Title    string
	Commands [][2]string // name, short text
}

// Bytes returns the help as text.
func (h *Help) Bytes() []byte {
	var b bytes.Buffer
	brief := h.Brief && len(h.Groups) == 0
	text := h.Long
	if brief || text == "" {
		text = h.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), h.Use)
	if len(h.Groups) > 0 {
		fmt.Fprintf(&b, "  %s COMMAND --help\n", h.Path)
	}
	width := 0
	for _, g := range h.Groups {
		for _, c := range g.Commands {
			width = max(width, len(c[0]))
		}
	}
	for _, g := range h.Groups {
		fmt.Fprintf(&b, "\n%s\n", g.Title)
		for _, c := range g.Commands {
			fmt.Fprintf(&b, "  %-*s %s\n", width+1, c[0], c[1])
		}
	}
	writeFlags(&b, h.Flags)
	switch {
	case brief && h.Example != "":
		fmt.Fprintf(&b, "\n%s --help explains more and has examples.\n", h.Path)
	case h.Example != "":
		fmt.Fprintf(&b, "\nExamples:\n%s\n", h.Example)
	}
	return b.Bytes()
}

// writeFlags lists flags under the titles that flagvalue.Section gave them. Those without one come last.
func writeFlags(b *bytes.Buffer, all *pflag.FlagSet) {
	if !all.HasAvailableFlags() {
		return
	}
	// One rendering of all flags, so that all sections have the same columns.
	lines := flagLines(all.FlagUsages())
	var order []string
	sections := map[string]string{}
	all.VisitAll(func(f *pflag.Flag) {
		title := flagvalue.SectionOf(f)
		if !slices.Contains(order, title) {
			order = append(order, title)
		}
		sections[title] += lines[f.Name]
	})
	if i := slices.Index(order, ""); i >= 0 {
		order = append(slices.Delete(order, i, i+1), "")
	}
	for _, title := range order {
		head := title
		switch {
		case title == "" && len(order) > 1:
			head = "Other"
		case title == "":
			head = "Flags"
		}
		fmt.Fprintf(b, "\n%s:\n%s", head, sections[title])
	}
}

// flagLines splits pflag's list of flags into those of each flag. A flag begins with
// "      --name" or "  -n, --name"; deeper lines belong to the one before.
func flagLines(usages string) map[string]string {
	lines := map[string]string{}
	name := ""
	for line := range strings.Lines(usages) {
		if len(line) > 8 && line[6:8] == "--" {
			name = line[8 : 8+strings.IndexAny(line[8:], " \n")]
		}
		lines[name] += line
	}
	return lines
}
