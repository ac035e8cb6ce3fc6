// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"
	"unicode"
)

// Clean makes text from elsewhere safe for a terminal. It escapes what is not printable, so
// that nothing in a file can imitate snug's output.
func Clean(s string) string {
	if !strings.ContainsFunc(s, Unprintable) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if Unprintable(r) {
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// CleanLines makes a whole answer safe for a terminal. It escapes control characters except for
// newlines and tabs, and characters that change the direction of text.
func CleanLines(s string) string {
	bad := func(r rune) bool { return r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf) }
	if !strings.ContainsFunc(s, bad) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if bad(r) {
			b.WriteString(Clean(string(r)))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Unprintable reports whether Clean escapes a rune.
func Unprintable(r rune) bool { return !unicode.IsPrint(r) }
