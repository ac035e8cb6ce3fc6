// SPDX-License-Identifier: Apache-2.0

package look

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/internal/plan"
)

// Running returns the knobs of a process that its own code has set, and its live heap. A knob that snug set, or
// whose setter is unknown, counts as the runtime's. The zero Now is a process whose memory may not be read.
func Running(pid int) plan.Now {
	p, err := proc.Open(pid)
	if err != nil {
		return plan.Now{}
	}
	defer p.Close()
	g := goproc.Look(p, goproc.NewCache(""))
	own := func(s *goproc.Setter) bool {
		return s.By == goproc.ByCode && !strings.HasPrefix(s.Detail, "github.com/snug-go/snug ")
	}
	now := plan.Now{Procs: g.GOMAXPROCS.N, MemLimit: plan.NoMemLimit, ByRuntime: !own(&g.GOMAXPROCSBy)}
	if g.GOMEMLIMIT.Known() && own(&g.GOMEMLIMITBy) {
		now.MemLimit = g.GOMEMLIMIT.N
	}
	if g.Collections.N > 0 {
		now.Live = int64(g.HeapMarked.N)
	}
	return now
}
