// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

// runtimeDelay is how long the runtime gets to follow by itself, in seconds: it reads its limits
// once a second (runtime/proc.go, sysmon).
const runtimeDelay = 0.95

// A knob is the loop's state of GOMAXPROCS or GOMEMLIMIT. Values are Ps or bytes.
type knob struct {
	_         [0]func() // not comparable: no code for it
	own       int64     // what snug set; 0 = nothing
	seen      int64     // its value at the last decision
	requested int64     // what was set last, or would have been; may be restore
	lost      bool      // another part of the program has changed it
	byRuntime bool      // the runtime chose the value before snug (GOMAXPROCS)
	did       apply.Did
	force     *plan.Setting // what was set or left last, and why; nil before that

	growth law.GrowthState

	left     float64 // since when a change is left to the runtime; 0 = it is not (GOMAXPROCS)
	oddSince float64 // since when the limits do not explain its value; 0 = they do (GOMAXPROCS)
}

// restore is the wish for the value before snug, the largest of all.
const restore = plan.NoMemLimit

func (k *knob) begin(s *plan.Setting, did apply.Did, now, own int64, dry bool) {
	k.did, k.own, k.seen = did, own, now
	if own != 0 && !dry {
		k.seen = own
	}
	if did == apply.Would {
		k.requested = s.Value
	} else {
		k.force = s
	}
}

// foreign reports whether a knob must not be changed: it is the operator's or the program's.
func (k *knob) foreign(s *plan.Setting) bool {
	return k.lost || s.Leave && (s.Code == plan.EnvSet || s.Code == plan.ProgramSet || s.Code == plan.NotSupported)
}

// Restores reports whether a knob that has snug's own value gets the one before it back. Until then it
// keeps that.
func Restores(s *plan.Setting, own int64) bool {
	return s.Leave && own != 0 && (s.Code == plan.NoLimit || s.Code == plan.TooSmall)
}

// follow returns the new value of a knob that is now, or restore for the one before snug; now if
// there is nothing to do, or not yet. unknown means that the limit cannot be read: then nothing
// grows. by is the value the runtime sets by itself, 0 if it does not.
func (k *knob) follow(at float64, s *plan.Setting, now int64, unknown, dry bool, by int64) int64 {
	wish := s.Value
	if s.Leave {
		wish = restore
	}
	if k.foreign(s) || s.Leave && !Restores(s, k.own) || unknown && wish > now ||
		dry && k.requested == wish && k.did == apply.Would {
		wish = now
	}
	var value int64
	k.growth, value = law.StepGrowth(k.growth, at, now, wish)
	// The runtime follows a value it has chosen itself, and keeps doing so only if nothing
	// else sets it.
	if wish >= now || k.own != 0 || !k.byRuntime || wish != by {
		k.left = 0
		return value
	}
	if k.left == 0 {
		k.left = at
	}
	if at-k.left < runtimeDelay {
		return now
	}
	k.left = 0
	return value
}

// done records the result of a change to value.
func (k *knob) done(did apply.Did, value int64, s *plan.Setting) {
	k.did, k.requested = did, value
	switch did {
	case apply.Lost:
		k.lost = true
	case apply.Set:
		k.force = s
		if k.own = value; value == restore {
			k.own = 0
		}
	}
}
