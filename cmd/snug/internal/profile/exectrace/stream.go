// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"golang.org/x/exp/trace"
)

// errDamaged replaces a panic: package trace panics on some damaged traces.
var errDamaged = errors.New("damaged")

func recoverDamage(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

// GOGC while reading. A generation of a trace becomes garbage when the next one is read,
// and with GOGC=100 the heap could double. For small traces, saving memory is not worth
// the time.
const (
	gcPercent      = 100
	gcPercentLarge = 50       // after largeTrace bytes
	largeTrace     = 16 << 20 // bytes
)

// checkEvery is the number of events between checks of ctx, GOGC and progress.
const checkEvery = 1024

// read folds all events of br, which reads from in; nil is the regular end. It changes
// the process's GOGC while it runs.
func (f *fold) read(ctx context.Context, br *bufio.Reader, in *input, progress func(Progress)) (err error) {
	defer recoverDamage(&err)
	percent := gcPercent
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	r, err := trace.NewReader(br)
	if err != nil {
		return err
	}
	var reported time.Time
	for n := 1; ; n++ {
		e, err := r.ReadEvent()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f.event(&e)
		if n%checkEvery != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if percent == gcPercent && in.n > largeTrace {
			percent = gcPercentLarge
			debug.SetGCPercent(percent)
		}
		if progress != nil && time.Since(reported) > 200*time.Millisecond {
			reported = time.Now()
			progress(Progress{in.n, f.events, time.Duration(f.now - f.start)})
		}
	}
}
