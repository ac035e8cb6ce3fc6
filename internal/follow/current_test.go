// SPDX-License-Identifier: Apache-2.0

package follow

import "testing"

// stub is a Follower that may have ended.
type stub struct {
	Follower
	ended bool
}

func (s *stub) Stats() Stats { return Stats{Ended: s.ended} }

func TestCurrent(t *testing.T) {
	restore := latest.sets
	defer register(restore, false)
	expect := func(what string, want Follower) {
		t.Helper()
		if got := Current(); got != want {
			t.Errorf("%s: it is %p, want %p", what, got, want)
		}
	}
	Register(nil, false)
	expect("none was started", nil)
	first, second, dry, last := &stub{}, &stub{}, &stub{}, &stub{}
	Register(dry, true)
	expect("a dry one alone", dry)
	Register(first, false)
	expect("one that sets", first)
	first.ended = true
	expect("one that has ended", first)
	Register(second, false)
	expect("the next", second)
	Register(dry, true)
	expect("a dry one beside it", dry)
	dry.ended = true
	expect("the dry one has ended", second)
	second.ended = true
	expect("both have", dry)
	Register(last, false)
	expect("one that sets, after a dry one", last)
}
