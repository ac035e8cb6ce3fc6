// SPDX-License-Identifier: Apache-2.0

package top

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/clipperhouse/displaywidth"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var update = flag.Bool("update", false, "write the golden files")

// look is a machine with every kind of process.
func look() *finding.Watch {
	procs := func(pid int, name string) finding.TopProcess {
		p := finding.TopProcess{Name: name, Threads: 7}
		p.PID, p.Exe, p.Findings, p.Unknown = pid, "/srv/"+name, []finding.Finding{}, []finding.Gap{}
		return p
	}
	busy := procs(4711, "server")
	busy.GoVersion, busy.GOMAXPROCS, busy.GOMAXPROCSSource = figure.New("go1.26.8", ""), figure.New(64, ""), figure.New("host", "")
	busy.Quota, busy.Throttled, busy.Used, busy.Waiting = figure.New(1.5, ""), figure.New(0.42, ""), figure.New(1.48, ""), figure.New(2.3, "")
	busy.Memory, busy.MemoryLimit, busy.Heap, busy.Goal = figure.New(int64(410<<20), ""), figure.New(int64(512<<20), ""), figure.New(int64(300<<20), ""), figure.New(int64(360<<20), "")
	busy.Live, busy.Mapped, busy.GOGC = figure.New(int64(180<<20), ""), figure.New(int64(400<<20), ""), figure.New(finding.Amount{N: 100}, "")
	busy.Window, busy.PerMinute, busy.GC, busy.Paused, busy.MeanPause = figure.New(28.0, ""), figure.New(312.0, ""), figure.New(0.31, ""), figure.New(0.0042, ""), figure.New(0.0008, "")
	busy.Busy, busy.Spinning, busy.Idle, busy.CPUs = figure.New(5.2, ""), figure.New(3.1, ""), figure.New(58.8, ""), figure.New(16, "")
	busy.Goroutines, busy.Lately = figure.New(1208, ""), figure.New(finding.Spread{Count: 9000, P50: 12e-6, P99: 0.0042, Max: 0.081}, "")
	busy.Stopped = figure.New(finding.Spread{Count: 280, P50: 90e-6, P99: 0.003, Max: 0.004}, "")
	busy.Latency = busy.Lately
	busy.Findings = []finding.Finding{
		{ID: "procs-above-quota", Severity: finding.SeverityWarning, Title: "GOMAXPROCS is far above the CPU quota", Fix: "GOMAXPROCS=2; or import _ \"github.com/snug-go/snug/auto\"", Verify: "snug bench --cpus 1.5 --gomaxprocs 64,2 -- /srv/server ARG..."},
		{ID: "gomemlimit-missing", Severity: finding.SeverityInfo, Title: "there is a memory limit and no GOMEMLIMIT", Fix: "GOMEMLIMIT=460MiB"},
	}
	fine := procs(12, "агент-日志-collector")
	fine.GoVersion, fine.GOMAXPROCS, fine.GOMAXPROCSSource = figure.New("go1.27.3", ""), figure.New(2, ""), figure.New("runtime", "")
	fine.Used, fine.Waiting, fine.Memory, fine.Heap, fine.Goal = figure.New(0.03, ""), figure.New(0.0, ""), figure.New(int64(21<<20), ""), figure.New(int64(3<<20), ""), figure.New(int64(4<<20), "")
	fine.Window, fine.PerMinute, fine.Paused, fine.GOGC, fine.GOMEMLIMIT = figure.New(30.0, ""), figure.New(0.0, ""), figure.New(0.0, ""), figure.New(finding.Amount{Off: true}, ""), figure.New(int64(64<<20), "")
	fine.Busy, fine.Spinning, fine.Idle = figure.New(0.1, ""), figure.New(0.0, ""), figure.New(1.9, "")
	denied := procs(4194304, "other\x1b[31m\u202e")
	denied.Used, denied.Memory = figure.New(0.5, ""), figure.New(int64(900), "")
	denied.Unknown = []finding.Gap{{Field: "program", Why: "not permitted (run as user 0 or with CAP_SYS_PTRACE)"}, {Field: "gomaxprocs", Why: "not permitted"},
		{Field: "heap_bytes"}, {Field: "busy_ps"}, {Field: "spinning_ps"}, {Field: "idle_ps"}, {Field: "go_version"}, {Field: "collections"}, {Field: "gomaxprocs_source"}, {Field: "sched_latency"}}
	killed := procs(99, "batch")
	killed.GoVersion, killed.GOMAXPROCS, killed.GOMAXPROCSSource = figure.New("go1.21.13", ""), figure.New(8, ""), figure.New("environment", "")
	killed.Heap, killed.Goal, killed.GOMEMLIMIT = figure.New(int64(990<<20), ""), figure.New(int64(1000<<20), ""), figure.New(int64(1<<30), "")
	killed.Findings = []finding.Finding{{ID: "oom-kills", Severity: finding.SeverityError, Title: "the kernel killed it for memory", Fix: "more memory"}}
	d := &finding.Watch{
		Head: finding.NewHead(finding.KindTop), At: "2026-11-21T22:49:35Z", Seconds: new(2.0), Machine: 16,
		Processes: []finding.TopProcess{fine, killed, busy, denied}, Selected: []string{},
		Unsupported: []finding.Unsupported{{PID: 815, Exe: "/usr/bin/python3.13", Why: "Go in a library, /app/fast.so (go1.26.8); its runtime is not read"}},
		Others:      []finding.Skipped{{Why: "run as user 0 or with CAP_SYS_PTRACE", Count: 12}},
	}
	for i := range d.Processes {
		finding.Settle(&d.Processes[i], d.Processes[i].Unknown)
	}
	return d
}

func view(o Options) *View {
	if o.Interval == 0 {
		o.Interval = 2 * time.Second
	}
	v := New(o)
	v.Update(look())
	return v
}

func press(v *View, keys ...Key) (last Action) {
	for _, k := range keys {
		last = v.Key(k)
	}
	return last
}

func typed(s string) (keys []Key) {
	for _, r := range s {
		keys = append(keys, Key(r))
	}
	return keys
}

// roles stand for what a span is in golden files.
const roles = ".THSCdWBIL"

// TestFrames: the screen as it was looked at and found good.
func TestFrames(t *testing.T) {
	for _, c := range []struct {
		name          string
		o             Options
		width, height int
		keys          []Key
		roles         bool
	}{
		{"80x24", Options{}, 80, 24, nil, false},
		{"80x24-roles", Options{}, 80, 24, []Key{Down}, true},
		{"80x24-ascii", Options{ASCII: true}, 80, 24, nil, false},
		{"120x40-detail", Options{}, 120, 40, []Key{Enter}, false},
		{"200x12", Options{}, 200, 12, nil, false},
		{"40x10", Options{}, 40, 10, nil, false},
		{"40x10-detail-ascii", Options{ASCII: true}, 40, 10, []Key{Enter}, false},
		{"20x5", Options{}, 20, 5, nil, false},
		{"80x24-help", Options{}, 80, 24, []Key{'?'}, false},
		{"80x24-denied", Options{Sort: "pid"}, 80, 24, []Key{Enter}, false},
		{"80x12-filter", Options{}, 80, 12, append([]Key{'/'}, typed("serv")...), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := view(c.o)
			press(v, c.keys...)
			var b strings.Builder
			for _, row := range v.Frame(c.width, c.height) {
				b.WriteString(row.String() + "\n")
				if c.roles {
					for _, s := range row {
						b.WriteString(strings.Repeat(roles[s.Role:s.Role+1], displaywidth.String(s.Text)))
					}
					b.WriteString("\n")
				}
			}
			golden(t, c.name, b.String())
		})
	}
	golden(t, "batch", view(Options{}).Plain(0))
	golden(t, "batch-80", view(Options{ASCII: true}).Plain(80))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s, -update accepts:\n%s", file, got)
	}
}

// everyState are views in all modes.
func everyState(o Options) []*View {
	states := [][]Key{
		nil, {Enter}, {'?'}, {'?', PageDown, PageDown, PageDown}, {'/', 'x', 'y'}, {'/', 's'}, {'G'}, {'G', Enter, PageDown, PageDown}, {'p'}, {'r', '<', '<'},
	}
	views := []*View{New(o)}
	empty := New(o)
	empty.Update(&finding.Watch{Selected: []string{"4711"}})
	views = append(views, empty)
	for _, keys := range states {
		v := view(o)
		press(v, keys...)
		views = append(views, v)
	}
	return views
}

// TestEverySize: no row is wider than the screen, there are as many as it has, and
// nothing in them acts on a terminal; in ASCII there is nothing else.
func TestEverySize(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		for width := 1; width <= 260; width += 1 + width/25 {
			for _, height := range []int{1, 2, 3, 4, 5, 8, 11, 12, 24, 60} {
				for i, v := range everyState(Options{ASCII: ascii}) {
					rows := v.Frame(width, height)
					if len(rows) != height {
						t.Fatalf("%dx%d, state %d: %d rows", width, height, i, len(rows))
					}
					for _, row := range rows {
						if n := row.width(); n > width {
							t.Fatalf("%dx%d, state %d: %d cells: %q", width, height, i, n, row.String())
						}
						for _, s := range row {
							if s.Text != v.glyphs.clean(s.Text) || ascii && strings.ContainsFunc(s.Text, func(r rune) bool { return r > 126 || r < 32 }) {
								t.Fatalf("%dx%d, state %d: %q", width, height, i, s.Text)
							}
						}
					}
				}
			}
		}
	}
	if rows := view(Options{}).Frame(0, 0); rows != nil {
		t.Errorf("no screen: %v", rows)
	}
}

// TestAlignment: every row ends in the same cell, whatever names hold.
func TestAlignment(t *testing.T) {
	v := view(Options{})
	for _, width := range []int{20, 40, 80, 120, 200} {
		shown := layout(width-2, v.rows, v.sort)
		want := v.process(shown, v.rows[0], width, false).width()
		for _, p := range v.rows {
			if n := v.process(shown, p, width, false).width(); n != want {
				t.Errorf("width %d, %q: %d cells, others %d", width, p.Name, n, want)
			}
		}
	}
}

// TestSeverityWithoutColour: the text alone tells what is wrong.
func TestSeverityWithoutColour(t *testing.T) {
	for _, width := range []int{20, 40, 80, 120} {
		var marks strings.Builder
		for _, row := range view(Options{}).Frame(width, 12)[3:7] {
			marks.WriteString(row.String()[:1])
		}
		if got := marks.String(); got != "W  E" {
			t.Errorf("width %d: %q", width, got)
		}
	}
}

// TestDropsBeforeItWraps: the column that is sorted by stays, whatever the width.
func TestDropsBeforeItWraps(t *testing.T) {
	for _, id := range Orders() {
		v := view(Options{Sort: id})
		found := false
		for _, c := range layout(40, v.rows, v.sort) {
			found = found || c.id == id
		}
		if !found {
			t.Errorf("sorted by %s, which is not shown", id)
		}
	}
}

// FuzzFrame: no name and no size makes a row too wide.
func FuzzFrame(f *testing.F) {
	f.Add("server", "why", 80, 24)
	f.Add("日本\u0301\x1b]0;x\a👩‍👩‍👧", strings.Repeat("長", 90), 21, 9)
	f.Fuzz(func(t *testing.T, name, why string, width, height int) {
		width, height = width&255, height&63
		d := look()
		d.Processes[0].Name, d.Processes[0].Findings = name, []finding.Finding{{ID: why, Severity: finding.Severity(name), Title: name + why, Fix: why}}
		d.Processes[0].Used = figure.New(9.0, "")
		v := New(Options{Interval: time.Second, ASCII: len(name)%2 == 0})
		v.Update(d)
		for range 2 {
			for _, row := range v.Frame(width, height) {
				if n := row.width(); n > width {
					t.Errorf("%d cells of %d: %q", n, width, row.String())
				}
			}
			v.Key(Enter)
		}
	})
}

// over is a last look: all that were asked for have ended.
func over(pids ...int) *finding.Watch {
	d := &finding.Watch{At: "2026-11-21T22:49:37Z", Seconds: new(2.0), Machine: 16, Ended: pids}
	for range pids {
		d.Selected = append(d.Selected, "pid")
	}
	return d
}

// TestOver: the last figures stay, with a note, and text ends with it.
func TestOver(t *testing.T) {
	const said = "ended: 4711 12, by 22:49:37"
	v := view(Options{})
	if got := v.Over(); got != "" {
		t.Errorf("begins with %q", got)
	}
	rows := slices.Clone(pids(v))
	v.Update(over(4711, 12))
	if got := v.Over(); got != said || !slices.Equal(pids(v), rows) {
		t.Errorf("%q, %v", got, pids(v))
	}
	if got := v.Frame(80, 24)[0].String(); got != "snug top  "+said+"; below is 22:49:35" {
		t.Errorf("screen: %q", got)
	}
	if got := v.Plain(0); got != "snug top  "+said+"\n" {
		t.Errorf("text: %q", got)
	}
	press(v, 'N', 'j', Enter, '+', '?', 'q')
	if v.Frame(80, 24); v.Key('q') != Quit {
		t.Error("does not quit")
	}
	v.Update(look()) // of a later run in the same file
	if v.Over() != "" || !strings.HasPrefix(v.Plain(0), "snug top  22:49:35  every 5s") {
		t.Errorf("goes on with %q", v.Plain(0))
	}

	v = view(Options{})
	v.Key('p')
	if v.Update(over(4711)); v.Over() != "" {
		t.Error("over while paused")
	}
	if v.Key('p'); v.Over() == "" || len(v.rows) != 4 {
		t.Errorf("gone on: %q, %v", v.Over(), pids(v))
	}

	v = New(Options{})
	v.Update(over(4711)) // nothing before it
	if got := v.Plain(0); !strings.Contains(got, "ended: 4711") || !strings.Contains(got, "no Go process now: pid") {
		t.Errorf("first: %q", got)
	}
}

// TestSomeEnded: who has ended is named while others run, and the chosen one once more.
func TestSomeEnded(t *testing.T) {
	v := view(Options{})
	press(v, 'j', 'j')
	d := look()
	d.Processes = slices.DeleteFunc(d.Processes, func(p finding.TopProcess) bool { return p.PID == fine })
	d.Selected, d.Ended = []string{"12", "99", "4711", "4194304"}, []int{fine}
	v.Update(d)
	rows := v.Frame(80, 24)
	if got := rows[0].String(); !strings.Contains(got, "  ended: 12  3 Go processes") {
		t.Errorf("status %q", got)
	}
	if got := rows[23].String(); got != "ended: 12 агент-日志-collector" {
		t.Errorf("footer %q", got)
	}
	if v.Update(d); v.Frame(80, 24)[23].String() != "ended: 12 агент-日志-collector" {
		t.Error("the note is gone before a key")
	}
	if v.Key('j'); strings.Contains(v.Frame(80, 24)[23].String(), "ended") {
		t.Error("the note stays")
	}
	v = view(Options{}) // nobody chosen: what is on top may change
	d.Processes = d.Processes[:1]
	if v.Update(d); v.said != "" {
		t.Errorf("said %q", v.said)
	}
}

// TestEvery: a saved look says itself how long it took.
func TestEvery(t *testing.T) {
	for _, c := range []struct {
		interval time.Duration
		seconds  *float64
		want     string
	}{
		{2 * time.Second, new(7.0), "every 2s"}, {0, new(1.96), "every 2s"}, {0, new(0.5021), "every 500ms"}, {0, nil, ""}, {0, new(-3.0), ""},
		{0, new(1e300), "every 277h46m40s"},
	} {
		v := New(Options{Interval: c.interval})
		d := look()
		d.Seconds = c.seconds
		v.Update(d)
		if got := v.status(200).String(); c.want == "" && strings.Contains(got, "every") || !strings.Contains(got, c.want) {
			t.Errorf("%v, %v: %q", c.interval, c.seconds, got)
		}
	}
}

// FuzzSaved: no document makes a row too wide, brings it down, or acts on a terminal.
func FuzzSaved(f *testing.F) {
	for _, d := range []*finding.Watch{look(), over(1, 2), {}} {
		line, err := finding.Encode(d)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line, 80)
	}
	f.Add([]byte(`{"snug":"v1","kind":"top","interval_seconds":-1e308,"processes":[{"pid":-1,"used_cores":-1e308,"quota_cores":1e308,"heap_bytes":-9,"goal_bytes":-9,"gomemlimit_bytes":1,"gc_cpu_ratio":-5,"busy_ps":1e99}]}`), 60)
	f.Fuzz(func(t *testing.T, line []byte, width int) {
		d, _, err := finding.DecodeLine(line)
		w, ok := d.(*finding.Watch)
		if err != nil || !ok {
			return
		}
		width = 20 + width&255
		v := New(Options{})
		for range 2 {
			v.Update(w)
			for row := range strings.Lines(v.Plain(width)) {
				if n := displaywidth.String(strings.TrimSuffix(row, "\n")); n > width || strings.ContainsRune(row, 0x1b) {
					t.Errorf("%d cells of %d: %q", n, width, row)
				}
			}
			for _, row := range v.Frame(width, 24) {
				if n := row.width(); n > width {
					t.Errorf("%d cells of %d: %q", n, width, row.String())
				}
			}
			v.Key(Enter)
		}
	})
}
