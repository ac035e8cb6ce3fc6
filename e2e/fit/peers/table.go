// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/csv"
	"fmt"
	"os"
	"strings"
)

// table reads the output of situations and prints Markdown: how often each reader was right, then
// one line per situation in which a reader was not.
func table(args []string) error {
	type cell struct{ want, got, verdict string }
	cells := map[[3]string]cell{} // situation, figure, reader
	var names []string
	for _, name := range args {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		r := csv.NewReader(f)
		r.LazyQuotes = true // error messages contain quotes
		rows, err := r.ReadAll()
		f.Close()
		if err != nil {
			return err
		}
		for _, row := range rows[1:] {
			if len(names) == 0 || names[len(names)-1] != row[0] {
				names = append(names, row[0])
			}
			cells[[3]string{row[0], row[1], row[2]}] = cell{row[3], row[4], row[5]}
		}
	}
	columns := []struct{ figure, reader, title string }{
		{"model", "runtime", "runtime (model): GOMAXPROCS on the situation's CPUs"}, {"procs", "runtime", "runtime: GOMAXPROCS on the CPUs of the machine"}, {"quota", "automaxprocs", "automaxprocs: quota"}, {"quota", "snug", "snug: quota"},
		{"hard", "automemlimit", "automemlimit: hard limit"}, {"hard", "snug", "snug: hard limit"},
		{"soft", "automemlimit", "automemlimit: soft limit"}, {"soft", "snug", "snug: soft limit"},
	}
	fmt.Print("| reader: figure | right | wrong | error | crash |\n|--|--|--|--|--|\n")
	for _, c := range columns {
		count := map[string]int{}
		for _, n := range names {
			count[cells[[3]string{n, c.figure, c.reader}].verdict]++
		}
		fmt.Printf("| %s | %d | %d | %d | %d |\n", c.title, count["right"], count["wrong"], count["error"], count["crash"])
	}
	fmt.Print("\nWhere a reader is not right (in bold). Figures are Ps, cores and bytes.\n\n")
	fmt.Print("| situation | want: GOMAXPROCS; quota; hard; soft | runtime (model) | automaxprocs | automemlimit | snug |\n|--|--|--|--|--|--|\n")
	for _, n := range names {
		right := true
		show := func(figure, reader string) string {
			c := cells[[3]string{n, figure, reader}]
			text := c.got
			if strings.HasPrefix(text, "error") {
				text = "error"
			}
			if c.verdict != "right" {
				right = false
				text = "**" + text + "**"
			}
			return text
		}
		want := func(figure string) string { return cells[[3]string{n, figure, "snug"}].want }
		line := fmt.Sprintf("| %s | %s; %s; %s; %s | %s | %s | %s | %s; %s |", n,
			cells[[3]string{n, "model", "runtime"}].want, want("quota"), want("hard"), want("soft"),
			show("model", "runtime"), show("quota", "automaxprocs"), show("soft", "automemlimit"), show("quota", "snug"), show("soft", "snug"))
		if !right {
			fmt.Println(line)
		}
	}
	return nil
}
