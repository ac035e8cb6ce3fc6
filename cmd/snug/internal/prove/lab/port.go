// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// portPatience is how long a run waits for its port: connections of an earlier
	// process occupy it for up to a minute.
	portPatience = time.Minute
	portPause    = time.Second
)

// patient repeats runs that did not start because another program had the port of the
// service: minutes of results must not be lost for that.
type patient struct {
	experiment.Runner
	talk talk
	// wait pauses between tries; an error ends the wait.
	wait  func(context.Context) error
	tries int  // at most
	ran   bool // some run had its port
}

// patiently returns the runner of a search.
func (l *Lab) patiently() experiment.Runner {
	return &patient{Runner: l.runner, talk: l.Talk, tries: int(portPatience / portPause),
		wait: func(ctx context.Context) error {
			select {
			case <-time.After(portPause):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
}

// taken is the error of a run that never got its port. It is not an
// [experiment.TargetFailure]: no setting is at fault.
type taken struct{ port *runner.PortError }

func (e *taken) Error() string { return e.port.Error() }

// Run does a run, and repeats it while another program has the port. Before the first run
// that has the port it does not wait: you can still end the other program.
func (p *patient) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	var port *runner.PortError
	for try := 0; ; try++ {
		run, err := p.Runner.Run(ctx, t)
		if !errors.As(err, &port) {
			p.ran = p.ran || err == nil
			return run, err
		}
		if try == p.tries || !p.ran {
			return run, &taken{port}
		}
		if try == 0 {
			p.talk.Note("note: %s; snug tries again for up to %s", port, approximate(time.Duration(p.tries)*portPause))
		}
		p.talk.Status(fmt.Sprintf("waiting for the port, try %d of %d", try+1, p.tries))
		if err := p.wait(ctx); err != nil {
			return run, err
		}
	}
}
