// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"fmt"
	"strings"
)

const (
	around   = 3       // unchanged lines beside a change
	maxTable = 4 << 20 // cells of the table of common lines; beyond that all changed lines are one change
)

// unified returns the differences of two texts as diff -u prints them, without the carriage returns of line ends.
func unified(name, before, after string) string {
	a, b := lines(before), lines(after)
	from := 0
	for from < len(a) && from < len(b) && a[from] == b[from] {
		from++
	}
	to := 0
	for to < len(a)-from && to < len(b)-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
	}
	x, y := a[from:len(a)-to], b[from:len(b)-to]
	common := longest(x, y)
	// Each step is a line with its sign: of a, of b, or of both.
	var steps []string
	add := func(sign string, all []string) {
		for _, line := range all {
			steps = append(steps, sign+line)
		}
	}
	add(" ", a[:from])
	for len(x)+len(y) > 0 {
		sign, of := "+", &y
		switch next := len(common) > 0; {
		case next && x[0] == common[0] && y[0] == common[0]:
			sign, of, y, common = " ", &x, y[1:], common[1:]
		case len(x) > 0 && !(next && x[0] == common[0]):
			sign, of = "-", &x
		}
		add(sign, (*of)[:1])
		*of = (*of)[1:]
	}
	add(" ", a[len(a)-to:])
	var out strings.Builder
	fmt.Fprintf(&out, "--- %s\n+++ %s\n", name, name)
	i, j := 0, 0 // lines of a and b before steps[n]
	for n := 0; n < len(steps); {
		if steps[n][0] == ' ' {
			n, i, j = n+1, i+1, j+1
			continue
		}
		begin := max(0, n-around)
		end, quiet := n, 0
		for k := n; k < len(steps) && quiet <= 2*around; k++ {
			if quiet++; steps[k][0] != ' ' {
				end, quiet = k+1, 0
			}
		}
		stop := min(len(steps), end+around)
		i, j = i-(n-begin), j-(n-begin)
		var hunk strings.Builder
		minus, plus := 0, 0
		for _, s := range steps[begin:stop] {
			if s[0] != '+' {
				minus++
			}
			if s[0] != '-' {
				plus++
			}
			text := strings.TrimSuffix(s, "\n")
			hunk.WriteString(strings.TrimSuffix(text, "\r") + "\n")
			if text == s {
				hunk.WriteString("\\ No newline at end of file\n")
			}
		}
		fmt.Fprintf(&out, "@@ -%s +%s @@\n%s", span(i, minus), span(j, plus), &hunk)
		n, i, j = stop, i+minus, j+plus
	}
	return out.String()
}

// lines splits a text after each newline.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if n := len(all) - 1; all[n] == "" {
		all = all[:n]
	}
	return all
}

// span formats a range of lines, from 0, for the head of a change.
func span(from, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, n)
}

// longest returns the longest common subsequence of lines.
func longest(x, y []string) []string {
	if (len(x)+1)*(len(y)+1) > maxTable {
		return nil
	}
	width := len(y) + 1
	table := make([]int32, (len(x)+1)*width)
	for i := len(x) - 1; i >= 0; i-- {
		for j := len(y) - 1; j >= 0; j-- {
			if x[i] == y[j] {
				table[i*width+j] = table[(i+1)*width+j+1] + 1
			} else {
				table[i*width+j] = max(table[(i+1)*width+j], table[i*width+j+1])
			}
		}
	}
	var common []string
	for i, j := 0, 0; i < len(x) && j < len(y); {
		switch {
		case x[i] == y[j]:
			common, i, j = append(common, x[i]), i+1, j+1
		case table[(i+1)*width+j] >= table[i*width+j+1]:
			i++
		default:
			j++
		}
	}
	return common
}
