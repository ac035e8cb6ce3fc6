// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"crypto/tls"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"
)

// Access is what another program needs to speak to a server as its administrator.
type Access struct{ URL, TokenFile, CAFile string }

// Access writes it into the test's directory.
func (l *Lab) Access(t testing.TB) Access {
	t.Helper()
	dir := t.TempDir()
	a := Access{"https://" + l.address, filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")}
	conn, err := tls.Dial("tcp", l.address, &tls.Config{InsecureSkipVerify: true}) // it signs its own certificate
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: conn.ConnectionState().PeerCertificates[0].Raw})
	for _, c := range conn.ConnectionState().PeerCertificates[1:] {
		ca = append(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	for name, text := range map[string][]byte{a.TokenFile: []byte(l.token), a.CAFile: ca} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}
