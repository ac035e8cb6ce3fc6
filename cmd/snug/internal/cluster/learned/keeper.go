// SPDX-License-Identifier: Apache-2.0

package learned

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"time"
)

// Store is where the text of facts is kept for all who remember.
type Store interface {
	// Load returns the text, nil when there is none, and its version.
	Load(context.Context) (text []byte, version string, err error)
	// Save keeps a text in place of the version that was loaded, "" = of nothing. It is
	// ErrConflict when somebody else was first.
	Save(ctx context.Context, text []byte, version string) error
}

// ErrConflict says that what was loaded is no longer what is kept.
var ErrConflict = errors.New("somebody else was first")

// every is how often agents are asked and the text is looked at.
const every = time.Minute

// Keeper keeps facts up to date. Facts is for others at any time.
type Keeper struct {
	Agents *Agents // nil = nobody is asked: others do, and share
	Store  Store
	Note   func(string) // says something to who runs it

	facts  atomic.Pointer[Facts]
	agents atomic.Pointer[Asked] // of the last minute, without their facts
	// dropped is how many facts had no room, not in the text or not even here.
	dropped atomic.Int64
	full    bool // it was noted that there is no room
	said    string
}

// Facts are those that hold now; nil at first.
func (k *Keeper) Facts() *Facts { return k.facts.Load() }

// Asked is how many agents were asked last, and how many of them did not answer.
func (k *Keeper) Asked() (agents, silent int) {
	if a := k.agents.Load(); a != nil {
		return a.Agents, a.Silent
	}
	return 0, 0
}

// Dropped is how many facts had no room when they were last shared: this replica may know
// them all the same, and others do not.
func (k *Keeper) Dropped() int { return int(k.dropped.Load()) }

// Run keeps until ctx ends. It reports what fails when it fails in another way than
// before.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	// What others have learned is there at once.
	k.tell(ctx, k.share(ctx, nil, time.Now()))
	for {
		k.tell(ctx, k.Keep(ctx, time.Now()))
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (k *Keeper) tell(ctx context.Context, err error) {
	said := ""
	if err != nil && ctx.Err() == nil {
		said = err.Error()
	}
	if said != "" && said != k.said {
		k.Note(said)
	}
	k.said = said
}

// Keep asks the agents, and shares what is known with others.
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
			k.Note("more is learned than there is room for: what nobody has seen for longest is forgotten (snug_webhook_facts_dropped)")
		}
	}
	return errors.Join(failed, err)
}

// share joins what was seen with what others share. What cannot be shared is known here
// all the same.
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
		// A text that is there and holds nothing that is known is not written anew.
		if !bytes.Equal(more, text) && (facts.Len() > 0 || len(text) > 0 && unreadable == nil) {
			err = k.Store.Save(ctx, more, version)
		}
		if !errors.Is(err, ErrConflict) || attempt == 3 {
			return err
		}
	}
}
