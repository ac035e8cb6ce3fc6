// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"
)

// Store is where certificates are kept, and whom to tell of their CAs.
type Store interface {
	// Load returns what is kept, nil when there is nothing, and its version.
	Load(context.Context) (data map[string][]byte, version string, err error)
	// Save keeps data in place of the version that was loaded, "" = of nothing. It is
	// ErrConflict when somebody else was first.
	Save(ctx context.Context, data map[string][]byte, version string) error
	// Tell makes clients trust these CAs, in PEM.
	Tell(ctx context.Context, bundle []byte) error
}

// ErrConflict says that what was loaded is no longer what is kept.
var ErrConflict = errors.New("somebody else was first")

// Keeper keeps a certificate that is valid.
type Keeper struct {
	Store Store
	Names []string      // of hosts, and IP addresses, that it is for
	Life  time.Duration // of a certificate; above 0
	Note  func(string)  // says something to who runs it

	mu   sync.Mutex
	all  generations
	told bool // clients have been told of a CA
	last string
}

// Every is how often to Keep.
func (k *Keeper) Every() time.Duration {
	return min(max(Notice(k.Life)/10, 100*time.Millisecond), time.Minute)
}

// Run keeps until ctx ends. It reports what fails when it fails in another way than
// before.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.Every())
	defer tick.Stop()
	for {
		said := ""
		if err := k.Keep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			said = err.Error()
		}
		if said != k.last && said != "" {
			k.Note(said)
		}
		k.last = said
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Keep takes over what others keep, renews it where it is time, and tells clients.
func (k *Keeper) Keep(ctx context.Context, now time.Time) error {
	// Who loses a race takes what the other has made.
	for attempt := 0; ; attempt++ {
		data, version, err := k.Store.Load(ctx)
		if err != nil {
			return err
		}
		all := parseAll(data)
		more, due, err := all.renewed(k.Names, now, k.Life)
		if err != nil {
			return err
		}
		if due {
			if data, err = more.encode(); err != nil {
				return err
			}
			if err = k.Store.Save(ctx, data, version); errors.Is(err, ErrConflict) && attempt < 5 {
				continue
			}
			if err != nil {
				return err
			}
			all = more
		}
		k.mu.Lock()
		k.all = all
		k.mu.Unlock()
		break
	}
	err := k.Store.Tell(ctx, k.all.bundle())
	k.mu.Lock()
	k.told = k.told || err == nil
	k.mu.Unlock()
	return err
}

// GetCertificate is for tls.Config.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.all.shown(time.Now())
	if g == nil {
		return nil, errors.New("no certificate yet")
	}
	return &g.leaf, nil
}

// Until is when the certificate that is shown is valid no longer; the zero time when
// there is none.
func (k *Keeper) Until() time.Time {
	c, err := k.GetCertificate(nil)
	if err != nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// Ready says why no client can trust this server yet. A renewal is told so early that it
// is no reason, should it not succeed at once.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(k.all) == 0:
		return errors.New("no certificate yet")
	case k.all.shown(time.Now()).ahead(time.Now()):
		return errors.New("the certificate is not valid yet")
	case !k.told:
		return errors.New("the webhook configurations do not have its CA")
	}
	return nil
}
