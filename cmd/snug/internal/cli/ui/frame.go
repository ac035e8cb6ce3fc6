// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Frame prints one of several answers. text returns it for a width in cells; 0 = any. If further
// is set, a blank line separates it from the one before.
func (u *UI) Frame(text func(columns int) string, d finding.Document, further bool) error {
	if u.JSON {
		return u.Answer(d)
	}
	shown := text(u.columns())
	if further {
		shown = "\n" + shown
	}
	return u.Write([]byte(shown))
}

// UTF8Locale reports whether the locale's character set is UTF-8. LC_ALL wins over LC_CTYPE,
// and LC_CTYPE over LANG (locale(7), charsets(7)).
func UTF8Locale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := getenv(name); v != "" {
			v = strings.ToLower(v)
			return strings.Contains(v, "utf-8") || strings.Contains(v, "utf8")
		}
	}
	return false
}
