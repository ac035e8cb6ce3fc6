// SPDX-License-Identifier: Apache-2.0

// Package cert makes the certificates of a webhook, shares them among its replicas through a
// Store, and renews them. It does not depend on Kubernetes.
//
// Each certificate signs itself and is no CA, so its key can sign nothing else. Clients must trust a
// new one before it is used. Two generations are kept, and clients trust both. NotBefore of a
// certificate says when its use begins, so all replicas switch at the same time without
// talking to each other.
package cert

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// skew is the allowed difference between clocks: a certificate is valid that long before it is
// used, because package x509 and all clients compare with their own clock.
const skew = time.Hour

// generation is a certificate.
type generation struct {
	leaf tls.Certificate // leaf.Leaf is set
}

// from returns when its use begins.
func (g *generation) from() time.Time { return g.leaf.Leaf.NotBefore.Add(skew) }

// notYetValid reports whether it comes from a wrong clock: no certificate is made before its
// NotBefore.
func (g *generation) notYetValid(now time.Time) bool { return now.Before(g.leaf.Leaf.NotBefore) }

// expires returns the end of its validity.
func (g *generation) expires() time.Time { return g.leaf.Leaf.NotAfter }

// validFor reports whether it is valid for all names.
func (g *generation) validFor(all []string) bool {
	for _, name := range all {
		if g.leaf.Leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// generate makes a certificate for names (of hosts, or IP addresses), to be used from a time
// on for life.
func generate(names []string, from time.Time, life time.Duration) (*generation, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: serial, NotBefore: from.Add(-skew), NotAfter: from.Add(life),
		Subject:     pkix.Name{CommonName: "snug webhook"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return &generation{tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}, nil
}

// Keys of the stored data. The first two are those of a Secret of the type kubernetes.io/tls.
const (
	keyCert    = "tls.crt"
	keyKey     = "tls.key"
	keyOldCert = "old.crt"
	keyOldKey  = "old.key"
	keyBundle  = "ca.crt" // what clients trust, for information
)

var errNoCertificate = errors.New("no certificate that signs itself, with its key")

// Keys lists all keys.
var Keys = []string{keyCert, keyKey, keyOldCert, keyOldKey, keyBundle}

// parse parses a generation, and checks that certificate and key match, and that it signs itself.
func parse(crt, key []byte) (*generation, error) {
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil || len(pair.Certificate) != 1 {
		return nil, errNoCertificate
	}
	if c := pair.Leaf; c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) != nil {
		return nil, errNoCertificate
	}
	return &generation{pair}, nil
}

func (g *generation) encode() (crt, key []byte, err error) {
	text, err := x509.MarshalPKCS8PrivateKey(g.leaf.PrivateKey)
	return block("CERTIFICATE", g.leaf.Certificate[0]), block("PRIVATE KEY", text), err
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// generations are the stored generations, at most two, the newest first.
type generations []*generation

// parseAll parses the stored data. It ignores invalid generations.
func parseAll(data map[string][]byte) generations {
	var all generations
	for _, keys := range [][2]string{{keyCert, keyKey}, {keyOldCert, keyOldKey}} {
		if g, err := parse(data[keys[0]], data[keys[1]]); err == nil {
			all = append(all, g)
		}
	}
	return all
}

func (all generations) encode() (map[string][]byte, error) {
	data := map[string][]byte{keyBundle: all.bundle()}
	for i, keys := range [][2]string{{keyCert, keyKey}, {keyOldCert, keyOldKey}}[:len(all)] {
		crt, key, err := all[i].encode()
		if err != nil {
			return nil, err
		}
		data[keys[0]], data[keys[1]] = crt, key
	}
	return data, nil
}

// bundle returns the certificates in PEM, for clients. The same generations give the same bytes.
func (all generations) bundle() []byte {
	var b bytes.Buffer
	for _, g := range all {
		b.Write(block("CERTIFICATE", g.leaf.Certificate[0]))
	}
	return b.Bytes()
}

// current returns the generation to use now: the newest whose time has come, or else the newest.
func (all generations) current(now time.Time) *generation {
	for _, g := range all {
		if !now.Before(g.from()) {
			return g
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// renewed returns the generations with a new one if a renewal is due: two thirds of the life
// of the newest are over, it is not for these names, or it is not valid yet. Otherwise ok is
// false.
func (all generations) renewed(
	names []string, now time.Time, life time.Duration,
) (more generations, ok bool, err error) {
	from := now
	if len(all) > 0 {
		g := all[0]
		if fits := g.validFor(names) && now.Before(g.expires()) && !g.notYetValid(now); fits {
			if now.Before(g.expires().Add(-g.expires().Sub(g.from()) / 3)) {
				return nil, false, nil
			}
			from = now.Add(Notice(life))
			if end := g.expires().Add(-Notice(life) / 2); from.After(end) {
				from = now // there must be no gap
			}
		}
	}
	g, err := generate(names, from, life)
	if err != nil {
		return nil, false, err
	}
	more = generations{g}
	for _, g := range all {
		if now.Before(g.expires()) && !g.notYetValid(now) {
			more = append(more, g)
			break
		}
	}
	return more, true, nil
}

// Notice returns how long before the use of a certificate clients get it: a tenth of its life, at
// most 10 minutes.
func Notice(life time.Duration) time.Duration { return min(life/10, 10*time.Minute) }

// Files is a certificate in files that another program renews, for example cert-manager. It
// reads changed files again.
type Files struct {
	Cert, Key string // paths; PEM

	mu    sync.Mutex
	pair  *tls.Certificate
	state [2]time.Time // modification times of the files of pair
	next  time.Time    // when to check again
}

// lookEvery is the interval at which the files are checked.
const lookEvery = 10 * time.Second

// GetCertificate implements tls.Config.GetCertificate. While the files do not match, it
// returns the previous certificate.
func (f *Files) GetCertificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if f.pair != nil && now.Before(f.next) {
		return f.pair, nil
	}
	f.next = now.Add(lookEvery)
	err := f.read()
	if f.pair == nil {
		return nil, err
	}
	return f.pair, nil
}

func (f *Files) read() error {
	var state [2]time.Time
	for i, name := range []string{f.Cert, f.Key} {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		state[i] = info.ModTime()
	}
	if f.pair != nil && state == f.state {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return err
	}
	f.pair, f.state = &pair, state
	return nil
}

// Until returns the expiry of the certificate; the zero time = there is none.
func (f *Files) Until() time.Time {
	c, err := f.GetCertificate(nil)
	if err != nil || c.Leaf == nil {
		return time.Time{}
	}
	return c.Leaf.NotAfter
}

// temporaryLife is the life of a temporary certificate. At half of it there is a new one.
const temporaryLife = 90 * 24 * time.Hour

// Temporary returns a [tls.Config.GetCertificate] whose certificate no client can verify: for addresses
// where only reading along is to be prevented.
func Temporary(names ...string) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	var mu sync.Mutex
	var g *generation
	var made time.Time
	return func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if g == nil || now.Sub(made) > temporaryLife/2 {
			next, err := generate(names, now, temporaryLife)
			if err != nil && g == nil {
				return nil, err
			}
			if err == nil {
				g, made = next, now
			}
		}
		return &g.leaf, nil
	}
}

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
}

// maxEvery is how long clients may be without a CA that was erased: pods are missed meanwhile.
const maxEvery = 10 * time.Second

// Every returns the interval at which to call Keep.
func (k *Keeper) Every() time.Duration {
	return min(max(Notice(k.Life)/10, 100*time.Millisecond), maxEvery)
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
		k.Note("the webhook configuration had lost the CA; it is there again")
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
		return errors.New("the webhook configuration does not have its CA")
	}
	return nil
}
