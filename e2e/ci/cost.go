// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// cost prints what .ci/run takes for each of the n commits up to at, by today's stages, their dependencies and their last
// times, on a machine that has built what is built once.
func cost(h history, at, n string, last results, depends func(stage, string) bool, out io.Writer) error {
	count, err := strconv.Atoi(cmp.Or(n, "50"))
	if err != nil || count < 1 {
		return fmt.Errorf("-cost %s: want a number of commits", n)
	}
	text, err := git(h.ctx, h.root, "log", "--first-parent", "--format=%h %s", "-n", strconv.Itoa(count), at)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "minutes\tcommit\tstages beside those of every change")
	var all []time.Duration
	for line := range strings.SplitSeq(text, "\n") {
		commit, subject, _ := strings.Cut(line, " ")
		files, err := git(h.ctx, h.root, "diff", "--name-only", "--no-renames", commit+"^", commit)
		if err != nil {
			return err
		}
		var total time.Duration
		var names []string
		for _, s := range stages {
			touched := s.every || slices.ContainsFunc(strings.Fields(files), func(f string) bool { return depends(s, f) })
			if !touched || s.long || s.keeps != "" {
				continue
			}
			if total += expected(s, last); !s.every {
				names = append(names, s.name)
			}
		}
		all = append(all, total)
		fmt.Fprintf(w, "%.1f\t%s %s\t%s\n", total.Minutes(), commit, subject, strings.Join(names, " "))
	}
	slices.Sort(all)
	fmt.Fprintf(w, "%.1f\tmedian of %d\t\n%.1f\tmost\t\n", all[len(all)/2].Minutes(), len(all), all[len(all)-1].Minutes())
	return w.Flush()
}

func printStages(out io.Writer, g graph) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "stage\twords\truns when one of these has changed")
	for _, s := range stages {
		when := "anything"
		if !s.every {
			n, err := g.needs(s)
			if err != nil {
				return err
			}
			var packages []string
			for dir := range n.used {
				packages = append(packages, dir)
			}
			slices.Sort(packages)
			when = strings.Join(slices.Concat(s.files, packages), " ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", s.name, s.words, when)
	}
	return w.Flush()
}
