// SPDX-License-Identifier: Apache-2.0

package look

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/internal/plan"
)

// Running returns the knobs of a process that its own code has set, and its live heap. A knob that snug set, or
// whose setter is unknown, counts as the runtime's. unread says why they cannot be read.
func Running(pid int) (now plan.Now, unread string) {
	p, err := proc.Open(pid)
	if err != nil {
		return now, message.Reason(err)
	}
	defer p.Close()
	g := goproc.Look(p, goproc.NewCache(""))
	own := func(s *goproc.Setter) bool {
		return s.By == goproc.ByCode && !strings.HasPrefix(s.Detail, "github.com/snug-go/snug ")
	}
	now = plan.Now{Procs: g.GOMAXPROCS.N, MemLimit: plan.NoMemLimit, ByRuntime: !own(&g.GOMAXPROCSBy)}
	if g.GOMEMLIMIT.Known() && own(&g.GOMEMLIMITBy) {
		now.MemLimit = g.GOMEMLIMIT.N
	}
	if g.Collections.N > 0 {
		now.Live = int64(g.HeapMarked.N)
	}
	if g.Err != nil {
		return now, message.Reason(g.Err)
	}
	return now, g.GOMAXPROCS.Why
}
