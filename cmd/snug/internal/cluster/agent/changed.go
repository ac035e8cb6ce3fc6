// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/snug-go/snug/limits"
)

// changing is a limit that may become another while a program runs, as when a pod is
// resized in place. What the program was told when it started is then stale.
type changing[T int64 | float64] struct {
	last limits.Value[T] // that was known
	at   time.Time       // when it was first seen to be another than before; zero = never
}

// note adds what was seen. Unknown is no change.
func (c *changing[T]) note(now limits.Value[T], at time.Time) {
	if now.State == limits.Unknown {
		return
	}
	if c.last.State != limits.Unknown && now != c.last {
		c.at = at
	}
	c.last = now
}

// when is the time of the last change as RFC 3339, nil when there was none.
func (c *changing[T]) when() *string {
	if c.at.IsZero() {
		return nil
	}
	return new(c.at.Format(time.RFC3339))
}
