// SPDX-License-Identifier: Apache-2.0

// Package report writes documents for machines: JSON, Go's benchmark format, SARIF and
// annotations. Packages text and page write them for people. All of them use only the
// document, so a saved document renders the same again.
package report

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf16"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// JSON writes a document as one line. It escapes characters that are invisible or change
// the text direction, because the line may be shown on a terminal.
func JSON(w io.Writer, d finding.Document) error {
	line, err := finding.Encode(d)
	if err != nil {
		return err
	}
	_, err = w.Write(escaped(line))
	return err
}

// escaped escapes the unprintable runes in JSON strings that encoding/json does not
// escape, as \u and four digits.
func escaped(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && message.Unprintable(r) }
	if !bytes.ContainsFunc(text, odd) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}
