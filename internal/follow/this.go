// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"runtime"
	"runtime/debug"
	"time"

	"github.com/snug-go/snug/limits"
)

// limits reads the limits; changed reports that they may lead to another decision.
func (l *Loop) limits() (changed bool) {
	if l.fake != nil {
		return l.fake.limits(&l.next)
	}
	return l.cfg.Limits.Read(&l.next)
}

func (l *Loop) knobs() (procs, memory int64) {
	if l.fake != nil {
		return l.fake.knobs()
	}
	return int64(runtime.GOMAXPROCS(0)), debug.SetMemoryLimit(-1)
}

// live returns an upper bound of the live heap, in bytes.
func (l *Loop) live() int64 {
	if l.fake != nil {
		return l.fake.live()
	}
	return l.cfg.Limits.Anonymous(0)
}

// used returns the CPU time; 0 if unknown, or sealed.
func (l *Loop) used() time.Duration {
	switch {
	case l.fake != nil:
		return l.fake.used()
	case limits.Sealed():
		return sealed
	}
	return cpuTime()
}
