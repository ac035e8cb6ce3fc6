// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// accountsKey is the file in a laboratory's directory by which tokens of accounts are
// signed.
func accountsKey(dir string) string { return filepath.Join(dir, "accounts.key") }

// control starts the controllers and the scheduler, and waits until they work: a
// namespace has its account, its root CA is told, and nothing else comes on its own.
func (l *Lab) control(t testing.TB, dir string) {
	t.Helper()
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, l.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	// They serve nothing: nobody asks them, and ports can be taken. They ask as often as the
	// server answers: by default they wait for their turn longer than they work.
	flags := []string{"--kubeconfig", l.Kubeconfig(t), "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=200"}
	l.beside = append(l.beside,
		daemon.Start(t, dir, kubebuild.Command(t, "kube-controller-manager"), append(flags, "--service-account-private-key-file", accountsKey(dir), "--root-ca-file", ca,
			// It makes the directory, which is by default one of the machine's.
			"--flex-volume-plugin-dir", filepath.Join(dir, "volumeplugins"))...),
		daemon.Start(t, dir, kubebuild.Command(t, "kube-scheduler"), flags...))
	l.Until(t, "the default namespace has its account and root CA", func() bool {
		for _, p := range l.beside {
			if err := p.Ended(); err != nil {
				t.Fatalf("%s ended: %v\nlast of its log:\n%s", p.Name, err, p.Log())
			}
		}
		const namespace = "/api/v1/namespaces/default/"
		return l.Get(t, namespace+"serviceaccounts/default").OK() && l.Get(t, namespace+"configmaps/kube-root-ca.crt").OK()
	})
}

// Kubeconfig writes a kubeconfig of the server's administrator, which needs no other
// file, and returns its path. It goes with the test.
func (l *Lab) Kubeconfig(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: lab, cluster: {server: "https://%s", certificate-authority-data: %s}}]
users: [{name: admin, user: {token: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: admin}}]
current-context: lab
`, l.address, base64.StdEncoding.EncodeToString(l.ca), l.token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// log is the last of the server's log, and of those beside it.
func (l *Lab) log() string {
	text := l.server.Log()
	for _, p := range l.beside {
		text += "\n" + p.Name + ":\n" + p.Log()
	}
	return text
}
