// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{worded("memory_peak_bytes is worse with GOMEMLIMIT=241591911B"), "peak memory is worse with GOMEMLIMIT=230.4 MiB"},
		{worded("p99_seconds and p999_seconds of 8 rps"), "P99 and P99.9 of 8 rps"},
		{limitText("241591911B"), "230.4 MiB"},
		{limitText("241591911"), "230.4 MiB"},
		{limitText("124MiB"), "124MiB"},
		{limitText("off"), "off"},
		{limitText(""), ""},
		{valueText("burst", "20000"), "20 ms"},
		{valueText("burst", "0"), "unset"},
		{valueText("GOGC", ""), "unset"},
		{needs(0, 0), ""},
		{needs(40, 40), "; needs n = 40 rounds"},
		{needs(16, 43), "; needs n = 16 to 43 rounds"},
		{needs(16, 4366), "; needs n = 16 rounds at least, for some not in practice (over 1000 rounds)"},
		{needs(4366, 4366), "; not in practice (over 1000 rounds)"},
		{string(unbroken("use --full, not <b> or a-b")), `use <span class="flag">--full</span>, not &lt;b&gt; or a-b`},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func TestInvalidNotes(t *testing.T) {
	late := func(ms string) finding.Run {
		return finding.Run{Invalid: "the load generator was late: " + ms + " ms at the 99th percentile"}
	}
	at := func(r finding.Run, round, try int) finding.Run {
		r.Round, r.Try = round, try
		return r
	}
	noisy := finding.Run{Invalid: "noisy neighbours: 0.8 CPUs busy"}
	for _, c := range []struct {
		name            string
		again, excluded int
		runs            []finding.Run
		want            []string
	}{
		{"all count", 0, 0, []finding.Run{{}}, nil},
		{"left out", 0, 1, []finding.Run{late("7.7")}, []string{"1 run did not count: the load generator was late (7.7 ms at the 99th percentile); not replaced, left out"}},
		{"left out, with other numbers", 0, 2, []finding.Run{late("7.7"), at(late("3"), 1, 0)},
			[]string{"2 runs did not count: the load generator was late (for example 7.7 ms at the 99th percentile); not replaced, left out"}},
		{"done again", 1, 0, []finding.Run{noisy, at(finding.Run{}, 0, 1)}, []string{"1 run did not count and was done again: noisy neighbours (0.8 CPUs busy)"}},
		{"the repetition was left out", 1, 0, []finding.Run{{}, at(noisy, 0, 1)}, []string{"1 run did not count and was done again: noisy neighbours (0.8 CPUs busy)"}},
		{"again in vain", 1, 1, []finding.Run{late("7.7"), at(noisy, 0, 1)}, []string{
			"1 run did not count and was done again: the load generator was late (7.7 ms at the 99th percentile)",
			"1 run did not count: noisy neighbours (0.8 CPUs busy); not replaced, left out"}},
		{"two reasons", 0, 2, []finding.Run{late("7.7"), at(noisy, 1, 0)}, []string{
			"2 runs did not count: 1 × the load generator was late (7.7 ms at the 99th percentile); 1 × noisy neighbours (0.8 CPUs busy); not replaced, left out"}},
		{"without runs", 0, 1, nil, []string{"1 run did not count: the runs are not in the document, so why is not known; not replaced, left out"}},
	} {
		got := invalidNotes(&finding.Setup{Repeated: c.again, Excluded: c.excluded}, []finding.Cell{{Rounds: c.runs}})
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestReasonsOnce: where the document says why runs did not count, it is not said
// again.
func TestReasonsOnce(t *testing.T) {
	d := quick()
	d.Verdict.Cannot = []string{"1 of 21 runs did not count: the load generator was late (1.7 ms at the 99th percentile)"}
	notes := strings.Join(benchNotes(d), "\n")
	if strings.Count(notes, "did not count") != 1 || !strings.Contains(notes, "1 run was not replaced, but left out") {
		t.Error(notes)
	}
}

func TestLeftOut(t *testing.T) {
	below := func(peak string) string {
		return "the predicted peak of " + peak + " stays below it: the same as without"
	}
	for _, c := range []struct {
		name string
		all  []finding.Pruned
		want []string
	}{
		{"one", []finding.Pruned{{What: "GOGC", Why: "x"}}, []string{"GOGC: x"}},
		{"the same reason", []finding.Pruned{{What: "GOGC=50, 100 with GOMEMLIMIT=204MiB", Why: below("9 MiB")}, {What: "GOGC=50 with GOMEMLIMIT=188743680B", Why: below("12 MiB")}},
			[]string{"3 settings with GOMEMLIMIT 180 MiB to 204MiB: the predicted peak stays below it: the same as without"}},
		{"another reason", []finding.Pruned{{What: "GOGC=50 with GOMEMLIMIT=204MiB", Why: "x"}, {What: "GOGC=off with GOMEMLIMIT=204MiB", Why: "y"}},
			[]string{"GOGC=50 with GOMEMLIMIT=204MiB: x", "GOGC=off with GOMEMLIMIT=204MiB: y"}},
		{"another knob", []finding.Pruned{{What: "GOGC=50", Why: "x"}, {What: "GOMAXPROCS=4", Why: "x"}}, []string{"GOGC=50: x", "GOMAXPROCS=4: x"}},
		{"no value", []finding.Pruned{{What: "GOGC", Why: "x 1"}, {What: "GOMEMLIMIT", Why: "x 2"}}, []string{"GOGC: x 1", "GOMEMLIMIT: x 2"}},
	} {
		var got []string
		for _, x := range leftOut(c.all) {
			got = append(got, x.What+": "+x.Why)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestFrontOfAClosedLoop: where callers wait for each other, P99 is in no drawing
// and no caption of the compromises.
func TestFrontOfAClosedLoop(t *testing.T) {
	for load, want := range map[string]bool{"80%": true, "800/s": true, "self": true, "saturated": false, "30 users": false, "batch": false} {
		d := searched()
		for i := range d.Cells {
			d.Cells[i].Load = load
		}
		f := paretoFront(d)
		if got := strings.Contains(f.Title+f.Caption+string(f.Charts[0]), "P99"); got != want {
			t.Errorf("%s: P99 named %v, want %v: %s", load, got, want, f.Caption)
		}
	}
	d := searched()
	d.Front = d.Front[:1]
	for i := range d.Cells {
		d.Cells[i].Load, d.Cells[i].Rounds = "saturated", d.Cells[i].Rounds[:1]
	}
	if f := paretoFront(d); !strings.Contains(f.Caption, "Dashed: measured once") {
		t.Errorf("a setting that none beats and that is not on the front: %s", f.Caption)
	}
}

// TestCostsFirst: what gets worse stands between the verdict and what is to be
// pasted, in words, once.
func TestCostsFirst(t *testing.T) {
	for name, render := range map[string]func(*bytes.Buffer, *finding.Tune) error{
		"text": func(b *bytes.Buffer, d *finding.Tune) error { return Text(b, d) },
		"page": func(b *bytes.Buffer, d *finding.Tune) error { return HTML(b, d) },
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
		var text, lines bytes.Buffer
		if err := Text(&text, d); err != nil {
			t.Fatal(err)
		}
		if err := Benchfmt(&lines, d); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), c.name) || !strings.Contains(lines.String(), c.line) {
			t.Errorf("%s: want %s and %s in\n%s%s", c.workload, c.name, c.line, text.String(), lines.String())
		}
		if d.Cells[0].Workload != c.workload {
			t.Errorf("the document was changed to %s", d.Cells[0].Workload)
		}
	}
}

func TestStopped(t *testing.T) {
	d := rising()
	if got := howMany(&d.Setup, d.Cells, true); got != "stopped in round 4 of 7, each 2 s" {
		t.Error(got)
	}
	if got := howMany(&d.Setup, d.Cells, false); got != "stopped in round 4, each 2 s" {
		t.Error(got)
	}
	once := "latencies of a closed loop hide it (coordinated omission)"
	d.Verdict.Cannot = []string{once, once + ", --load 80% shows it"}
	if notes := strings.Join(benchNotes(d), "\n"); strings.Count(notes, "closed loop") != 1 {
		t.Error(notes)
	}
}
