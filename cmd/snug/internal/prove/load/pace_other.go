// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

import "time"

// pacer waits by time.Sleep. Lateness shows how precise that is.
type pacer struct{ start time.Time }

func newPacer(start time.Time) *pacer { return &pacer{start} }

// until returns at a time since the start, or at once if that is past.
func (p *pacer) until(due time.Duration) { time.Sleep(due - time.Since(p.start)) }

func (p *pacer) close() {}
