// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// scripted is a talk that keeps what it is given.
type scripted struct {
	mu     sync.Mutex
	notes  []string
	status []string
	said   chan struct{} // has room for one; nil is not waited for
}

func (s *scripted) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
	s.wake()
}

func (s *scripted) Status(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status = append(s.status, text)
	s.wake()
}

func (s *scripted) wake() {
	select {
	case s.said <- struct{}{}:
	default:
	}
}

// until waits until the lines hold one that begins with this text.
func (s *scripted) until(t *testing.T, lines *[]string, prefix string) {
	t.Helper()
	for end := time.After(time.Minute); ; {
		s.mu.Lock()
		found := slices.ContainsFunc(*lines, func(line string) bool { return strings.HasPrefix(line, prefix) })
		all := strings.Join(*lines, "\n")
		s.mu.Unlock()
		if found {
			return
		}
		select {
		case <-s.said:
		case <-end:
			t.Fatalf("no %q in\n%s", prefix, all)
		}
	}
}

// TestProgress: the status changes while a run goes on, and is cleared at the end.
func TestProgress(t *testing.T) {
	s := &scripted{said: make(chan struct{}, 1)}
	l := Lab{Talk: s, beat: time.Millisecond}
	m := l.measured("measuring")
	s.until(t, &s.status, "measuring; ")
	m.progress(experiment.Progress{Done: 4, Total: 72, Repeated: 1, Left: 10 * time.Minute})
	s.until(t, &s.status, "run 5 of 72, 1 repeated; 0 s so far, about 10 min left")
	m.done()
	if len(s.notes) > 0 || s.status[len(s.status)-1] != "" {
		t.Errorf("notes %q, last status %q; want no notes, and nothing at the end", s.notes, s.status[len(s.status)-1])
	}
}

func TestProgressText(t *testing.T) {
	at := experiment.Progress{Done: 3, Total: 9, Left: 5 * time.Minute}
	for want, got := range map[string]string{
		"doing this; 61 s so far":                    progressText("doing this", experiment.Progress{}, 61*time.Second, 0),
		"run 4 of 9; 3 min so far, about 5 min left": progressText("", at, 3*time.Minute, 0),
		"run 4 of 9; 5 min so far, about 3 min left": progressText("", at, 5*time.Minute, 2*time.Minute),
		"run 4 of 9; 9 min so far":                   progressText("", at, 9*time.Minute, 6*time.Minute), // longer than the others
		"run 9 of 9, 2 repeated; 9 min so far":       progressText("", experiment.Progress{Done: 9, Total: 9, Repeated: 2}, 9*time.Minute, 0),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestAnnounced: an experiment says once how long it takes, a batch after its first run.
func TestAnnounced(t *testing.T) {
	design := func(loads ...string) *experiment.Design {
		d := &experiment.Design{Rounds: 24}
		for i, load := range loads {
			d.Arms = append(d.Arms, experiment.Arm{Arm: finding.Arm{Workload: "command", Replicas: i, Load: load}})
		}
		return d
	}
	for _, c := range []struct {
		name   string
		d      *experiment.Design
		kept   int
		probes int
		want   []string
	}{
		{"service", design("saturated", "saturated", "saturated"), 0, 0, []string{"note: 3 settings, 24 rounds: 72 runs, about 6 min"}},
		{"capacity first", design("80%", "80%", "80%"), 0, 36, []string{"note: 3 settings, 24 rounds: 108 runs, about 10 min"}},
		{"resumed", design("saturated", "saturated", "saturated"), 70, 0, []string{"note: 70 runs of 72 are taken from r.jsonl", "note: 3 settings, 24 rounds: 2 runs, under a minute"}},
		{"drives itself", design("self"), 0, 0, []string{"note: 1 setting, 24 rounds: 24 runs, about 2 min"}},
		{"batch", design("batch", "batch", "batch"), 0, 0, []string{
			"note: 3 settings, 24 rounds: 72 runs of the command; the first shows how long they take",
			"note: each run takes 4.1 s: about 5 min for 72 runs"}},
		{"Go benchmarks", design("benchmark"), 0, 0, []string{
			"note: 1 setting, 24 rounds: 24 runs of the command; the first shows how long they take",
			"note: each run takes 4.1 s: about 2 min for 24 runs"}},
		{"resumed batch", design("batch"), 20, 0, []string{
			"note: 20 runs of 24 are taken from r.jsonl",
			"note: 1 setting, 24 rounds: 4 runs of the command; the first shows how long they take",
			"note: each run takes 4.1 s: under a minute for 4 runs"}},
		{"nothing left", design("batch"), 24, 0, []string{"note: 24 runs of 24 are taken from r.jsonl"}},
	} {
		s := &scripted{}
		l := Lab{Talk: s, RecordFile: "r.jsonl", Cmd: []string{"true"}, warmUp: time.Second, window: 4 * time.Second}
		todo := l.announce(c.d, c.kept, c.probes)
		first := l.firstRun(c.d, todo)
		for i := range min(todo, 3) {
			first(experiment.Progress{Done: c.kept + i, Total: 72, Elapsed: time.Duration(i) * 4100 * time.Millisecond, Trial: experiment.Trial{Arm: c.d.Arms[0].Arm}})
		}
		got := slices.DeleteFunc(s.notes, func(n string) bool { return strings.Contains(n, "keep this machine busy") })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestUnmeasured(t *testing.T) {
	b := &Bench{}
	d := &experiment.Design{}
	for _, a := range []finding.Arm{{Quota: 1, Load: "80%"}, {Quota: 1, Load: "50%"}, {Quota: 2, Load: "80%"}, {Quota: 4, Load: "saturated"}} {
		d.Arms = append(d.Arms, experiment.Arm{Arm: a})
	}
	if n := b.unmeasured(d, nil); n != 2 {
		t.Errorf("%d containers, want 2", n)
	}
	if n := b.unmeasured(d, &finding.Setup{Capacities: []finding.Capacity{{Quota: 2, RPS: 900}}}); n != 1 {
		t.Errorf("%d containers beside a record, want 1", n)
	}
}
