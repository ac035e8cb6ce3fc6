// SPDX-License-Identifier: Apache-2.0

// Package kube runs a real Kubernetes API server for tests. It is built from Kubernetes' published
// Go module, uses the etcd of Debian, and runs on loopback in a directory that the test removes.
// There is no kubelet, and without Options.Controllers no scheduler and no controller: objects are
// admitted, defaulted, validated and stored, and nothing else happens to them.
package kube

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/kubebuild"
)

// deadline bounds the wait for what a server does by itself, such as getting ready or putting a
// policy in force. It is many times the duration on a busy machine.
const deadline = 3 * time.Minute

// Lab is an API server and its etcd, which run until the test ends.
type Lab struct {
	server  *daemon.Process
	etcd    *daemon.Process
	beside  []*daemon.Process // further processes
	address string            // host and port
	token   string
	ca      []byte // CA of the server's certificate, PEM
	client  *http.Client
	store   store
}

// Options selects additions to an API server and its etcd.
type Options struct {
	// Controllers runs the controllers and the scheduler of Kubernetes too, so that workloads get
	// pods, namespaces their service accounts and root CA, and pods nodes. There are no nodes yet.
	Controllers bool
	// Address is the server's host and port; "" = a free port on loopback.
	Address string
	// Flags of the API server override the defaults.
	Flags []string
}

// Start returns a server in its initial state. It is the shared one, if set, after waiting for it,
// or else a server of this test's own. The latter listens only on loopback, has its own certificate
// and token, keeps all files in the test's directory, and ends with the test or this process.
func Start(t testing.TB) *Lab {
	t.Helper()
	if file := os.Getenv(Shared); file != "" {
		return share(t, file)
	}
	return StartWith(t, Options{})
}

// StartWith starts a server of the test's own with options.
func StartWith(t testing.TB, o Options) *Lab {
	t.Helper()
	dir := t.TempDir()
	l, err := run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.stop()
		l.checkNoPanic(t, 0)
	})
	if o.Controllers {
		l.control(t, dir)
	}
	return l
}

// run starts a server with all its files in a directory.
func run(ctx context.Context, dir string, o Options) (*Lab, error) {
	server, err := kubebuild.Find(ctx, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("%w: install the packages of e2e/packages.txt", err)
	}
	// Another process may take a free port before the server listens: then retry.
	for attempt := 1; ; attempt++ {
		l, err := start(ctx, dir, server, etcd, o)
		if err == nil || attempt == 10 || !strings.Contains(err.Error(), "address already in use") {
			return l, err
		}
		if err := os.RemoveAll(filepath.Join(dir, "etcd")); err != nil {
			return nil, err
		}
	}
}

func start(ctx context.Context, dir, server, etcd string, o Options) (l *Lab, err error) {
	ports, err := daemon.FreeAddresses(3)
	if err != nil {
		return nil, err
	}
	peer := "http://" + ports[1]
	l = &Lab{address: cmp.Or(o.Address, ports[2]), token: rand.Text(), store: store("http://" + ports[0])}
	key, tokens, certs := accountsKey(dir), filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "certs")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	if err := os.WriteFile(tokens, []byte(l.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.stop()
		}
	}()
	// No fsync: the data is not needed after a crash.
	client := string(l.store)
	if l.etcd, err = daemon.Run(dir, etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(l.address)
	flags := []string{"--etcd-servers", client,
		// No compaction, because a shared server is restored to its first revision.
		"--etcd-compaction-interval", "0",
		"--bind-address", host, "--secure-port", port, "--cert-dir", certs,
		// The address of the service "kubernetes" must not be loopback. This one is reserved for
		// documentation (RFC 5737), and nothing connects to it.
		"--advertise-address", "192.0.2.1", "--endpoint-reconciler-type", "none",
		"--service-cluster-ip-range", "10.96.0.0/24",
		"--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://" + l.address,
		"--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--allow-privileged"}
	if !o.Controllers {
		// The controller that creates service accounts does not run.
		flags = append(flags, "--disable-admission-plugins", "ServiceAccount")
	}
	if l.server, err = daemon.Run(dir, server, append(flags, o.Flags...)...); err != nil {
		return nil, err
	}
	return l, l.ready(ctx, filepath.Join(certs, "apiserver.crt"))
}

// stop ends the processes.
func (l *Lab) stop() {
	if l.client != nil {
		l.client.CloseIdleConnections()
	}
	for _, p := range []*daemon.Process{l.server, l.etcd} {
		if p != nil {
			p.Kill()
		}
	}
}

// checkNoPanic fails the test if the server has logged a panic since an offset in its log.
func (l *Lab) checkNoPanic(t testing.TB, since int64) {
	t.Helper()
	text, err := os.ReadFile(l.server.File)
	if err != nil {
		t.Error(err)
	} else if strings.Contains(string(text[since:]), "Observed a panic") {
		t.Errorf("the server panicked:\n%s", l.server.Log())
	}
}

// ready waits until /readyz returns 200.
func (l *Lab) ready(ctx context.Context, certificate string) error {
	said := ""
	for end := time.Now().Add(deadline); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		for _, p := range []*daemon.Process{l.etcd, l.server} {
			if err := p.Ended(); err != nil {
				return fmt.Errorf("%s ended: %v\nlast of its log:\n%s", p.Name, err, p.Log())
			}
		}
		if l.client == nil {
			// The server writes its self-signed certificate atomically.
			text, err := os.ReadFile(certificate)
			if err != nil || !l.trust(text) {
				continue
			}
		}
		a, err := l.ask(ctx, http.MethodGet, "/readyz", "", nil)
		if err == nil && a.Code == http.StatusOK {
			return nil
		}
		if said = string(a.Text); err != nil {
			said = err.Error()
		}
	}
	return fmt.Errorf("not ready after %v: %s\nlast log of the server:\n%s", deadline, said, l.server.Log())
}

// trust creates a client that trusts a CA. It returns false if ca holds no certificate.
func (l *Lab) trust(ca []byte) bool {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return false
	}
	l.ca = ca
	l.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: deadline}
	return true
}

// writeKey writes the key that signs the tokens of service accounts. The server does not start
// without one.
func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
