// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
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
	d, _, err := u.readDocument(file)
	if b, ok := d.(*finding.Bench); err != nil || !ok || b.Rounds != 3 {
		t.Errorf("%+v, %v", d, err)
	}
	u.in = strings.NewReader(`{"snug":"v1","kind":"verdict","limits":{},"plan":null}`)
	var f *failure
	if _, _, err := u.readDocument("-"); !errors.As(err, &f) || !strings.Contains(f.what, "a part is missing") {
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

// looks are three lines as snug top writes them: two looks, and the end of the process.
func looks(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for i, d := range []*finding.Watch{{Processes: make([]finding.TopProcess, 1)}, {Processes: make([]finding.TopProcess, 1)}, {Ended: []int{7}}} {
		d.Head, d.At, d.Seconds, d.Selected = finding.NewHead(finding.KindTop), "2026-11-22T10:00:0"+strconv.Itoa(i)+"Z", new(1.0), []string{"7"}
		for i := range d.Processes {
			d.Processes[i].PID, d.Processes[i].Name = 7, "server"
		}
		line, err := finding.Encode(d)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(line)
	}
	return b.String()
}

// TestReportLooks: what snug top wrote is shown look after look, as far as it is whole.
func TestReportLooks(t *testing.T) {
	all := looks(t)
	lines := strings.SplitAfter(all, "\n")
	for _, c := range []struct {
		name, in    string
		args        []string
		code, shown int
		says        string
	}{
		{"three looks", all, nil, exitFine, 3, ""},
		{"one look", lines[0], nil, exitFine, 1, ""},
		{"without the last line's end", strings.TrimSpace(all), nil, exitFine, 3, ""},
		{"blank lines", "\n" + strings.Join(lines, "\n\n"), nil, exitFailed, 0, "not a JSON document"}, // does not begin as one
		{"blank lines between", strings.Join(lines, "\n\r\n"), nil, exitFine, 3, ""},
		{"compressed", zipped(t, all), nil, exitFine, 3, ""},
		{"cut off", all[:len(all)-20], nil, exitFailed, 2, "only 2 looks can be read"},
		{"cut off in the first", all[:20], nil, exitFailed, 0, "not a JSON document"},
		{"of another version", lines[0] + `{"snug":"v2","kind":"top"}`, nil, exitFailed, 1, "only 1 look can be read, not a document of snug v1"},
		{"then something else", lines[0] + `{"snug":"v1","kind":"plan"}`, nil, exitFailed, 1, "only 1 look and then something else"},
		{"something else, then looks", `{"snug":"v1","kind":"plan"}` + "\n" + all, nil, exitFailed, 0, "not a JSON document"},
		{"page", all, []string{"--html", "-"}, exitFailed, 0, "no page for a document of kind top"},
		{"benchmarks", all, []string{"--benchfmt", "-"}, exitFailed, 0, "no benchmark lines for a document of kind top"},
		{"recheck", all, []string{"--recheck"}, exitUsage, 0, "only experiments of snug bench"},
	} {
		var out, talk bytes.Buffer
		code := Main(append([]string{"report", "-"}, c.args...), strings.NewReader(c.in), &out, &talk)
		if code != c.code || strings.Count(out.String(), "snug top  ") != c.shown || !strings.Contains(talk.String(), c.says) || code != exitFine && !strings.Contains(talk.String(), "hint: ") {
			t.Errorf("%s: exit code %d, want %d looks\n%s%s", c.name, code, c.shown, &out, &talk)
		}
	}
	var out, talk bytes.Buffer
	if code := Main([]string{"report", "--json", "-"}, strings.NewReader(all), &out, &talk); code != exitFine || out.String() != all {
		t.Errorf("--json: exit code %d\n%s%swant\n%s", code, &out, &talk, all)
	}
	out.Reset()
	if Main([]string{"report", "-"}, strings.NewReader(all), &out, &talk); !strings.Contains(out.String(), "every 1s  1 Go process\n") || !strings.HasSuffix(out.String(), "\n\nsnug top  ended: 7, by 10:00:02\n") {
		t.Errorf("text:\n%s", &out)
	}
}
