// SPDX-License-Identifier: Apache-2.0

package message

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// MostShown is how much of what was typed a message repeats, in bytes.
const MostShown = 200

// Typed is what was typed as a message repeats it: each word as a shell would read it
// back, an empty one in quotes. It ends where it gets long.
func Typed(words ...string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if len(w) > MostShown {
			return strings.Join(append(quoted[:i], Cut(w, MostShown)), " ")
		}
		quoted[i] = Quote(w)
	}
	return Cut(strings.Join(quoted, " "), MostShown)
}

// Cut is text of about so many bytes at most; what is cut off is counted.
func Cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "... (" + strconv.Itoa(len(text)) + " bytes)"
}

// Quote is a text as one word of a shell: a path with a blank would otherwise be
// two arguments.
func Quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:=@%+,", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
