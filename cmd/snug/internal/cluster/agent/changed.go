// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/snug-go/snug/limits"
)

// changing is a limit that may change while a program runs, for example when a pod is resized
// in place. The values that the program read at its start are then stale.
type changing[T int64 | float64] struct {
	last limits.Value[T] // the last known value
	at   time.Time       // when the last change was seen; zero = never
}

// note records a value. Unknown is no change.
func (c *changing[T]) note(now limits.Value[T], at time.Time) {
	if now.State == limits.Unknown {
		return
	}
	if c.last.State != limits.Unknown && now != c.last {
		c.at = at
	}
	c.last = now
}

// when returns the time of the last change as RFC 3339; nil = never.
func (c *changing[T]) when() *string {
	if c.at.IsZero() {
		return nil
	}
	return new(c.at.Format(time.RFC3339))
}
