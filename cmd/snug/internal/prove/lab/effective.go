// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// effective is a Runner that reads the knobs of the program, in windows that are counted in slices: those
// of the first looks of a search.
type effective struct {
	experiment.Runner
	runner *runner.Runner
	files  *goproc.Cache
}

func (e *effective) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if e.runner.Slices == 0 {
		return e.Runner.Run(ctx, t)
	}
	var knobs *finding.Knobs
	e.runner.Watch = func(alive context.Context, pid int) {
		select { // its code may set them after it listens
		case <-time.After(e.runner.Window / 2):
			knobs = e.knobs(pid)
		case <-alive.Done():
		}
	}
	run, err := e.Runner.Run(ctx, t)
	e.runner.Watch = nil
	run.Effective = knobs
	return run, err
}

// knobs reads the knobs of a Go process; nil if it is none, or its memory cannot be read.
func (e *effective) knobs(pid int) *finding.Knobs {
	p, err := proc.Open(pid)
	if err != nil {
		return nil
	}
	defer p.Close()
	f := goproc.Look(p, e.files)
	var k finding.Knobs
	if n, ok := f.GOMAXPROCS.Get(); ok {
		k.GOMAXPROCS = strconv.Itoa(n)
	}
	if n, ok := f.GOGC.Get(); ok {
		if k.GOGC = strconv.Itoa(n); n < 0 {
			k.GOGC = "off"
		}
	}
	if n, ok := f.GOMEMLIMIT.Get(); ok {
		k.GOMEMLIMIT = units.GoBytes(n)
	} else if f.GOMEMLIMIT.Read() {
		k.GOMEMLIMIT = "off"
	}
	if k == (finding.Knobs{}) {
		return nil
	}
	return &k
}
