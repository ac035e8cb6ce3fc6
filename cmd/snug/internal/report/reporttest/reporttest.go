// SPDX-License-Identifier: Apache-2.0

// Package reporttest has what tests of several rooms ask of documents.
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

// RoundTrip writes a document down and reads it back: it is the same, and looks the same.
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
	if bytes.Contains(line, []byte("\"unknown\":null")) || bytes.Contains(line, []byte("\"warnings\":null")) || bytes.Contains(line, []byte("\"ignored\":null")) {
		t.Errorf("null for an empty list: %s", line)
	}
}

// Zipped is a text as gzip packs it.
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
