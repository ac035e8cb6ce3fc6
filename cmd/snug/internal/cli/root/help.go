// SPDX-License-Identifier: Apache-2.0

package root

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
)

// help returns the help of a command; brief is without the long text and the examples.
func help(cmd *cobra.Command, brief bool) []byte {
	var b bytes.Buffer
	groups := cmd.HasAvailableSubCommands()
	brief = brief && cmd.HasParent() && !groups
	text := cmd.Long
	if brief || text == "" {
		text = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(text), cmd.UseLine())
	if groups {
		fmt.Fprintf(&b, "  %s COMMAND --help\n", cmd.CommandPath())
		writeCommands(&b, cmd)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SortFlags = cmd.Flags().SortFlags
	flags.AddFlagSet(cmd.LocalFlags())
	flags.AddFlagSet(cmd.InheritedFlags())
	writeFlags(&b, flags)
	switch {
	case brief && cmd.Example != "":
		fmt.Fprintf(&b, "\n%s --help explains more and has examples.\n", cmd.CommandPath())
	case cmd.Example != "":
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	return b.Bytes()
}

// writeCommands lists the commands of cmd by group.
func writeCommands(b *bytes.Buffer, cmd *cobra.Command) {
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	listed := func(c *cobra.Command, g *cobra.Group) bool {
		return c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help")
	}
	width := 0
	for _, c := range cmd.Commands() {
		if slices.ContainsFunc(groups, func(g *cobra.Group) bool { return listed(c, g) }) {
			width = max(width, len(c.Name()))
		}
	}
	for _, g := range groups {
		fmt.Fprintf(b, "\n%s\n", g.Title)
		for _, c := range cmd.Commands() {
			if listed(c, g) {
				fmt.Fprintf(b, "  %-*s %s\n", width+1, c.Name(), c.Short)
			}
		}
	}
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
