// SPDX-License-Identifier: Apache-2.0

// Package cert makes the certificates of a webhook, shares them among its replicas through a
// Store, and renews them. It does not depend on Kubernetes.
//
// Each certificate has its own CA, whose key is discarded at once, so it can sign nothing
// else. Every renewal therefore replaces the CA too, and clients must trust the new CA before
// the certificate is used. Two generations are kept, and clients trust both CAs. NotBefore of
// a certificate says when its use begins, so all replicas switch at the same time without
// talking to each other.
package cert

import (
	"bytes"
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
	"time"
)

// skew is the allowed difference between clocks: a certificate is valid that long before it is
// used, because package x509 and all clients compare with their own clock.
const skew = time.Hour

// generation is a certificate and its CA.
type generation struct {
	ca   *x509.Certificate
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
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	begin, end := from.Add(-skew), from.Add(life)
	ca := &x509.Certificate{
		SerialNumber: serial, NotBefore: begin, NotAfter: end,
		// Clients find a certificate's CA by its name, so each generation has another.
		Subject:  pkix.Name{CommonName: "snug webhook CA " + serial.Text(36)},
		KeyUsage: x509.KeyUsageCertSign, BasicConstraintsValid: true, IsCA: true, MaxPathLenZero: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, ca, ca, signer.Public(), signer)
	if err != nil {
		return nil, err
	}
	if ca, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	leaf := &x509.Certificate{
		SerialNumber: new(big.Int).Add(serial, big.NewInt(1)), NotBefore: begin, NotAfter: end,
		Subject:  pkix.Name{CommonName: "snug webhook"},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			leaf.IPAddresses = append(leaf.IPAddresses, ip)
		} else {
			leaf.DNSNames = append(leaf.DNSNames, name)
		}
	}
	if der, err = x509.CreateCertificate(rand.Reader, leaf, ca, key.Public(), signer); err != nil {
		return nil, err
	}
	if leaf, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return &generation{ca, tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}}, nil
}

// Keys of the stored data. The first two are those of a Secret of the type kubernetes.io/tls.
// A .crt has a certificate followed by its CA.
const (
	keyCert    = "tls.crt"
	keyKey     = "tls.key"
	keyOldCert = "old.crt"
	keyOldKey  = "old.key"
	keyBundle  = "ca.crt" // both CAs, for information
)

var errNoCertificate = errors.New("no certificate with its CA and its key")

// Keys lists all keys.
var Keys = []string{keyCert, keyKey, keyOldCert, keyOldKey, keyBundle}

// parse parses a generation, and checks that certificate, key and CA match.
func parse(crt, key []byte) (*generation, error) {
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil || len(pair.Certificate) != 2 {
		return nil, errNoCertificate
	}
	ca, err := x509.ParseCertificate(pair.Certificate[1])
	if err != nil || pair.Leaf.CheckSignatureFrom(ca) != nil {
		return nil, errNoCertificate
	}
	pair.Certificate = pair.Certificate[:1] // clients have the CA
	return &generation{ca, pair}, nil
}

func (g *generation) encode() (crt, key []byte, err error) {
	text, err := x509.MarshalPKCS8PrivateKey(g.leaf.PrivateKey)
	if err != nil {
		return nil, nil, err
	}
	crt = append(block("CERTIFICATE", g.leaf.Certificate[0]), block("CERTIFICATE", g.ca.Raw)...)
	return crt, block("PRIVATE KEY", text), nil
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

// bundle returns the CAs in PEM, for clients. The same generations give the same bytes.
func (all generations) bundle() []byte {
	var b bytes.Buffer
	for _, g := range all {
		b.Write(block("CERTIFICATE", g.ca.Raw))
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
func (all generations) renewed(names []string, now time.Time, life time.Duration) (more generations, ok bool, err error) {
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

// Notice returns how long before the use of a certificate clients get its CA: a tenth of its
// life, at most 10 minutes.
func Notice(life time.Duration) time.Duration { return min(life/10, 10*time.Minute) }
