// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxShown bounds how much of the user's input a message repeats, in bytes.
const MaxShown = 200

// Typed returns the user's input as a message repeats it: each word quoted for a shell, an
// empty one as a pair of quotes. Long input is cut.
func Typed(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if len(w) > MaxShown {
			return strings.Join(append(quoted[:i], Cut(w, MaxShown)), " ")
		}
		quoted[i] = Quote(w)
	}
	return Cut(strings.Join(quoted, " "), MaxShown)
}

// Cut shortens text to about maxLen bytes. If it cuts anything, it appends the full length.
func Cut(text string, maxLen int) string {
	if len(text) <= maxLen {
		return text
	}
	n := maxLen
	for n > maxLen-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "... (" + strconv.Itoa(len(text)) + " bytes)"
}

// Quote returns text as one word of a shell: a path with a space would otherwise be two
// arguments.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
