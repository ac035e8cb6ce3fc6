// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"slices"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Logger is a program's own, such as *slog.Logger.
type Logger interface {
	Info(msg string, args ...any)
	Warn(msg string, args ...any)
}

// logged is what a Logger has.
type logged struct {
	knobs    [3]plan.Setting
	did      [3]apply.Did
	warnings []limits.Warning
	gaps     []limits.Gap
}

// LogTo returns a function that logs what is new in an update: what SNUG_LOG=json prints, by the
// same names. A logger that panics is reported, and called no more.
func LogTo(to Logger) func(*Update) {
	var l logged
	return func(u *Update) {
		if to == nil {
			return
		}
		returned := false
		defer func() {
			if failure := FailureOf(recover(), returned); failure != "" {
				to = nil
				fit.Say("warning", "Options.Log is called no more: "+failure)
			}
		}()
		if !u.Requested {
			l.knob(to, 0, "GOMAXPROCS", &u.Plan.GOMAXPROCS, u.GOMAXPROCS)
		}
		l.knob(to, 1, "GOMEMLIMIT", &u.Plan.GOMEMLIMIT, u.GOMEMLIMIT)
		if !u.Plan.GOGC.Leave || l.knobs[2].Code != "" {
			l.knob(to, 2, "GOGC", &u.Plan.GOGC, u.GOGC)
		}
		for _, w := range u.Plan.Warnings {
			if !slices.Contains(l.warnings, w) {
				to.Warn("snug: warning", pairs("code", w.Code, "file", w.File, "raw", w.Raw)...)
			}
		}
		for _, g := range u.Limits.Gaps {
			if !g.Redundant && !slices.Contains(l.gaps, g) {
				to.Warn("snug: unknown", pairs("field", g.Field, "file", g.File, "why", g.Why)...)
			}
		}
		l.warnings, l.gaps, returned = u.Plan.Warnings, u.Limits.Gaps, true
	}
}

// near reports whether two settings have the same reason and differ by a twentieth or less: a value that
// follows measurements moves all the time.
func near(old, s *plan.Setting) bool {
	return old.Code == s.Code && max(old.Value-s.Value, s.Value-old.Value) <= old.Value/20
}

// knob logs a knob that is not near to what it was.
func (l *logged) knob(to Logger, i int, name string, s *plan.Setting, did apply.Did) {
	old := &l.knobs[i]
	if !near(old, s) || old.Source != s.Source || l.did[i] != did {
		l.knobs[i], l.did[i] = *s, did
		args := []any{"knob", name}
		if !s.Leave {
			args = append(args, "value", s.Value)
		}
		why := pairs("did", did.String(), "reason", s.Code, "file", s.Source.File, "raw", s.Source.Raw)
		to.Info("snug: decision", append(args, why...)...)
	}
}

// pairs returns the names and texts of a message without those that are "".
func pairs(texts ...string) (args []any) {
	for i := 0; i < len(texts); i += 2 {
		if texts[i+1] != "" {
			args = append(args, texts[i], texts[i+1])
		}
	}
	return args
}
