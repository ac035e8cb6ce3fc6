// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"
	"unicode"
)

// Clean makes other people's text safe for a terminal: what is not printable
// becomes its escape, so that nothing in a file can pretend to be output.
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

func Unprintable(r rune) bool { return !unicode.IsPrint(r) }
