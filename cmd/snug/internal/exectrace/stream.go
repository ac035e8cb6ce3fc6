// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
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

// stream reads events on a goroutine of its own, as what is done with them takes more
// than half as long as reading them.
type stream struct {
	full, free chan batch
	err        error // valid once full is closed; nil is the regular end
}

// batch is a run of events.
type batch struct {
	events []trace.Event
	bytes  int64 // read so far
}

const (
	batchEvents = 1024 // about 90 KiB
	batches     = 4
)

// newStream begins to read. It ends with the trace, or with ctx; in must be what br
// reads.
func newStream(ctx context.Context, br *bufio.Reader, in *input) *stream {
	s := &stream{full: make(chan batch, batches), free: make(chan batch, batches)}
	for range batches {
		s.free <- batch{events: make([]trace.Event, 0, batchEvents)}
	}
	go func() {
		defer close(s.full)
		defer recovered(&s.err)
		r, err := trace.NewReader(br)
		if err != nil {
			s.err = err
			return
		}
		for b := range s.free {
			b.events = b.events[:cap(b.events)]
			n := 0
			for n < len(b.events) {
				if b.events[n], err = r.ReadEvent(); err != nil {
					break
				}
				n++
			}
			b.events, b.bytes = b.events[:n], in.n
			s.full <- b
			if err == nil {
				err = ctx.Err()
			}
			if err != nil {
				if err != io.EOF {
					s.err = err
				}
				return
			}
		}
	}()
	return s
}

// read folds all events; nil is the regular end.
func (f *fold) read(ctx context.Context, s *stream, progress func(Progress)) (err error) {
	defer func() {
		close(s.free)
		for range s.full { // until the other side has ended, too
		}
		if err == nil {
			err = s.err
		}
	}()
	defer recovered(&err)
	var told time.Time
	for b := range s.full {
		for i := range b.events {
			f.event(&b.events[i])
		}
		if ctx.Err() != nil {
			return nil // the other side says why
		}
		if progress != nil && time.Since(told) > 200*time.Millisecond {
			told = time.Now()
			progress(Progress{b.bytes, f.events, time.Duration(f.now - f.start)})
		}
		s.free <- b
	}
	return nil
}
