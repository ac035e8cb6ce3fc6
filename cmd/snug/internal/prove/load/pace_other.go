// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

import "time"

// pacer waits by time.Sleep. How good that is, lateness shows.
type pacer struct{ start time.Time }

func newPacer(start time.Time) *pacer { return &pacer{start} }

// until returns at a time counted from the start, or at once when that is past.
func (p *pacer) until(due time.Duration) { time.Sleep(due - time.Since(p.start)) }

func (p *pacer) close() {}
