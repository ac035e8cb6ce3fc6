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

// batch is a run of events, in order. To read many and then to fold them is a little
// faster than to do so in turn. To fold them on another thread is not: it slows the one
// that reads down by more than that takes.
type batch struct {
	briefs []brief
	events []trace.Event // those that their briefs do not tell
}

const batchEvents = 1024 // 24 KiB

// GOGC while reading, and from which byte of a trace on it is the second one. A generation
// of a trace is garbage when the next is read, and a heap that may grow to twice its size
// would take as much again; where there is little, to spare some is not worth the time.
const (
	usual   = 100
	sparing = 50
	large   = 16 << 20
)

// fill reads the next events; its error belongs after them.
func (b *batch) fill(r *trace.Reader, d *direct) (err error) {
	clear(b.events)
	b.events = b.events[:0]
	briefs, n := b.briefs[:batchEvents], 0
	defer func() { b.briefs = briefs[:n] }()
	defer recovered(&err)
	for ; n < len(briefs); n++ {
		e, err := r.ReadEvent()
		if err != nil {
			return err
		}
		told := &briefs[n]
		if d.read(&e, told); told.meaning == other {
			if e.Kind() == trace.EventSync {
				d.sync()
			}
			told.place = int32(len(b.events))
			b.events = append(b.events, e)
		}
	}
	return nil
}

// read folds all events that br has, which reads from in; nil is the regular end. As long
// as it runs the process has another GOGC.
func (f *fold) read(ctx context.Context, d *direct, br *bufio.Reader, in *input, progress func(Progress)) (err error) {
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
	b := &batch{briefs: make([]brief, batchEvents)}
	var told time.Time
	for {
		err := b.fill(r, d)
		f.batch(b, d.texts)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
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
