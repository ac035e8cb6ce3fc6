// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// UTF8 escapes bytes that are not UTF-8 as \xff, because JSON cannot hold them.
func UTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[i])
		} else {
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return b.String()
}
