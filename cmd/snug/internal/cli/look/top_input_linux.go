// SPDX-License-Identifier: Apache-2.0

package look

import (
	"unicode/utf8"

	"github.com/gdamore/tcell/v3"
)

// sane is a terminal whose input always lets the user quit. tcell 3.6 loops for ever on a byte
// that is not UTF-8 (tScreen.scanInput), and takes all keys after the start of a control string
// for its text.
type sane struct {
	tcell.Tty
	left []byte // the start of a character, from the last read
}

// Read drops bytes that are not UTF-8, and ends a control string before each Ctrl-C.
func (s *sane) Read(b []byte) (int, error) {
	read := make([]byte, max(1, len(b)/len(endString)-len(s.left)))
	n, err := s.Tty.Read(read)
	text, left := cleanInput(append(s.left, read[:n]...))
	s.left = left
	return copy(b, text), err
}

const (
	ctrlC     = 0x03
	endString = "\x1b\\\x03" // ST (ECMA-48), which tcell takes for Alt-\ outside a string, and Ctrl-C
)

// cleanInput returns the valid characters of an input, and the start of one at its end.
func cleanInput(b []byte) (text, left []byte) {
	for len(b) > 0 && utf8.FullRune(b) {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == ctrlC:
			text = append(text, endString...)
		case r != utf8.RuneError || n > 1:
			text = append(text, b[:n]...)
		}
		b = b[n:]
	}
	return text, append([]byte{}, b...)
}
