// SPDX-License-Identifier: Apache-2.0

// Package cert makes the certificates that a webhook shows, keeps them where all its
// replicas find them, and renews them while it runs. It is told where that is; it knows
// nothing of Kubernetes.
//
// A certificate comes with a CA of its own, whose key is thrown away at once: it can
// sign nothing else. So every renewal is one of the CA as well, and clients have to be
// told of it before the certificate is shown. Two generations are kept, and both CAs are
// what clients are told. When a certificate is to be shown first is in itself, so all
// replicas change over at the same time without talking to each other.
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

// skew is how far clocks may be apart: certificates are valid so long before they are
// shown. Source for the figure: package x509 and all clients compare with their own clock.
const skew = time.Hour

// generation is a certificate and its CA.
type generation struct {
	ca   *x509.Certificate
	leaf tls.Certificate // leaf.Leaf is set
}

// from is when it is shown first.
func (g *generation) from() time.Time { return g.leaf.Leaf.NotBefore.Add(skew) }

// ahead tells whether it is of a clock that was wrong: none is made so long before it is
// valid.
func (g *generation) ahead(now time.Time) bool { return now.Before(g.leaf.Leaf.NotBefore) }

// until is when it is valid no longer.
func (g *generation) until() time.Time { return g.leaf.Leaf.NotAfter }

// names tells whether it is valid for all names.
func (g *generation) names(all []string) bool {
	for _, name := range all {
		if g.leaf.Leaf.VerifyHostname(name) != nil {
			return false
		}
	}
	return true
}

// generate makes a certificate for names (of hosts, or IP addresses), shown from a time
// on for as long as life.
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
		// Clients find the CA of a certificate by its name; those of two generations differ.
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

// Keys of what is kept. The first two are those of a Secret of the type kubernetes.io/tls;
// a .crt holds a certificate and after it its CA.
const (
	keyCert    = "tls.crt"
	keyKey     = "tls.key"
	keyOldCert = "old.crt"
	keyOldKey  = "old.key"
	keyBundle  = "ca.crt" // both CAs, for people and other programs
)

var errNoCertificate = errors.New("no certificate with its CA and its key")

// Keys are all of them.
var Keys = []string{keyCert, keyKey, keyOldCert, keyOldKey, keyBundle}

// parse reads a generation; it is not taken on trust: what does not fit together is an
// error.
func parse(crt, key []byte) (*generation, error) {
	pair, err := tls.X509KeyPair(crt, key)
	if err != nil || len(pair.Certificate) != 2 {
		return nil, errNoCertificate
	}
	ca, err := x509.ParseCertificate(pair.Certificate[1])
	if err != nil || pair.Leaf.CheckSignatureFrom(ca) != nil {
		return nil, errNoCertificate
	}
	pair.Certificate = pair.Certificate[:1] // who checks it has the CA
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

// generations are those that are kept, the newest first; two at most.
type generations []*generation

// parseAll reads what was kept. What cannot be read is as if it were not there.
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

// bundle is the CAs as clients are told of them. The same generations give the same
// bytes.
func (all generations) bundle() []byte {
	var b bytes.Buffer
	for _, g := range all {
		b.Write(block("CERTIFICATE", g.ca.Raw))
	}
	return b.Bytes()
}

// shown is the one to show now: the newest whose time has come, or else the other.
func (all generations) shown(now time.Time) *generation {
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

// renewed are the generations with a new one, where it is time: two thirds of the life of
// the newest are over, or it is not for these names, or not valid yet. ok is false where
// it is not time.
func (all generations) renewed(names []string, now time.Time, life time.Duration) (more generations, ok bool, err error) {
	from := now
	if len(all) > 0 {
		g := all[0]
		if fits := g.names(names) && now.Before(g.until()) && !g.ahead(now); fits {
			if now.Before(g.until().Add(-g.until().Sub(g.from()) / 3)) {
				return nil, false, nil
			}
			from = now.Add(Notice(life))
			if end := g.until().Add(-Notice(life) / 2); from.After(end) {
				from = now // nobody may be left without
			}
		}
	}
	g, err := generate(names, from, life)
	if err != nil {
		return nil, false, err
	}
	more = generations{g}
	for _, g := range all {
		if now.Before(g.until()) && !g.ahead(now) {
			more = append(more, g)
			break
		}
	}
	return more, true, nil
}

// Notice is how long before a certificate is shown clients are told of its CA: a tenth of
// its life, at most 10 minutes.
func Notice(life time.Duration) time.Duration { return min(life/10, 10*time.Minute) }
