// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"html"
	"io"
	"regexp"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
)

// TestDownload: a page holds the whole document, compressed.
func TestDownload(t *testing.T) {
	link := regexp.MustCompile(`download="snug-(bench|tune)\.json\.gz" href="data:application/gzip;base64,([^"]*)"`)
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			var drawn bytes.Buffer
			if err := page.Write(&drawn, d.doc); err != nil {
				t.Fatal(err)
			}
			m := link.FindSubmatch(drawn.Bytes())
			if m == nil || string(m[1]) != finding.KindOf(d.doc) {
				t.Fatalf("no link to the data of a %s: %.40q", finding.KindOf(d.doc), m)
			}
			packed, err := base64.StdEncoding.DecodeString(html.UnescapeString(string(m[2])))
			if err != nil {
				t.Fatal(err)
			}
			z, err := gzip.NewReader(bytes.NewReader(packed))
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(z)
			if err != nil {
				t.Fatal(err)
			}
			want, err := finding.Encode(d.doc)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%d bytes that differ from the document's %d", len(got), len(want))
			}
			if len(want) > 10_000 && len(packed) > len(want)/2 {
				t.Errorf("%d bytes, compressed %d", len(want), len(packed))
			}
		})
	}
}
