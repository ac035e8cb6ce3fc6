// SPDX-License-Identifier: Apache-2.0

package message

import (
	"slices"
	"strings"
	"testing"
)

func TestTyped(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, c := range []struct {
		name  string
		words []string
		want  string
	}{
		{"nothing", nil, ""},
		{"an empty word", []string{""}, "''"},
		{"plain words", []string{"server", "4711"}, "server 4711"},
		{"words for a shell", []string{"my server", "it's"}, `'my server' 'it'\''s'`},
		{"a long word", []string{long}, long[:MaxShown] + "... (1048576 bytes)"},
		{"a long word among others", []string{"a", long, "b"}, "a " + long[:MaxShown] + "... (1048576 bytes)"},
		{"many words", slices.Repeat([]string{"abcdefghi"}, 100), strings.Repeat("abcdefghi ", MaxShown/10) + "... (999 bytes)"},
		{"not in the middle of a sign", []string{strings.Repeat("日", 100)}, strings.Repeat("日", MaxShown/3) + "... (300 bytes)"},
	} {
		if got := Typed(c.words...); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := Cut(strings.Repeat("\x80", 100), 50); len(got) > 70 {
		t.Errorf("no text: %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	for text, want := range map[string]string{
		"/host":    "/host",
		"":         "''",
		"a b":      "'a b'",
		"it's":     `'it'\''s'`,
		"$(x)":     "'$(x)'",
		"v1.txtar": "v1.txtar",
	} {
		if got := Quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
