// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{metric.Readable("memory_peak_bytes is worse with GOMEMLIMIT=241591911B"), "peak memory is worse with GOMEMLIMIT=230.4 MiB"},
		{metric.Readable("p99_seconds and p999_seconds of 8 rps"), "P99 and P99.9 of 8 rps"},
		{metric.LimitText("241591911B"), "230.4 MiB"},
		{metric.LimitText("241591911"), "230.4 MiB"},
		{metric.LimitText("124MiB"), "124MiB"},
		{metric.LimitText("off"), "off"},
		{metric.LimitText(""), ""},
		{metric.ValueText("burst", "20000"), "20 ms"},
		{metric.ValueText("burst", "0"), "unset"},
		{metric.ValueText("GOGC", ""), "unset"},
		{content.Needs("2 %", 0, 0), ""},
		{content.Needs("2 %", 40, 40), "; to show 2 % takes about 40 rounds"},
		{content.Needs("2 %", 16, 43), "; to show 2 % takes about 16 to 43 rounds"},
		{content.Needs("2 %", 16, 4366), "; to show 2 % takes 16 rounds or more, for some over 1000"},
		{content.Needs("2 %", 4366, 4366), "; to show 2 % takes over 1000 rounds, which is not practical"},
		{string(page.Unbroken("use --full, not <b> or a-b")), `use <span class="flag">--full</span>, not &lt;b&gt; or a-b`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestReasonsOnce: the reason why runs did not count is not repeated.
func TestReasonsOnce(t *testing.T) {
	d := quick()
	d.Verdict.Cannot = []string{"1 of 21 runs did not count: the load generator was late (1.7 ms at the 99th percentile)"}
	notes := strings.Join(content.BenchNotes(d), "\n")
	if strings.Count(notes, "did not count") != 1 || !strings.Contains(notes, "1 run was not replaced, but left out") {
		t.Error(notes)
	}
}

// TestFrontOfAClosedLoop: in a closed loop, P99 is in no drawing and no caption of the
// compromises.
func TestFrontOfAClosedLoop(t *testing.T) {
	for load, want := range map[string]bool{"80%": true, "800/s": true, "self": true, "saturated": false, "30 users": false, "batch": false} {
		d := searched()
		for i := range d.Cells {
			d.Cells[i].Load = load
		}
		f, _ := chart.ParetoFront(d)
		if got := strings.Contains(f.Title+f.Caption+string(f.Charts[0]), "P99"); got != want {
			t.Errorf("%s: P99 named %v, want %v: %s", load, got, want, f.Caption)
		}
	}
	d := searched()
	d.Front = d.Front[:1]
	for i := range d.Cells {
		d.Cells[i].Load, d.Cells[i].Rounds = "saturated", d.Cells[i].Rounds[:1]
	}
	if f, _ := chart.ParetoFront(d); !strings.Contains(f.Caption, "measured too rarely") || strings.Count(string(f.Charts[0]), `class="apart"`) == 0 {
		t.Errorf("a setting that none beats and that is not on the front: %s", f.Caption)
	}
}

// TestCostsFirst: the metrics that get worse are between the verdict and the forms to
// paste, in words, once.
func TestCostsFirst(t *testing.T) {
	for name, render := range map[string]func(*bytes.Buffer, *finding.Tune) error{
		"text": func(b *bytes.Buffer, d *finding.Tune) error { return text.Write(b, d) },
		"page": func(b *bytes.Buffer, d *finding.Tune) error { return page.Write(b, d) },
	} {
		var b bytes.Buffer
		if err := render(&b, searched()); err != nil {
			t.Fatal(err)
		}
		shown, _, _ := strings.Cut(b.String(), `<section class="raw">`)
		costs, paste := strings.Index(shown, "orse with it: peak memory"), strings.Index(shown, "export GOMAXPROCS")
		if costs < 0 || costs > paste || strings.Contains(shown, "memory_peak_bytes") || strings.Count(shown, "tune-trade") != 1 {
			t.Errorf("%s: costs at %d, what to paste at %d:\n%s", name, costs, paste, shown)
		}
	}
}

func TestProgramsByName(t *testing.T) {
	for _, c := range []struct {
		setup      finding.Setup
		workload   string
		name, line string
	}{
		{finding.Setup{Command: []string{"/opt/bin/svc", "-x"}}, "command", "svc; no quota", "workload=svc/"},
		{finding.Setup{URL: "http://a:1/x"}, "url", "the service at http://a:1/x; no quota", "workload=http:::a:1:x/"},
		{finding.Setup{}, "http", "http; no quota", "workload=http/"},
	} {
		d := &finding.Bench{Setup: c.setup, Cells: []finding.Cell{{Arm: finding.Arm{Workload: c.workload, Load: "saturated"}, Rounds: []finding.Run{{RPS: ptr(1.0)}}}}}
		var said, lines bytes.Buffer
		if err := text.Write(&said, d); err != nil {
			t.Fatal(err)
		}
		if err := Benchfmt(&lines, d); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(said.String(), c.name) || !strings.Contains(lines.String(), c.line) {
			t.Errorf("%s: want %s and %s in\n%s%s", c.workload, c.name, c.line, said.String(), lines.String())
		}
		if d.Cells[0].Workload != c.workload {
			t.Errorf("the document was changed to %s", d.Cells[0].Workload)
		}
	}
}

func TestStopped(t *testing.T) {
	d := rising()
	if got := content.RoundsText(&d.Setup, d.Cells, true); got != "stopped in round 4 of 7, each 2 s" {
		t.Error(got)
	}
	if got := content.RoundsText(&d.Setup, d.Cells, false); got != "stopped in round 4, each 2 s" {
		t.Error(got)
	}
	once := "latencies of a closed loop hide it (coordinated omission)"
	d.Verdict.Cannot = []string{once, once + ", --load 80% shows it"}
	if notes := strings.Join(content.BenchNotes(d), "\n"); strings.Count(notes, "closed loop") != 1 {
		t.Error(notes)
	}
}
