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

// accountsKey returns the file in a lab's directory with the key that signs the tokens of service
// accounts.
func accountsKey(dir string) string { return filepath.Join(dir, "accounts.key") }

// control starts the controllers and the scheduler. It waits until the default namespace has its
// service account and root CA, which shows that the controllers work.
func (l *Lab) control(t testing.TB, dir string) {
	t.Helper()
	ca := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(ca, l.ca, 0o600); err != nil {
		t.Fatal(err)
	}
	// They listen on no port, because ports can be taken. Their rate limit
	// is high: with the default one they would mostly wait.
	flags := []string{"--kubeconfig", l.Kubeconfig(t), "--leader-elect=false", "--secure-port=0", "--kube-api-qps=200", "--kube-api-burst=200"}
	l.beside = append(l.beside,
		daemon.Start(t, dir, kubebuild.Command(t, "kube-controller-manager"), append(flags, "--service-account-private-key-file", accountsKey(dir), "--root-ca-file", ca,
			// They create this directory, which by default is a system directory.
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

// Kubeconfig writes a self-contained kubeconfig of the server's administrator to the test's
// directory and returns its path.
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

// log returns the end of the logs of the server and of the processes with it.
func (l *Lab) log() string {
	text := l.server.Log()
	for _, p := range l.beside {
		text += "\n" + p.Name + ":\n" + p.Log()
	}
	return text
}
