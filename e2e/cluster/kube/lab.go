// SPDX-License-Identifier: Apache-2.0

// Package kube runs a real Kubernetes API server for tests: built from
// Kubernetes' published Go module, with the etcd of Debian, on loopback and in a
// directory that the test removes. There is no kubelet, and without
// Options.Controllers no scheduler and no controller: what is created is admitted,
// defaulted, validated and stored, and nothing else happens to it.
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

// deadline bounds the wait for what a server does on its own: to be ready, to put
// a policy in force. It is many times what a busy machine takes.
const deadline = 3 * time.Minute

// Lab is an API server and its etcd, until the test ends.
type Lab struct {
	server  *daemon.Process
	etcd    *daemon.Process
	beside  []*daemon.Process // what else runs
	address string            // host and port
	token   string
	ca      []byte // of the server's certificate, PEM
	client  *http.Client
	store   store
}

// Options say what a laboratory has beside an API server and its etcd.
type Options struct {
	// Controllers: the controllers and the scheduler of Kubernetes run too, so that
	// workloads get pods, namespaces their accounts and root CA, and pods nodes. There
	// are no nodes yet.
	Controllers bool
	// Address is where the server listens, host and port; "" = at a free port of
	// loopback.
	Address string
	// Flags of the API server come last, and win.
	Flags []string
}

// Start returns a server that is as it was made: the one that tests share, where there is
// one, and is waited for, or one of the test's own. That listens on loopback alone, with a
// certificate and a token of its own, keeps everything in the test's directory, and does
// not outlive the test, nor this process.
func Start(t testing.TB) *Lab {
	t.Helper()
	if file := os.Getenv(Shared); file != "" {
		return share(t, file)
	}
	return StartWith(t, Options{})
}

// StartWith starts a server as Start does, and what the options ask for.
func StartWith(t testing.TB, o Options) *Lab {
	t.Helper()
	dir := t.TempDir()
	l, err := run(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		l.stop()
		l.sound(t, 0)
	})
	if o.Controllers {
		l.control(t, dir)
	}
	return l
}

// run starts a server in a directory, with all its files.
func run(ctx context.Context, dir string, o Options) (*Lab, error) {
	server, err := kubebuild.Find(ctx, "kube-apiserver")
	if err != nil {
		return nil, err
	}
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("%w: install the packages of e2e/packages.txt", err)
	}
	// A port that is free now may be taken when it is to be listened on.
	for attempt := 1; ; attempt++ {
		l, err := start(ctx, dir, server, etcd, o)
		if err == nil || attempt == 3 || !strings.Contains(err.Error(), "address already in use") {
			return l, err
		}
		if err := os.RemoveAll(filepath.Join(dir, "etcd")); err != nil {
			return nil, err
		}
	}
}

func start(ctx context.Context, dir, server, etcd string, o Options) (l *Lab, err error) {
	ports, err := freePorts(3)
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
	// Nobody needs the data after a crash.
	client := string(l.store)
	if l.etcd, err = daemon.Run(dir, etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(l.address)
	flags := []string{"--etcd-servers", client,
		// What it was at first is asked for when a shared server is to be that again.
		"--etcd-compaction-interval", "0",
		"--bind-address", host, "--secure-port", port, "--cert-dir", certs,
		// The address of the service "kubernetes" may not be loopback. It is
		// nobody's (RFC 5737), and nothing is told it.
		"--advertise-address", "192.0.2.1", "--endpoint-reconciler-type", "none",
		"--service-cluster-ip-range", "10.96.0.0/24",
		"--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://" + l.address,
		"--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--allow-privileged"}
	if !o.Controllers {
		// Accounts are made by a controller that does not run.
		flags = append(flags, "--disable-admission-plugins", "ServiceAccount")
	}
	if l.server, err = daemon.Run(dir, server, append(flags, o.Flags...)...); err != nil {
		return nil, err
	}
	return l, l.ready(ctx, filepath.Join(certs, "apiserver.crt"))
}

// stop ends what runs.
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

// sound fails the test when the server panicked, as what it has logged since then tells.
func (l *Lab) sound(t testing.TB, since int64) {
	t.Helper()
	text, err := os.ReadFile(l.server.File)
	if err != nil {
		t.Error(err)
	} else if strings.Contains(string(text[since:]), "Observed a panic") {
		t.Errorf("the server panicked:\n%s", l.server.Log())
	}
}

// ready waits until the server answers for all of itself.
func (l *Lab) ready(ctx context.Context, certificate string) error {
	said := ""
	for end := time.Now().Add(deadline); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(100 * time.Millisecond) {
		for _, p := range []*daemon.Process{l.etcd, l.server} {
			if err := p.Ended(); err != nil {
				return fmt.Errorf("%s ended: %v\nlast of its log:\n%s", p.Name, err, p.Log())
			}
		}
		if l.client == nil {
			// The server signs its own certificate, and writes it whole or not.
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

// trust makes a client that knows the server by its CA; false = that is none.
func (l *Lab) trust(ca []byte) bool {
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return false
	}
	l.ca = ca
	l.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}, Timeout: deadline}
	return true
}

// freePorts finds ports of loopback on which nobody listens.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// All are held until all are found, so that they differ.
		defer l.Close()
		ports = append(ports, l.Addr().String())
	}
	return ports, nil
}

// writeKey makes the key by which the server signs tokens of accounts; it does
// not start without one.
func writeKey(path string) error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	block := &pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}
	return os.WriteFile(path, pem.EncodeToMemory(block), 0o600)
}
