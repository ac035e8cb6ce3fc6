// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"context"
	"errors"
	"io"
	"sync/atomic"
	"time"
)

// ErrTooMuch means that a look at a process has used up its budget: the process has more mapped, or claims to have
// more, than is worth reading.
var ErrTooMuch = errors.New("too much mapped to look at")

// Amount is the size of a budget.
type Amount struct {
	Bytes, Calls int64         // that are read, and with how many system calls
	Time         time.Duration // a look that blocks ends when its next read does
}

// OneLook is enough for a look at any program known, including the first at one of 700 MB, which reads 125 MB of its
// file: some tenths of a second of CPU time at most.
var OneLook = Amount{Bytes: 160 << 20, Calls: 1 << 14, Time: 20 * time.Second}

// Budget bounds what is read of a process in one look, by all readers together. It may be a part of that of more
// looks, which bounds their sum. Reads fail from the one on that it has no room for. Several goroutines may use it.
type Budget struct {
	ctx          context.Context
	bytes, calls atomic.Int64 // that are left; below 0 = used up
	until        time.Time
	of           *Budget // nil = it is no part of another
}

// NewBudget returns a budget that is also used up when ctx ends: reads then return its error. of is the budget of which
// it is a part; nil = none.
func NewBudget(ctx context.Context, a Amount, of *Budget) *Budget {
	b := &Budget{ctx: ctx, until: time.Now().Add(a.Time), of: of}
	b.bytes.Store(a.Bytes)
	b.calls.Store(a.Calls)
	return b
}

// Take takes a call that reads n bytes. If there is no room for it, the budget is used up, and Take returns why.
func (b *Budget) Take(n int) error {
	if b.bytes.Add(-int64(n)) < 0 || b.calls.Add(-1) < 0 {
		return b.Over()
	}
	if b.of != nil {
		if err := b.of.Take(n); err != nil {
			return err
		}
	}
	return b.Over()
}

// Over returns why the budget is used up, ErrTooMuch or the error of its context; nil = it is not.
func (b *Budget) Over() error {
	switch {
	case b == nil:
		return nil
	case b.ctx.Err() != nil:
		return b.ctx.Err()
	case b.Spent():
		return ErrTooMuch
	}
	return b.of.Over()
}

// Spent reports whether this budget is used up itself, and not only that of which it is a part.
func (b *Budget) Spent() bool {
	return b.bytes.Load() < 0 || b.calls.Load() < 0 || time.Now().After(b.until)
}

// Renew begins another look at a process, with a budget like that of Open.
func (p *Process) Renew(ctx context.Context) { p.Allow(NewBudget(ctx, OneLook, nil)) }

// With returns the process with another budget, for a part of a look. It is not closed: close p, after the last use
// of it.
func (p *Process) With(b *Budget) *Process {
	q := *p
	q.budget = b
	return &q
}

// Narrow is With for a part of its budget.
func (p *Process) Narrow(bytes, calls int64) *Process {
	return p.With(NewBudget(p.budget.ctx, Amount{bytes, calls, time.Until(p.budget.until)}, p.budget))
}

// Within returns a reader that takes each read of r from the budget.
func (b *Budget) Within(r io.ReaderAt) io.ReaderAt { return &within{r, b} }

type within struct {
	r io.ReaderAt
	b *Budget
}

func (w *within) ReadAt(p []byte, off int64) (int, error) {
	if err := w.b.Take(len(p)); err != nil {
		return 0, err
	}
	return w.r.ReadAt(p, off)
}
