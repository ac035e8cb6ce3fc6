// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

// TestStatusWithoutATerminal: a log gets the status once a minute, not at each change.
func TestStatusWithoutATerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		u := &UI{Err: &log}
		for _, text := range []string{"run 1", "run 2", "", "run 3", "run 4", "run 5"} {
			u.Status(text)
			time.Sleep(25 * time.Second)
		}
		if got, want := log.String(), "snug: run 3\n"; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
