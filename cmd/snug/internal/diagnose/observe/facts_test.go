// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"
	"time"

	"github.com/snug-go/snug/limits"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/rules"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
)

// TestSinceStart: the runtime's CPU classes end with the last collection, and what ran
// after it counts too.
func TestSinceStart(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name string
		cpu  time.Duration // the kernel's
		classes
		want float64
	}{
		{"the last collection is just over", 100 * s, classes{gc: 30 * s, user: 70 * s}, 0.3},
		{"idle marking is no cost", 100 * s, classes{gc: 40 * s, idle: 10 * s, user: 70 * s}, 0.3},
		{"one at the start, and none since", 3 * s, classes{gc: 60 * s / 1000, user: 20 * s / 1000}, 0.02},
		{"CPU was short: the classes have more than the kernel", 10 * s, classes{gc: 25 * s, user: 75 * s}, 0.25},
		{"given back", 100 * s, classes{gc: 10 * s, user: 50 * s, scavenge: 20 * s}, 0.1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := &goproc.Facts{}
			g.Stat.CPU = c.cpu
			g.CPU.State = limits.Known
			g.CPU.N = goproc.CPUClasses{GCTotal: c.gc, GCIdle: c.idle, User: c.user, Scavenge: c.scavenge}
			f := &rules.Facts{}
			SinceStart(f, g, nil)
			if !f.GCShare.Known() || f.GCShare.N < c.want-1e-9 || f.GCShare.N > c.want+1e-9 {
				t.Errorf("%+v", f.GCShare)
			}
		})
	}
}

type classes struct{ gc, idle, user, scavenge time.Duration }
