// SPDX-License-Identifier: Apache-2.0

package cert

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// shelf is a Store in memory.
type shelf struct {
	mu      sync.Mutex
	data    map[string][]byte
	version int
	told    []byte
	loads   int
	saves   int
	fails   error
	before  func() // called once, before the next Save
}

func (s *shelf) Load(context.Context) (map[string][]byte, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	if s.fails != nil {
		return nil, "", s.fails
	}
	if s.version == 0 {
		return nil, "", nil
	}
	return maps.Clone(s.data), strconv.Itoa(s.version), nil
}

func (s *shelf) Save(_ context.Context, data map[string][]byte, version string) error {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if version == "" && s.version != 0 || version != "" && version != strconv.Itoa(s.version) {
		return ErrConflict
	}
	s.data = data
	s.version++
	s.saves++
	return nil
}

func (s *shelf) Tell(_ context.Context, bundle []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := !bytes.Equal(s.told, bundle)
	s.told = bundle
	return changed, s.fails
}

const life = 90 * 24 * time.Hour

func keeper(s Store) *Keeper {
	return &Keeper{Store: s, Names: []string{"snug-webhook.snug.svc", "127.0.0.1"}, Life: life, Note: func(string) {}}
}

// trusts checks that a client with these CAs trusts a keeper's current certificate.
func trusts(t *testing.T, bundle []byte, k *Keeper, now time.Time) *x509.Certificate {
	t.Helper()
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(bundle) {
		t.Fatal("no CA")
	}
	k.mu.Lock()
	leaf := k.all.current(now).leaf.Leaf
	k.mu.Unlock()
	for _, name := range k.Names {
		if _, err := leaf.Verify(x509.VerifyOptions{DNSName: name, Roots: pool, CurrentTime: now}); err != nil {
			t.Errorf("at %v: %v", now, err)
		}
	}
	return leaf
}

// TestKeep runs two replicas, at different times, through a year.
func TestKeep(t *testing.T) {
	s := &shelf{}
	a, b := keeper(s), keeper(s)
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	shown := map[string]bool{}
	told := []byte(nil) // the CAs that clients had a minute ago
	for at := time.Duration(0); at < 365*24*time.Hour; {
		now := begin.Add(at)
		for i, k := range []*Keeper{a, b} {
			if err := k.Keep(t.Context(), now.Add(time.Duration(i)*30*time.Second)); err != nil {
				t.Fatal(err)
			}
		}
		if told == nil {
			told = s.told
		}
		for _, k := range []*Keeper{a, b} {
			leaf := trusts(t, told, k, now.Add(30*time.Second))
			shown[leaf.SerialNumber.String()] = true
		}
		if n := bytes.Count(s.told, []byte("BEGIN")); n > 2 {
			t.Fatalf("%d CAs", n)
		}
		told = s.told
		// In steps of a minute around renewal and first use, otherwise of a day.
		step := 24 * time.Hour
		switch left := a.all[0].expires().Sub(now) - life/3; {
		case left > 0:
			step = max(min(step, left-5*time.Minute), time.Minute)
		case left > -30*time.Minute, now.Before(a.all[0].from().Add(10 * time.Minute)):
			step = time.Minute
		}
		at += step
	}
	if n := 6; s.saves != n+1 && s.saves != n || len(shown) != s.saves {
		t.Errorf("%d certificates were made and %d shown in a year, want one each 60 days", s.saves, len(shown))
	}
}

// TestErased: what is erased is back after the next look, and said once.
func TestErased(t *testing.T) {
	s := &shelf{}
	var notes []string
	a, b := keeper(s), keeper(s)
	a.Note = func(text string) { notes = append(notes, text) }
	b.Note = a.Note
	now := time.Now()
	for _, c := range []struct {
		erase func()
		note  []string
	}{
		{func() {}, nil},
		{func() { s.data = map[string][]byte{} }, []string{"the stored certificate had been erased; there is a new one"}},
		{func() { s.told = nil }, []string{"the webhook configuration had lost the CA; it is there again"}},
	} {
		notes = nil
		c.erase()
		for _, k := range []*Keeper{a, b, a, b} {
			if err := k.Keep(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			trusts(t, s.told, k, now)
		}
		if !slices.Equal(notes, c.note) {
			t.Errorf("notes %q, want %q", notes, c.note)
		}
	}
	if e := a.Every(); e > 10*time.Second {
		t.Errorf("a look each %v", e)
	}
}

func TestKeepTogether(t *testing.T) {
	s := &shelf{}
	var keepers []*Keeper
	var group sync.WaitGroup
	now := time.Now()
	for range 8 {
		k := keeper(s)
		keepers = append(keepers, k)
		group.Go(func() {
			if err := k.Keep(t.Context(), now); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if s.saves != 1 {
		t.Errorf("%d certificates were made", s.saves)
	}
	for _, k := range keepers {
		trusts(t, s.told, k, now)
		if err := k.Ready(); err != nil {
			t.Error(err)
		}
	}
}

func TestKeepStartsAnew(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name  string
		spoil func(*shelf, *Keeper)
		later time.Duration
	}{
		{"an empty Secret", func(s *shelf, _ *Keeper) { s.data = map[string][]byte{} }, 0},
		{"nonsense", func(s *shelf, _ *Keeper) { s.data[keyCert] = []byte("x") }, 0},
		{"the key of another", func(s *shelf, _ *Keeper) {
			g, _ := generate([]string{"x"}, now, life)
			_, s.data[keyKey], _ = g.encode()
		}, 0},
		{"two certificates", func(s *shelf, _ *Keeper) {
			g, _ := generate([]string{"x"}, now, life)
			s.data[keyCert] = append(s.data[keyCert], block("CERTIFICATE", g.leaf.Certificate[0])...)
		}, 0},
		{"one that another has signed", func(s *shelf, _ *Keeper) {
			g, _ := generate([]string{"x"}, now, life)
			by, _ := generate([]string{"x"}, now, life)
			der, err := x509.CreateCertificate(rand.Reader, g.leaf.Leaf, by.leaf.Leaf, g.leaf.Leaf.PublicKey, by.leaf.PrivateKey)
			if err != nil {
				panic(err)
			}
			_, s.data[keyKey], _ = g.encode()
			s.data[keyCert] = block("CERTIFICATE", der)
		}, 0},
		{"another name", func(_ *shelf, k *Keeper) { k.Names = []string{"other.snug.svc"} }, 0},
		{"all replicas slept past the expiry", func(*shelf, *Keeper) {}, 2 * life},
		{"all replicas slept until shortly before the expiry", func(*shelf, *Keeper) {}, life - time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &shelf{}
			k := keeper(s)
			if err := k.Keep(t.Context(), now); err != nil {
				t.Fatal(err)
			}
			c.spoil(s, k)
			if err := k.Keep(t.Context(), now.Add(c.later)); err != nil {
				t.Fatal(err)
			}
			if s.saves != 2 {
				t.Errorf("%d certificates", s.saves)
			}
			trusts(t, s.told, k, now.Add(c.later))
			if err := k.Keep(t.Context(), now.Add(c.later+time.Hour)); err != nil || s.saves != 2 {
				t.Errorf("%v, %d certificates an hour later", err, s.saves)
			}
		})
	}
}

func TestKeepConflict(t *testing.T) {
	s := &shelf{}
	first, second := keeper(s), keeper(s)
	now := time.Now()
	s.before = func() {
		if err := first.Keep(t.Context(), now); err != nil {
			t.Error(err)
		}
	}
	if err := second.Keep(t.Context(), now); err != nil || s.saves != 1 {
		t.Errorf("%v, %d certificates", err, s.saves)
	}
	if a, b := first.all[0].leaf.Leaf, second.all[0].leaf.Leaf; !a.Equal(b) {
		t.Error("two certificates")
	}
}

func TestKeepFails(t *testing.T) {
	s := &shelf{fails: errors.New("no server")}
	k := keeper(s)
	if _, err := k.GetCertificate(nil); err == nil || k.Ready() == nil || !k.Until().IsZero() {
		t.Errorf("ready before the first")
	}
	if err := k.Keep(t.Context(), time.Now()); err == nil || k.Ready() == nil {
		t.Error("ready without a server")
	}
	s.fails = nil
	if err := k.Keep(t.Context(), time.Now()); err != nil || k.Ready() != nil {
		t.Errorf("%v, %v", err, k.Ready())
	}
	s.fails = errors.New("no server")
	if err := k.Keep(t.Context(), time.Now()); err == nil || k.Ready() != nil {
		t.Error("without a server it must stay ready")
	}
	if c, err := k.GetCertificate(nil); err != nil || time.Until(c.Leaf.NotAfter) < life/2 {
		t.Errorf("%v", err)
	}
}

func TestFiles(t *testing.T) {
	dir := t.TempDir()
	f := &Files{Cert: filepath.Join(dir, "tls.crt"), Key: filepath.Join(dir, "tls.key")}
	if _, err := f.GetCertificate(nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without files: %v", err)
	}
	put := func() *x509.Certificate {
		g, err := generate([]string{"a"}, time.Now(), time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		crt, key, err := g.encode()
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.WriteFile(f.Cert, crt, 0o600), os.WriteFile(f.Key, key, 0o600)); err != nil {
			t.Fatal(err)
		}
		return g.leaf.Leaf
	}
	look := func() *tls.Certificate {
		f.next = time.Time{}
		c, err := f.GetCertificate(nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := put()
	if !look().Leaf.Equal(first) || !f.Until().Equal(first.NotAfter) {
		t.Error("another certificate")
	}
	if err := os.WriteFile(f.Key, []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !look().Leaf.Equal(first) {
		t.Error("half a key must not replace the certificate")
	}
	second := put()
	os.Chtimes(f.Cert, time.Time{}, time.Now().Add(time.Minute))
	if !look().Leaf.Equal(second) {
		t.Error("the renewed certificate is not used")
	}
}

func FuzzParse(f *testing.F) {
	g, err := generate([]string{"a"}, time.Now(), life)
	if err != nil {
		f.Fatal(err)
	}
	crt, key, _ := g.encode()
	f.Add(crt, key)
	f.Add(crt[:len(crt)/2], key)
	f.Add([]byte(strings.Repeat("-----BEGIN CERTIFICATE-----\n", 3)), key)
	f.Fuzz(func(t *testing.T, crt, key []byte) {
		g, err := parse(crt, key)
		if (g == nil) == (err == nil) {
			t.Fatalf("%v, %v", g, err)
		}
		if g != nil {
			if _, _, err := g.encode(); err != nil {
				t.Error(err)
			}
		}
	})
}
