// SPDX-License-Identifier: Apache-2.0

// Package measure makes loops of package follow that measure this process, for package adapt.
package measure

import (
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/sense"
)

// Package adapt/auto must be initialised after package auto, from which it takes over. Go initialises
// what is ready in the order of import paths: adapt/auto has to wait for this package, and auto, whose
// path is before this one's, does not. TestAdaptTakesOverFromAuto fails without this function.
func init() { follow.Text = Text }

// New returns a loop that has not started. It completes m.
func New(cfg *follow.Config, m *follow.Measure) *follow.Measuring {
	m.Open = func() (follow.Machine, error) { return sense.Open() }
	return follow.NewMeasuring(cfg, m)
}
