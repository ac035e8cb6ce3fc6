// SPDX-License-Identifier: Apache-2.0

// Package reporttest has checks of documents for the tests of several packages.
package reporttest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// RoundTrip checks that a document is the same, and renders the same, after encoding and decoding.
func RoundTrip(t *testing.T, d finding.Document) {
	t.Helper()
	line, err := finding.Encode(d)
	if err != nil {
		t.Fatal(err)
	}
	again, err := finding.Decode(line)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(d, again) {
		t.Errorf("read back\n%+v\nwant\n%+v", again, d)
	}
	var a, b bytes.Buffer
	if err := errors.Join(text.Write(&a, d), text.Write(&b, again)); err != nil {
		t.Fatal(err)
	}
	if a.String() != b.String() {
		t.Errorf("renders as\n%s\nwant\n%s", b.String(), a.String())
	}
	if strings.ContainsFunc(a.String(), func(r rune) bool { return r != '\n' && r < ' ' || r == 0x7f }) {
		t.Errorf("control characters in %q", a.String())
	}
	if bytes.Contains(line, []byte("\"unknown\":null")) || bytes.Contains(line, []byte("\"warnings\":null")) ||
		bytes.Contains(line, []byte("\"ignored\":null")) {
		t.Errorf("null for an empty list: %s", line)
	}
}

// Zipped returns a text compressed by gzip.
func Zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
