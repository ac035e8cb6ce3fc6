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

// errDamaged is what a panic over a trace becomes: the reader of traces does so on some
// damage.
var errDamaged = errors.New("damaged")

func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", errDamaged, p)
	}
}

// GOGC while reading, and from which byte of a trace on it is the second one. A generation
// of a trace is garbage when the next is read, and a heap that may grow to twice its size
// would take as much again; where there is little, to spare some is not worth the time.
const (
	usual   = 100
	sparing = 50
	large   = 16 << 20
)

// between is how many events are read before ctx, the garbage collector and who waits for
// progress have their turn.
const between = 1024

// read folds all events that br has, which reads from in; nil is the regular end. As long
// as it runs the process has another GOGC.
func (f *fold) read(ctx context.Context, br *bufio.Reader, in *input, progress func(Progress)) (err error) {
	defer recovered(&err)
	percent := usual
	if in.n > large { // an old one, which has been read
		percent = sparing
	}
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	r, err := trace.NewReader(br)
	if err != nil {
		return err
	}
	var told time.Time
	for n := 1; ; n++ {
		e, err := r.ReadEvent()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		f.event(&e)
		if n%between != 0 {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if percent == usual && in.n > large {
			percent = sparing
			debug.SetGCPercent(percent)
		}
		if progress != nil && time.Since(told) > 200*time.Millisecond {
			told = time.Now()
			progress(Progress{in.n, f.events, time.Duration(f.now - f.start)})
		}
	}
}
