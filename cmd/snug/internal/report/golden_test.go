// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

var update = flag.Bool("update", false, "rewrite testdata")

var documents = []struct {
	name string
	doc  finding.Document
}{
	{"quick", quick()}, {"full", full()}, {"users", rising()}, {"ramp", ramping()}, {"batch", batch()}, {"killed", killed()}, {"tune", searched()},
	{"empty-bench", &finding.Bench{Head: finding.NewHead(finding.KindBench)}},
	{"empty-tune", &finding.Tune{Head: finding.NewHead(finding.KindTune)}},
}

// golden compares with a file in testdata, or rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; go test -update rewrites it:\n%s", file, got)
	}
}

// TestSaved: a document read back from its JSON renders the same.
func TestSaved(t *testing.T) {
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			data, err := finding.Encode(d.doc)
			if err != nil {
				t.Fatal(err)
			}
			golden(t, d.name+".json", data)
			again, err := finding.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			for name, render := range renderers {
				var a, b bytes.Buffer
				if err := errors.Join(render(&a, d.doc), render(&b, again)); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(a.Bytes(), b.Bytes()) {
					t.Errorf("%s differs after saving", name)
				}
			}
		})
	}
}

var renderers = map[string]func(io.Writer, finding.Document) error{"text": text.Write, "page": page.Write, "benchmarks": Benchfmt, "JSON": JSON}

func TestText(t *testing.T) {
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := text.Write(&b, d.doc); err != nil {
				t.Fatal(err)
			}
			golden(t, d.name+".txt", b.Bytes())
			for line := range bytes.Lines(b.Bytes()) {
				if n := utf8.RuneCount(bytes.TrimRight(line, "\n")); n > text.Width {
					t.Errorf("%d columns: %s", n, line)
				}
			}
		})
	}
}

func TestHTML(t *testing.T) {
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := page.Write(&b, d.doc); err != nil {
				t.Fatal(err)
			}
			golden(t, d.name+".html", stable(b.Bytes()))
		})
	}
}

// stable returns a page without its data: that is the golden JSON, too long to store twice.
func stable(page []byte) []byte {
	page = regexp.MustCompile(`base64,[^"]*`).ReplaceAll(page, []byte("base64,DATA"))
	page = regexp.MustCompile(`(?s)(<pre class="json"[^>]*>).*?</pre>`).ReplaceAll(page, []byte("${1}DATA</pre>"))
	// The size depends on the version of compress/gzip.
	return regexp.MustCompile(`[0-9.]+ [KM]?i?B, ([^;]* compressed by gzip)`).ReplaceAll(page, []byte("SIZE, $1"))
}
