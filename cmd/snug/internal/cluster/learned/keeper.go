// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Store keeps the text of the facts for all replicas.
type Store interface {
	// Load returns the text and its version; nil = none.
	Load(context.Context) (text []byte, version string, err error)
	// Save replaces the version that was loaded by a text; "" = there was none. It returns
	// ErrConflict if the stored version is another.
	Save(ctx context.Context, text []byte, version string) error
}

// ErrConflict means that the stored text has changed since it was loaded.
var ErrConflict = errors.New("changed since it was loaded")

// every is the interval at which the agents are asked and the text is loaded.
const every = time.Minute

// Keeper keeps facts up to date. Its methods without a context are safe for concurrent use.
type Keeper struct {
	Agents *Agents // nil = other replicas ask, and share
	Store  Store
	Note   func(string) // receives notes for the log

	facts  atomic.Pointer[Facts]
	agents atomic.Pointer[Asked] // of the last round, without facts
	// dropped is the number of facts that did not fit into the text or into maxFacts.
	dropped atomic.Int64
	full    bool // it was noted that facts are dropped
}

// Facts returns the current facts; nil at first.
func (k *Keeper) Facts() *Facts { return k.facts.Load() }

// Asked returns how many agents were asked in the last round, and how many did not answer.
func (k *Keeper) Asked() (agents, silent int) {
	if a := k.agents.Load(); a != nil {
		return a.Agents, a.Silent
	}
	return 0, 0
}

// Dropped returns how many facts were left out when they were last shared. This replica may
// still have them.
func (k *Keeper) Dropped() int { return int(k.dropped.Load()) }

// Run calls Keep every minute until ctx ends. It notes an error if it differs from the one
// before.
func (k *Keeper) Run(ctx context.Context) {
	// Load what other replicas have learned before asking.
	run(ctx, k.Note, k.share(ctx, nil, time.Now()), k.Keep)
}

// run notes the error of a first step, and calls keep every minute until ctx ends. It notes an
// error if it differs from the one before.
func run(ctx context.Context, say func(string), first error, keep func(context.Context, time.Time) error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	last := ""
	note := func(err error) {
		if ctx.Err() == nil {
			last = noted(say, err, last)
		}
	}
	note(first)
	for {
		note(keep(ctx, time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// noted notes an error whose text differs from the last one, and returns its text.
func noted(note func(string), err error, last string) string {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != last {
		note(text)
	}
	return text
}

// Keep asks the agents, and shares the facts with other replicas.
func (k *Keeper) Keep(ctx context.Context, now time.Time) error {
	var seen []Fact
	var surplus int
	var failed error
	if k.Agents != nil {
		asked, err := k.Agents.Ask(ctx)
		if failed = err; err == nil {
			seen, surplus, asked.Facts = asked.Facts, asked.Surplus, nil
			k.agents.Store(&asked)
		}
	}
	err := k.share(ctx, seen, now)
	if full := k.dropped.Add(int64(surplus)) > 0; full != k.full {
		if k.full = full; full {
			k.Note("more facts than fit: those last seen longest ago are dropped (snug_webhook_facts_dropped)")
		}
	}
	return errors.Join(failed, err)
}

// share merges what was seen with the shared facts. If it fails, this replica still keeps the
// new facts.
func (k *Keeper) share(ctx context.Context, seen []Fact, now time.Time) error {
	for attempt := 0; ; attempt++ {
		text, version, err := k.Store.Load(ctx)
		if err != nil {
			facts := k.facts.Load().With(seen, now)
			k.facts.Store(facts)
			k.dropped.Store(int64(facts.surplus))
			return err
		}
		theirs, unreadable := Decode(text)
		facts := Merged(theirs, k.facts.Load(), now).With(seen, now)
		k.facts.Store(facts)
		more, dropped := facts.Encode()
		k.dropped.Store(int64(facts.surplus + dropped))
		// An unreadable text is not overwritten with nothing.
		if !bytes.Equal(more, text) && (facts.Len() > 0 || len(text) > 0 && unreadable == nil) {
			err = k.Store.Save(ctx, more, version)
		}
		if !errors.Is(err, ErrConflict) || attempt == 3 {
			return err
		}
	}
}
