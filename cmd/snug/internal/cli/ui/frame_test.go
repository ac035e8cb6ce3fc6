// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"
	"testing"
)

// TestUTF8Locale: locale(7).
func TestUTF8Locale(t *testing.T) {
	for env, want := range map[string]bool{
		"": false, "LANG=C": false, "LANG=C.UTF-8": true, "LANG=de_DE.utf8@euro": true, "LANG=en_US.UTF-8 LC_ALL=C": false,
		"LC_CTYPE=C.UTF-8 LANG=C": true, "LANG=ja_JP.eucJP": false,
	} {
		got := UTF8Locale(func(name string) string {
			for _, v := range strings.Fields(env) {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
		if got != want {
			t.Errorf("%q: %v", env, got)
		}
	}
}
