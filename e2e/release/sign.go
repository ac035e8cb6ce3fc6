// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
)

// keyVariable has the private key that signs a release: ECDSA on P-256 in PKCS #8 or SEC 1, in PEM.
//
//	openssl ecparam -name prime256v1 -genkey -noout
const keyVariable = "SNUG_SIGN_KEY"

// key signs as `cosign sign-blob` does: base64 of an ASN.1 signature of a SHA-256. The signatures
// are deterministic (RFC 6979), so that two releases are equal. openssl and cosign verify them:
//
//	base64 -d SHA256SUMS.sig >sig && openssl dgst -sha256 -verify snug.pub -signature sig SHA256SUMS
//	cosign verify-blob --key snug.pub --signature SHA256SUMS.sig --insecure-ignore-tlog SHA256SUMS
type key struct{ *ecdsa.PrivateKey }

// signingKey returns the key of the environment, nil if there is none.
func signingKey() (*key, error) {
	text := os.Getenv(keyVariable)
	if text == "" {
		return nil, nil
	}
	k, err := parseKey([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; hint: openssl ecparam -name prime256v1 -genkey -noout makes one", keyVariable, err)
	}
	return k, nil
}

func parseKey(text []byte) (*key, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("not in PEM form")
	}
	var private any
	var err error
	switch block.Type {
	case "PRIVATE KEY":
		private, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case "EC PRIVATE KEY":
		private, err = x509.ParseECPrivateKey(block.Bytes)
	default:
		err = fmt.Errorf("a block %q", block.Type)
	}
	if err != nil {
		return nil, err
	}
	ec, ok := private.(*ecdsa.PrivateKey)
	if !ok || ec.Curve != elliptic.P256() {
		return nil, errors.New("not an ECDSA key on P-256")
	}
	return &key{ec}, nil
}

// sign returns the signature in base64.
func (k *key) sign(text []byte) (string, error) {
	sum := sha256.Sum256(text)
	// Without a source of randomness the signature is deterministic.
	s, err := k.PrivateKey.Sign(nil, sum[:], crypto.SHA256)
	return base64.StdEncoding.EncodeToString(s), err
}

// files returns the signature of the checksums, and the public key.
func (k *key) files(sums []byte) ([]content, error) {
	s, err := k.sign(sums)
	if err != nil {
		return nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(k.Public())
	return []content{
		{sumsFile + ".sig", 0o644, []byte(s + "\n")},
		{"snug.pub", 0o644, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})},
	}, err
}

// envelope returns a payload in the form of https://github.com/secure-systems-lab/dsse, with the
// signature of the key, which may be nil.
func envelope(payloadType string, payload []byte, k *key) ([]byte, error) {
	type signature struct {
		Sig string `json:"sig"`
	}
	e := struct {
		PayloadType string      `json:"payloadType"`
		Payload     []byte      `json:"payload"`
		Signatures  []signature `json:"signatures"`
	}{payloadType, payload, []signature{}}
	if k != nil {
		s, err := k.sign(fmt.Appendf(nil, "DSSEv1 %d %s %d %s", len(payloadType), payloadType, len(payload), payload))
		if err != nil {
			return nil, err
		}
		e.Signatures = append(e.Signatures, signature{s})
	}
	text, err := json.Marshal(e)
	return append(text, '\n'), err
}
