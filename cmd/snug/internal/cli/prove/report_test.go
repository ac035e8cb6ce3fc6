// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/reporttest"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

func TestReadAll(t *testing.T) {
	const text = `{"snug":"v1"}`
	half := reporttest.Zipped(t, text)
	for _, c := range []struct {
		name, in, out string
		ok            bool
	}{
		{"plain", text, text, true},
		{"compressed", reporttest.Zipped(t, text), text, true},
		{"empty", "", "", true},
		{"one byte of the magic number", "\x1f", "\x1f", true},
		{"the magic number only", "\x1f\x8b", "\x1f\x8b", true},
		{"cut off", half[:len(half)-6], text, false},
	} {
		got, err := readAll(&ui.UI{In: strings.NewReader(c.in)}, "-")
		if (err == nil) != c.ok || c.ok && string(got) != c.out {
			t.Errorf("%s: %q, %v", c.name, got, err)
		}
	}
}

func TestReadDocument(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json.gz")
	if err := os.WriteFile(file, []byte(reporttest.Zipped(t, `{"snug":"v1","kind":"bench","rounds":3}`)), 0o644); err != nil {
		t.Fatal(err)
	}
	u := &ui.UI{}
	d, _, err := readDocument(u, file)
	if b, ok := d.(*finding.Bench); err != nil || !ok || b.Rounds != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	u.In = strings.NewReader(`{"snug":"v1","kind":"verdict","limits":{},"plan":null}`)
	var f *message.Failure
	if _, _, err := readDocument(u, "-"); !errors.As(err, &f) || !strings.Contains(f.What, "is missing") {
		t.Errorf("half of a verdict: %v", err)
	}
}

// TestPublishAnswersFirst: a full disk does not lose the answer.
func TestPublishAnswersFirst(t *testing.T) {
	var out bytes.Buffer
	dir := t.TempDir()
	u := &ui.UI{Out: &out, Err: io.Discard, JSON: true}
	l := &lab.Lab{HTML: filepath.Join(dir, "nowhere", "page.html"), Benchfmt: filepath.Join(dir, "runs.txt")}
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench)}
	var f *message.Failure
	if err := publish(u, l, d); !errors.As(err, &f) || f.Code != message.ExitFailed || !strings.Contains(f.What, "page.html") || f.Hint != outfile.RoomHint {
		t.Errorf("%+v", err)
	}
	if got, err := finding.Decode(out.Bytes()); err != nil || got == nil {
		t.Errorf("answers %q, %v", out.String(), err)
	}
	l.HTML = filepath.Join(dir, "page.html")
	if err := publish(u, l, d); err != nil {
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
	for _, err := range []error{writeForms(d, form{file, page.Write, pageHint}), writeForms(d, form{file, report.Benchfmt, linesHint})} {
		var f *message.Failure
		if !errors.As(err, &f) || f.Code != message.ExitFailed || !strings.HasPrefix(f.Hint, "only ") {
			t.Errorf("%+v", err)
		}
	}
	if _, err := os.Lstat(file); err == nil {
		t.Error("wrote a file")
	}
}

// TestRecheckObjective: an objective that this version does not know gives no verdict.
func TestRecheckObjective(t *testing.T) {
	text, err := os.ReadFile("../../report/testdata/killed.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, objective := range []string{"", "x"} {
		d, err := finding.Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		b := d.(*finding.Bench)
		b.Objective = objective
		again, err := recheck(b)
		if err != nil {
			t.Fatal(err)
		}
		if v := again.(*finding.Bench).Verdict; v.Keep || len(v.Judged) > 0 {
			t.Errorf("%q: %+v", objective, v)
		}
	}
}
