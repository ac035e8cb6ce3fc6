// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// said keeps the notes.
type said struct{ notes []string }

func (s *said) Note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}
func (s *said) Status(string) {}

// contended is a Runner whose port is taken in some of its runs.
type contended struct {
	taken func(run int) bool
	runs  int
}

func (c *contended) Run(context.Context, experiment.Trial) (finding.Run, error) {
	c.runs++
	if c.taken(c.runs) {
		return finding.Run{}, &runner.PortError{Target: &runner.TargetError{What: "http://x/: something listens already", Cure: "end it"}}
	}
	return finding.Run{Ops: int64(c.runs)}, nil
}

func TestAPortIsTakenForAMoment(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken func(int) bool
		runs  int // of the runner
		fails bool
		notes int
	}{
		{"never", func(int) bool { return false }, 2, false, 0},
		{"three times", func(n int) bool { return n >= 2 && n <= 4 }, 5, false, 1},
		{"from then on", func(n int) bool { return n >= 2 }, 1 + 6, true, 1},
		{"from the start", func(int) bool { return true }, 1, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			talk, under := &said{}, &contended{taken: c.taken}
			p := &patient{Runner: under, talk: talk, tries: 5, wait: func(context.Context) error { return nil }}
			_, err := p.Run(t.Context(), experiment.Trial{})
			if err == nil {
				_, err = p.Run(t.Context(), experiment.Trial{})
			}
			if (err != nil) != c.fails || under.runs != c.runs || len(talk.notes) != c.notes {
				t.Errorf("error %v after %d runs, notes %q", err, under.runs, talk.notes)
			}
			var l Lab
			if f, ok := errors.AsType[*message.Failure](l.explain(t.Context(), err)); c.fails && (!ok || f.Hint != "end it") {
				t.Errorf("explained as %+v", f)
			}
			var target experiment.TargetFailure
			if errors.As(err, &target) {
				t.Errorf("%v counts as the fault of a setting", err)
			}
		})
	}
	// Ctrl-C ends the wait.
	stop := errors.New("stop")
	p := &patient{Runner: &contended{taken: func(int) bool { return true }}, talk: &said{}, tries: 5, ran: true, wait: func(context.Context) error { return stop }}
	if _, err := p.Run(t.Context(), experiment.Trial{}); !errors.Is(err, stop) || strings.Contains(err.Error(), "listens") {
		t.Errorf("error %v", err)
	}
}
