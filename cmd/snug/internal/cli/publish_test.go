// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

func zipped(t *testing.T, text string) string {
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

func TestReadAll(t *testing.T) {
	const text = `{"snug":"v1"}`
	half := zipped(t, text)
	for _, c := range []struct {
		name, in, out string
		ok            bool
	}{
		{"plain", text, text, true},
		{"compressed", zipped(t, text), text, true},
		{"empty", "", "", true},
		{"one byte of the magic number", "\x1f", "\x1f", true},
		{"the magic number only", "\x1f\x8b", "", false},
		{"cut off", half[:len(half)-6], text, false},
	} {
		got, err := readAll(strings.NewReader(c.in))
		if (err == nil) != c.ok || c.ok && string(got) != c.out {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestReadDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json.gz")
	if err := os.WriteFile(file, []byte(zipped(t, `{"snug":"v1","kind":"bench","rounds":3}`)), 0o644); err != nil {
		t.Fatal(err)
	}
	u := &ui{}
	d, err := u.readDocument(file)
	if b, ok := d.(*finding.Bench); err != nil || !ok || b.Rounds != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	u.in = strings.NewReader(`{"snug":"v1","kind":"verdict","limits":{},"plan":null}`)
	var f *failure
	if _, err := u.readDocument("-"); !errors.As(err, &f) || !strings.Contains(f.what, "a part is missing") {
		t.Errorf("half of a verdict: %v", err)
	}
}

// TestPublishAnswersFirst: a disk that is full does not cost the answer.
func TestPublishAnswersFirst(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	l := &lab{ui: &ui{out: &out}, html: filepath.Join(dir, "nowhere", "page.html"), benchfmt: filepath.Join(dir, "runs.txt")}
	l.ui.json = true
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench)}
	var f *failure
	if err := l.publish(d); !errors.As(err, &f) || f.code != exitFailed || !strings.Contains(f.what, "page.html") || f.hint != roomHint {
		t.Errorf("%+v", err)
	}
	if got, err := finding.Decode(out.Bytes()); err != nil || got == nil {
		t.Errorf("answers %q, %v", out.String(), err)
	}
	l.html = filepath.Join(dir, "page.html")
	if err := l.publish(d); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"page.html", "runs.txt"} {
		if text, err := os.ReadFile(filepath.Join(dir, name)); err != nil || len(text) == 0 {
			t.Errorf("%s: %d bytes, %v", name, len(text), err)
		}
	}
}

func TestWriteFormsOfNoExperiment(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	d := &finding.Plan{Head: finding.NewHead(finding.KindPlan)}
	for _, err := range []error{writeForms(d, file, ""), writeForms(d, "", file)} {
		var f *failure
		if !errors.As(err, &f) || f.code != exitFailed || !strings.Contains(f.hint, "only experiments") {
			t.Errorf("%+v", err)
		}
	}
	if _, err := os.Lstat(file); err == nil {
		t.Error("wrote a file")
	}
}
