// SPDX-License-Identifier: Apache-2.0

// Package kube runs a real Kubernetes API server for tests: built from
// Kubernetes' published Go module, with the etcd of Debian, on loopback and in a
// directory that the test removes. There is no kubelet, and without
// Options.Controllers no scheduler and no controller: what is created is admitted,
// defaulted, validated and stored, and nothing else happens to it.
package kube

import (
	"cmp"
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

// Start starts a server and waits until it is ready. It listens on loopback
// alone, with a certificate and a token of its own, keeps everything in the
// test's directory, and does not outlive the test, nor this process.
func Start(t testing.TB) *Lab {
	t.Helper()
	return StartWith(t, Options{})
}

// StartWith starts a server as Start does, and what the options ask for.
func StartWith(t testing.TB, o Options) *Lab {
	t.Helper()
	server := kubebuild.Commands(t, "kube-apiserver")[0]
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatalf("%v: install the packages of e2e/packages.txt", err)
	}
	var controllers []string
	if o.Controllers {
		controllers = kubebuild.Commands(t, "kube-controller-manager", "kube-scheduler")
	}
	// A port that is free now may be taken when it is to be listened on.
	for attempt := 1; ; attempt++ {
		dir := t.TempDir()
		l, err := start(t, dir, server, etcd, o)
		if err == nil {
			if o.Controllers {
				l.control(t, dir, controllers[0], controllers[1])
			}
			return l
		}
		if attempt == 3 || !strings.Contains(err.Error(), "address already in use") {
			t.Fatal(err)
		}
	}
}

func start(t testing.TB, dir, server, etcd string, o Options) (*Lab, error) {
	t.Helper()
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	client, peer := "http://"+ports[0], "http://"+ports[1]
	l := &Lab{address: cmp.Or(o.Address, ports[2]), token: rand.Text()}
	key, tokens, certs := accountsKey(dir), filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "certs")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	if err := os.WriteFile(tokens, []byte(l.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}

	// Nobody needs the data after a crash.
	l.etcd = daemon.Start(t, dir, etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	host, port, _ := net.SplitHostPort(l.address)
	flags := []string{"--etcd-servers", client,
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
	l.server = daemon.Start(t, dir, server, append(flags, o.Flags...)...)
	if err := l.ready(t, filepath.Join(certs, "apiserver.crt")); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if log := l.server.Log(); strings.Contains(log, "Observed a panic") {
			t.Errorf("the server panicked:\n%s", log)
		}
	})
	return l, nil
}

// ready waits until the server answers for all of itself.
func (l *Lab) ready(t testing.TB, certificate string) error {
	t.Helper()
	said := ""
	for end := time.Now().Add(deadline); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		for _, p := range []*daemon.Process{l.etcd, l.server} {
			if err := p.Ended(); err != nil {
				return fmt.Errorf("%s ended: %v\nlast of its log:\n%s", p.Name, err, p.Log())
			}
		}
		if l.client == nil {
			pool := x509.NewCertPool()
			// The server signs its own certificate, and writes it whole or not.
			text, err := os.ReadFile(certificate)
			if err != nil || !pool.AppendCertsFromPEM(text) {
				continue
			}
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
			t.Cleanup(transport.CloseIdleConnections)
			l.client = &http.Client{Transport: transport, Timeout: deadline}
			l.ca = text
		}
		a, err := l.ask(t.Context(), http.MethodGet, "/readyz", "", nil)
		if err == nil && a.Code == http.StatusOK {
			return nil
		}
		if said = string(a.Text); err != nil {
			said = err.Error()
		}
	}
	return fmt.Errorf("not ready after %v: %s\nlast log of the server:\n%s", deadline, said, l.server.Log())
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
