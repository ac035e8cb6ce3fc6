// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"os"
	"path/filepath"
	"testing"
)

// Access is what a program needs to connect to a server as its administrator.
type Access struct{ URL, TokenFile, CAFile string }

// Access writes the token and the CA to the test's directory.
func (l *Lab) Access(t testing.TB) Access {
	t.Helper()
	dir := t.TempDir()
	a := Access{"https://" + l.address, filepath.Join(dir, "token"), filepath.Join(dir, "ca.crt")}
	for name, text := range map[string][]byte{a.TokenFile: []byte(l.token), a.CAFile: l.ca} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return a
}
