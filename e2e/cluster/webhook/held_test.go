// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/hook"
)

// TestHeldBodies: 60 clients that hold 7 MB of a review each, 60 that do not finish their handshake and 60 that are
// silent cost no probe and no review of another client, and less than 70 % of the memory limit of the chart.
func TestHeldBodies(t *testing.T) {
	gate.Root(t, "kube")
	exe, dir := hook.Tool(t), t.TempDir()
	certificate(t, dir)
	const limit = 256 // MiB, as in the chart
	p := daemon.Start(t, dir, exe, "run", "--memory", strconv.Itoa(limit)+"MiB", "--", exe, "webhook", "--namespace", "snug",
		"--cert-file", filepath.Join(dir, "tls.crt"), "--key-file", filepath.Join(dir, "tls.key"), "--listen", "127.0.0.1:0", "--health", "127.0.0.1:0")
	said := func() string { text, _ := os.ReadFile(p.File); return string(text) }
	var listen, health string
	hook.Until(t, "the webhook listens", said, func() bool {
		_, text, ok := strings.Cut(said(), "listening on ")
		listen, text, _ = strings.Cut(text, ", and for kubelets and Prometheus on ")
		health, _, _ = strings.Cut(text, "\n")
		return ok && health != ""
	})
	trusting := &tls.Config{InsecureSkipVerify: true}
	dial := func() (net.Conn, error) {
		return (&net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}).Dial("tcp", listen)
	}
	attacks := []func(net.Conn){
		func(c net.Conn) {
			secret := tls.Client(c, trusting)
			fmt.Fprintf(secret, "POST /fit/pod HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", 8<<20)
			secret.Write(make([]byte, 7<<20))
			io.Copy(io.Discard, secret) // until the server closes it
		},
		func(c net.Conn) {
			c.Write([]byte{22, 3, 1, 1, 0, 1}) // the beginning of a ClientHello
			io.Copy(io.Discard, c)
		},
		func(c net.Conn) { io.Copy(io.Discard, c) },
	}
	var over atomic.Bool
	var held, all atomic.Int64
	var group sync.WaitGroup
	for i := range 180 {
		group.Go(func() {
			for !over.Load() {
				c, err := dial()
				if err != nil {
					continue
				}
				held.Add(1)
				c.SetDeadline(time.Now().Add(10 * time.Second))
				attacks[i%len(attacks)](c)
				c.Close()
			}
		})
	}
	defer group.Wait()
	defer over.Store(true)
	hook.Until(t, "the attack has begun", said, func() bool { return held.Load() > 180 })
	client := http.Client{Timeout: time.Minute, Transport: &http.Transport{TLSClientConfig: trusting, ForceAttemptHTTP2: true}}
	answered := func(url, body string) error {
		method := http.MethodGet
		if body != "" {
			method = http.MethodPost
		}
		q, err := http.NewRequest(method, url, strings.NewReader(body))
		if err != nil {
			return err
		}
		r, err := client.Do(q)
		if err != nil {
			return err
		}
		defer r.Body.Close()
		text, err := io.ReadAll(r.Body)
		if err == nil && r.StatusCode != http.StatusOK {
			err = errors.New(r.Status + " " + string(text))
		}
		return err
	}
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","operation":"CREATE","object":{"metadata":{"name":"a"},"spec":{"containers":[{"name":"a"}]}}}}`
	for range 100 {
		for _, ask := range [][2]string{{"http://" + health + "/healthz", ""}, {"http://" + health + "/metrics", ""}, {"https://" + listen + "/fit/pod", review}} {
			all.Add(1)
			if err := answered(ask[0], ask[1]); err != nil {
				t.Errorf("%d: %s: %v", all.Load(), ask[0], err)
			}
		}
	}
	peak := peak(t, filepath.Join(dir, "tls.key"))
	t.Logf("%d connections of attackers, peak %d MiB of %d", held.Load(), peak>>20, limit)
	if peak < 16<<20 || peak*10 > limit<<20*7 {
		t.Errorf("peak %d MiB of %d", peak>>20, limit)
	}
}

// peak returns the largest resident set of the processes whose command line has this word, in bytes
// (proc_pid_status(5), VmHWM): the webhook's, and that of what runs it.
func peak(t *testing.T, word string) (most int64) {
	t.Helper()
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		words, _ := os.ReadFile(file)
		text, err := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		_, value, ok := strings.Cut(string(text), "VmHWM:")
		if err != nil || !ok || !strings.Contains(string(words), word) {
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		most = max(most, kib<<10)
	}
	return most
}

// certificate writes a certificate for 127.0.0.1, its own CA, and its key into tls.crt and tls.key. It
// returns the first and its end.
func certificate(t *testing.T, dir string) (crt []byte, end time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	crt = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, text := range map[string][]byte{"tls.crt": crt, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return crt, template.NotAfter
}
