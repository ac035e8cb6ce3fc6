// SPDX-License-Identifier: Apache-2.0

package look

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
)

type readOnly struct {
	tcell.Tty
	io.Reader
}

func (r readOnly) Read(b []byte) (int, error) { return r.Reader.Read(b) }

// TestSaneInput: only valid characters get through, whole, however they come.
func TestSaneInput(t *testing.T) {
	for typed, want := range map[string]string{
		"q":                    "q",
		"\xe9q":                "q",
		"a\x80\xffb":           "ab",
		"日本語":                  "日本語",
		"\xe6\x97q":            "q",
		"\x1b]0;title\x03":     "\x1b]0;title\x1b\\\x03",
		"\x1b[A":               "\x1b[A",
		strings.Repeat("é", 9): strings.Repeat("é", 9),
	} {
		for name, in := range map[string]io.Reader{"at once": strings.NewReader(typed), "by byte": iotest.OneByteReader(strings.NewReader(typed))} {
			s := &sane{Tty: readOnly{Reader: in}}
			got := ""
			for b := make([]byte, 128); ; {
				n, err := s.Read(b)
				got += string(b[:n])
				if err != nil {
					break
				}
			}
			if got != want || !utf8.ValidString(got) {
				t.Errorf("%q %s: %q, want %q", typed, name, got, want)
			}
		}
	}
}
