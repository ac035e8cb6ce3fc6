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

// batch is a run of events, in order. To read many and then to fold them is faster than
// to do so in turn, as each has the caches of the processor for itself; and faster than to
// fold on another thread, to which events have to get first.
type batch struct {
	briefs []brief
	events []trace.Event // those that their briefs do not tell
}

const batchEvents = 1024 // 24 KiB

// The collector's percentage for the first bytes of a trace and for what follows.
const (
	smallTrace   = 16 << 20
	smallPercent = 400
	largePercent = 50
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

// read folds all events that br has, which reads from in; nil is the regular end.
func (f *fold) read(ctx context.Context, br *bufio.Reader, in *input, progress func(Progress)) (err error) {
	defer recovered(&err)
	r, err := trace.NewReader(br)
	if err != nil {
		return err
	}
	// A generation is garbage when the next is read, and a heap that may grow to twice its
	// size would take as much again. Little of one is not worth collecting.
	defer debug.SetGCPercent(debug.SetGCPercent(smallPercent))
	small := true
	d, b := newDirect(), &batch{briefs: make([]brief, batchEvents)}
	var told time.Time
	for {
		err := b.fill(r, d)
		for i := range b.briefs {
			if r := &b.briefs[i]; r.meaning == other {
				f.event(&b.events[r.place])
			} else {
				f.brief(r, d.texts)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return err
		}
		if small && in.n > smallTrace {
			small = false
			debug.SetGCPercent(largePercent)
		}
		if progress != nil && time.Since(told) > 200*time.Millisecond {
			told = time.Now()
			progress(Progress{in.n, f.events, time.Duration(f.now - f.start)})
		}
	}
}
