// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"sync"
	"time"
)

// Store keeps certificates, and gives their CAs to clients.
type Store interface {
	// Load returns the data and its version; nil = none.
	Load(context.Context) (data map[string][]byte, version string, err error)
	// Save replaces the version that was loaded by data; "" = there was none. It returns
	// ErrConflict if the stored version is another.
	Save(ctx context.Context, data map[string][]byte, version string) error
	// Tell makes clients trust these CAs, in PEM. changed reports that some did not before.
	Tell(ctx context.Context, bundle []byte) (changed bool, err error)
}

// ErrConflict means that the stored data has changed since it was loaded.
var ErrConflict = errors.New("changed since it was loaded")

// Keeper keeps a valid certificate.
type Keeper struct {
	Store Store
	Names []string      // of hosts, or IP addresses
	Life  time.Duration // of a certificate; above 0
	Note  func(string)  // receives errors and repairs for the log

	mu        sync.Mutex
	all       generations
	published bool   // clients have got a CA
	told      []byte // the CAs that they have got
	lastNote  string
}

// maxEvery is how long clients may be without a CA that was erased: pods are missed meanwhile.
const maxEvery = 10 * time.Second

// Every returns the interval at which to call Keep.
func (k *Keeper) Every() time.Duration {
	return min(max(Notice(k.Life)/10, 100*time.Millisecond), maxEvery)
}

// Run calls Keep periodically until ctx ends. It notes an error if it differs from the one
// before.
func (k *Keeper) Run(ctx context.Context) {
	tick := time.NewTicker(k.Every())
	defer tick.Stop()
	for {
		text := ""
		if err := k.Keep(ctx, time.Now()); err != nil && ctx.Err() == nil {
			text = err.Error()
		}
		if text != k.lastNote && text != "" {
			k.Note(text)
		}
		k.lastNote = text
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// Keep loads the shared certificates, renews them if due, and gives the CAs to clients. It makes a new
// certificate for one that was erased, and writes again a CA that clients have lost.
func (k *Keeper) Keep(ctx context.Context, now time.Time) error {
	// After a lost race, use the certificate of the other replica.
	for attempt := 0; ; attempt++ {
		data, version, err := k.Store.Load(ctx)
		if err != nil {
			return err
		}
		all := parseAll(data)
		erased := len(all) == 0 && len(k.all) > 0
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
			if erased {
				k.Note("the stored certificate had been erased; there is a new one")
			}
			all = more
		}
		k.mu.Lock()
		k.all = all
		k.mu.Unlock()
		break
	}
	bundle := k.all.bundle()
	changed, err := k.Store.Tell(ctx, bundle)
	if changed && err == nil && bytes.Equal(bundle, k.told) {
		k.Note("the webhook configurations had lost the CA; it is there again")
	}
	k.mu.Lock()
	k.published = k.published || err == nil
	k.mu.Unlock()
	if err == nil {
		k.told = bundle
	}
	return err
}

// GetCertificate implements tls.Config.GetCertificate.
func (k *Keeper) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	g := k.all.current(time.Now())
	if g == nil {
		return nil, errors.New("no certificate yet")
	}
	return &g.leaf, nil
}

// Until returns the expiry of the current certificate; the zero time = there is none.
func (k *Keeper) Until() time.Time {
	c, err := k.GetCertificate(nil)
	if err != nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// Ready returns why no client can trust this server yet. A failed renewal is no reason,
// because there is time left to try again.
func (k *Keeper) Ready() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case len(k.all) == 0:
		return errors.New("no certificate yet")
	case k.all.current(time.Now()).notYetValid(time.Now()):
		return errors.New("the certificate is not valid yet")
	case !k.published:
		return errors.New("the webhook configurations do not have its CA")
	}
	return nil
}
