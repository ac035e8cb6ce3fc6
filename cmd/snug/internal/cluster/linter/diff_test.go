// SPDX-License-Identifier: Apache-2.0

package linter

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestUnified: the difference turns one text into the other, and back.
func TestUnified(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var a, b []string
		for range r.IntN(30) {
			line := fmt.Sprint(r.IntN(6), "\n")
			if r.IntN(8) > 0 {
				a = append(a, line)
			}
			if r.IntN(8) > 0 {
				b = append(b, line)
			}
		}
		before, after := strings.Join(a, ""), strings.Join(b, "")
		if r.IntN(4) == 0 {
			before = strings.TrimSuffix(before, "\n")
		}
		if before == after {
			continue
		}
		d := unified("f", before, after)
		if x, y := patched(t, before, d, '-', '+'), patched(t, after, d, '+', '-'); x != after || y != before {
			t.Fatalf("%q and %q:\n%s\ngive %q and %q", before, after, d, x, y)
		}
	}
}

// lines splits a text after each newline.
func lines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if n := len(all) - 1; all[n] == "" {
		all = all[:n]
	}
	return all
}

// patched applies a difference, whose lines with the sign from are in text.
func patched(t *testing.T, text, diff string, from, to byte) string {
	t.Helper()
	var out strings.Builder
	rest := lines(text)
	at := 0
	all := lines(diff)[2:]
	for i, line := range all {
		if strings.HasPrefix(line, `\`) {
			continue
		}
		body := line[1:]
		if i+1 < len(all) && strings.HasPrefix(all[i+1], `\`) {
			body = strings.TrimSuffix(body, "\n")
		}
		switch line[0] {
		case '@':
			var a, an, b, bn int
			if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &a, &an, &b, &bn); err != nil {
				t.Fatal(line, err)
			}
			if from == '+' {
				a, an = b, bn
			}
			if an > 0 {
				a--
			}
			for ; at < a; at++ {
				out.WriteString(rest[at])
			}
		case ' ', from:
			if at >= len(rest) || rest[at] != body {
				t.Fatalf("line %d is not %q in\n%s", at, body, diff)
			}
			at++
			if line[0] == ' ' {
				out.WriteString(body)
			}
		case to:
			out.WriteString(body)
		}
	}
	return out.String() + strings.Join(rest[at:], "")
}
