// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/reporttest"
)

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

// TestReportLooks checks that the output of snug top is shown look by look, up to a line that is cut off.
func TestReportLooks(t *testing.T) {
	all := looks(t)
	lines := strings.SplitAfter(all, "\n")
	for _, c := range []struct {
		name, in    string
		args        []string
		code, shown int
		says        string
	}{
		{"three looks", all, nil, message.ExitFine, 3, ""},
		{"one look", lines[0], nil, message.ExitFine, 1, ""},
		{"without the last line's end", strings.TrimSpace(all), nil, message.ExitFine, 3, ""},
		{"blank lines", "\n" + strings.Join(lines, "\n\n"), nil, message.ExitFailed, 0, "not a JSON document"}, // does not begin as one
		{"blank lines between", strings.Join(lines, "\n\r\n"), nil, message.ExitFine, 3, ""},
		{"compressed", reporttest.Zipped(t, all), nil, message.ExitFine, 3, ""},
		{"cut off", all[:len(all)-20], nil, message.ExitFailed, 2, "only 2 looks can be read"},
		{"cut off in the first", all[:20], nil, message.ExitFailed, 0, "not a JSON document"},
		{"of another version", lines[0] + `{"snug":"v2","kind":"top"}`, nil, message.ExitFailed, 1, "only 1 look can be read: not a document of snug v1"},
		{"then something else", lines[0] + `{"snug":"v1","kind":"ps"}`, nil, message.ExitFailed, 1, "only 1 look and then something else"},
		{"something else, then looks", `{"snug":"v1","kind":"ps"}` + "\n" + all, nil, message.ExitFailed, 0, "not a JSON document"},
		{"page", all, []string{"--html", "-"}, message.ExitFailed, 0, "no page for a document of kind top"},
		{"benchmarks", all, []string{"--benchfmt", "-"}, message.ExitFailed, 0, "no benchmark lines for a document of kind top"},
		{"recheck", all, []string{"--recheck"}, message.ExitUsage, 0, "only experiments of snug bench"},
	} {
		var out, talk bytes.Buffer
		code := Main(append([]string{"report", "-"}, c.args...), strings.NewReader(c.in), &out, &talk)
		if code != c.code || strings.Count(out.String(), "snug top  ") != c.shown || !strings.Contains(talk.String(), c.says) || code != message.ExitFine && !strings.Contains(talk.String(), "hint: ") {
			t.Errorf("%s: exit code %d, want %d looks\n%s%s", c.name, code, c.shown, &out, &talk)
		}
	}
	var out, talk bytes.Buffer
	Main([]string{"report", "--json", "-"}, strings.NewReader(all), &out, &talk)
	all = out.String() // figures that no list says are unknown are "none"
	out.Reset()
	if code := Main([]string{"report", "--json", "-"}, strings.NewReader(all), &out, &talk); code != message.ExitFine || out.String() != all {
		t.Errorf("--json: exit code %d\n%s%swant\n%s", code, &out, &talk, all)
	}
	out.Reset()
	if Main([]string{"report", "-"}, strings.NewReader(all), &out, &talk); !strings.Contains(out.String(), "every 1s  1 Go process\n") || !strings.HasSuffix(out.String(), "\n\nsnug top  ended: 7, by 10:00:02\n") {
		t.Errorf("text:\n%s", &out)
	}
}
