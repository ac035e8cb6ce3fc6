// SPDX-License-Identifier: Apache-2.0

package kube

import (
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
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// deadline bounds the wait for what a server does on its own: to be ready, to put
// a policy in force. It is many times what a busy machine takes.
const deadline = 3 * time.Minute

// Lab is an API server and its etcd, until the test ends.
type Lab struct {
	server  *process
	etcd    *process
	address string // host and port
	token   string
	ca      []byte // of the server's certificate, PEM
	client  *http.Client
}

// Start starts a server and waits until it is ready. It listens on loopback
// alone, with a certificate and a token of its own, keeps everything in the
// test's directory, and does not outlive the test, nor this process.
func Start(t testing.TB) *Lab {
	t.Helper()
	server := Commands(t, "kube-apiserver")[0]
	etcd, err := exec.LookPath("etcd")
	if err != nil {
		t.Fatalf("%v: install the packages of e2e/packages.txt", err)
	}
	// A port that is free now may be taken when it is to be listened on.
	for attempt := 1; ; attempt++ {
		l, err := start(t, t.TempDir(), server, etcd)
		if err == nil {
			return l
		}
		if attempt == 3 || !strings.Contains(err.Error(), "address already in use") {
			t.Fatal(err)
		}
	}
}

func start(t testing.TB, dir, server, etcd string) (*Lab, error) {
	t.Helper()
	ports, err := freePorts(3)
	if err != nil {
		return nil, err
	}
	client, peer := "http://"+ports[0], "http://"+ports[1]
	l := &Lab{address: ports[2], token: rand.Text()}
	key, tokens, certs := filepath.Join(dir, "accounts.key"), filepath.Join(dir, "tokens.csv"), filepath.Join(dir, "certs")
	if err := writeKey(key); err != nil {
		return nil, err
	}
	if err := os.WriteFile(tokens, []byte(l.token+",admin,admin,system:masters\n"), 0o600); err != nil {
		return nil, err
	}

	// Nobody needs the data after a crash.
	l.etcd = run(t, dir, etcd, "--data-dir", filepath.Join(dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer)
	host, port, _ := net.SplitHostPort(l.address)
	l.server = run(t, dir, server, "--etcd-servers", client,
		"--bind-address", host, "--secure-port", port, "--cert-dir", certs,
		// The address of the service "kubernetes" may not be loopback. It is
		// nobody's (RFC 5737), and nothing is told it.
		"--advertise-address", "192.0.2.1", "--endpoint-reconciler-type", "none",
		"--service-cluster-ip-range", "10.96.0.0/24",
		"--token-auth-file", tokens, "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://"+l.address,
		"--service-account-key-file", key, "--service-account-signing-key-file", key,
		// Accounts are made by a controller that does not run.
		"--disable-admission-plugins", "ServiceAccount",
		"--allow-privileged")
	if err := l.ready(t, filepath.Join(certs, "apiserver.crt")); err != nil {
		return nil, err
	}
	t.Cleanup(func() {
		if log := l.server.log(); strings.Contains(log, "Observed a panic") {
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
		for _, p := range []*process{l.etcd, l.server} {
			if err := p.ended(); err != nil {
				return fmt.Errorf("%s ended: %v\nlast of its log:\n%s", p.name, err, p.log())
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
		if said = string(a.text); err != nil {
			said = err.Error()
		}
	}
	return fmt.Errorf("not ready after %v: %s\nlast log of the server:\n%s", deadline, said, l.server.log())
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

// process is a program that runs until the test ends.
type process struct {
	name, logFile string
	done          chan struct{} // closed when it was reaped
	err           error         // how it ended, after done
}

// run starts a program, with its output in a file of dir.
func run(t testing.TB, dir, path string, args ...string) *process {
	t.Helper()
	p := &process{name: filepath.Base(path), done: make(chan struct{})}
	p.logFile = filepath.Join(dir, p.name+".log")
	out, err := os.Create(p.logFile)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		defer close(p.done)
		// The signal comes at the death of the thread that started the process
		// (man 2 prctl, PR_SET_PDEATHSIG), so it has to live as long.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			p.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-p.done
	})
	return p
}

// ended is nil while the process runs.
func (p *process) ended() error {
	select {
	case <-p.done:
		if p.err == nil {
			return fmt.Errorf("exit status 0")
		}
		return p.err
	default:
		return nil
	}
}

// klogInfo begins a line of a Kubernetes command that nobody needs after a failure.
var klogInfo = regexp.MustCompile(`^I[0-9]{4} `)

// log is the last of what the process wrote, but for what it did as it should.
func (p *process) log() string {
	text, err := os.ReadFile(p.logFile)
	if err != nil {
		return err.Error()
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !klogInfo.MatchString(line) {
			b.WriteString(line)
		}
	}
	return tail(b.String(), 8000)
}

// tail is at most the last n bytes of text.
func tail(text string, n int) string {
	return text[max(0, len(text)-n):]
}
