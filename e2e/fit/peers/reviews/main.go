// SPDX-License-Identifier: Apache-2.0

// Reviews sends webhooks the requests of an API server, in turns, and measures each response: CPU
// time of the webhook's process, and latency.
//
//	reviews -rounds 10 -out data.tsv QUESTION.json... -- NAME COMMAND... -- NAME COMMAND...
//
// It replaces {listen}, {health}, {cert} and {key} in a command. It posts each question to /fit/pod
// over kept connections: as fast as responses come (saturated), and at a fixed rate regardless of
// the responses (paced).
package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math/big"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/snug-go/snug/e2e/internal/daemon"
)

type options struct {
	rounds, clients, rate int
	window                time.Duration
	http1                 bool
	out                   string
}

func main() {
	var o options
	flag.IntVar(&o.rounds, "rounds", 10, "number of rounds")
	flag.IntVar(&o.clients, "clients", 4, "concurrent requests, saturated")
	flag.IntVar(&o.rate, "rate", 50, "requests per second, paced")
	flag.DurationVar(&o.window, "window", 2*time.Second, "duration of each measurement")
	flag.BoolVar(&o.http1, "http1", false, "HTTP/1.1 instead of HTTP/2")
	flag.StringVar(&o.out, "out", "data.tsv", "write to `FILE`")
	flag.Parse()
	if err := o.run(flag.Args()); err != nil {
		log.Fatal(err)
	}
}

// server is a running webhook.
type server struct {
	name, url string
	cmd       *exec.Cmd
	client    *http.Client
}

func (o *options) run(args []string) (err error) {
	var questions []string
	var commands [][]string
	for _, a := range args {
		switch {
		case a == "--":
			commands = append(commands, nil)
		case commands == nil:
			questions = append(questions, a)
		default:
			commands[len(commands)-1] = append(commands[len(commands)-1], a)
		}
	}
	if len(questions) == 0 || len(commands) == 0 {
		return errors.New("questions or commands are missing")
	}
	dir, err := os.MkdirTemp("", "reviews-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	pool, err := certificate(dir)
	if err != nil {
		return err
	}
	var servers []*server
	for _, c := range commands {
		if len(c) < 2 {
			return errors.New("a server without a command")
		}
		s, err := o.start(dir, pool, c)
		if err != nil {
			return fmt.Errorf("%s: %w", c[0], err)
		}
		defer func() {
			_ = s.cmd.Process.Signal(syscall.SIGTERM)
			_ = s.cmd.Wait()
		}()
		servers = append(servers, s)
	}
	texts := map[string][]byte{}
	for _, q := range questions {
		text, err := os.ReadFile(q)
		if err != nil {
			return err
		}
		texts[q] = text
		if err := same(servers, text); err != nil {
			return fmt.Errorf("%s: %w", q, err)
		}
	}
	out, err := os.Create(o.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	fmt.Fprintln(out, "round\tquestion\tserver\tload\tanswers\tcpu_seconds\tseconds\tfailed\tp50_micros\tp99_micros\trss_bytes")
	for round := range o.rounds {
		for _, q := range questions {
			mathrand.Shuffle(len(servers), func(i, j int) { servers[i], servers[j] = servers[j], servers[i] })
			for _, paced := range []bool{false, true} {
				for _, s := range servers {
					r, err := o.measure(s, texts[q], paced)
					if err != nil {
						return fmt.Errorf("%s: %w", s.name, err)
					}
					fmt.Fprintf(out, "%d\t%s\t%s\t%s\n", round+1, strings.TrimSuffix(filepath.Base(q), ".json"), s.name, r)
				}
			}
		}
	}
	return nil
}

// certificate writes a certificate for loopback.
func certificate(dir string) (*x509.CertPool, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(crt)
	return pool, errors.Join(os.WriteFile(filepath.Join(dir, "tls.crt"), crt, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), 0o600))
}

func (o *options) start(dir string, pool *x509.CertPool, c []string) (*server, error) {
	ports, err := daemon.FreeAddresses(2)
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("{listen}", ports[0], "{health}", ports[1], "{cert}", filepath.Join(dir, "tls.crt"), "{key}", filepath.Join(dir, "tls.key"))
	var args []string
	for _, a := range c[1:] {
		args = append(args, fill.Replace(a))
	}
	s := &server{name: c[0], url: "https://" + ports[0] + "/fit/pod", cmd: exec.Command(args[0], args[1:]...)}
	s.cmd.Stderr = os.Stderr
	s.cmd.Env = append(os.Environ(), "GOMAXPROCS=1") // one core each
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: !o.http1, MaxIdleConnsPerHost: 64}
	if o.http1 {
		transport.TLSClientConfig.NextProtos = []string{"http/1.1"}
	}
	s.client = &http.Client{Transport: transport, Timeout: 30 * time.Second}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for range 600 {
		if conn, err := net.Dial("tcp", ports[0]); err == nil {
			return s, conn.Close()
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, errors.New("does not listen")
}

func (s *server) ask(question []byte) ([]byte, error) {
	response, err := s.client.Post(s.url+"?timeout=2s", "application/json", bytes.NewReader(question))
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, text)
	}
	return text, err
}

// measure sends requests for one window and returns the figures.
func (o *options) measure(s *server, question []byte, paced bool) (string, error) {
	var mu sync.Mutex
	var took []time.Duration
	failed := 0
	once := func(begin time.Time) {
		_, err := s.ask(question)
		d := time.Since(begin)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed++
			return
		}
		took = append(took, d)
	}
	during := func(window time.Duration) {
		end := time.Now().Add(window)
		var group sync.WaitGroup
		if paced {
			every := time.Second / time.Duration(o.rate)
			for next := time.Now(); next.Before(end); next = next.Add(every) {
				time.Sleep(time.Until(next))
				group.Go(func() { once(next) })
			}
		} else {
			for range o.clients {
				group.Go(func() {
					for time.Now().Before(end) {
						once(time.Now())
					}
				})
			}
		}
		group.Wait()
	}
	during(o.window / 5)
	took, failed = nil, 0
	cpu, err := s.cpu()
	if err != nil {
		return "", err
	}
	begin := time.Now()
	during(o.window)
	seconds := time.Since(begin).Seconds()
	after, err := s.cpu()
	if err == nil && len(took) == 0 {
		err = errors.New("no response")
	}
	if err != nil {
		return "", err
	}
	slices.Sort(took)
	quantile := func(q float64) int64 { return took[int(q*float64(len(took)-1))].Microseconds() }
	load := "saturated"
	if paced {
		load = "paced"
	}
	return fmt.Sprintf("%s\t%d\t%.6f\t%.3f\t%d\t%d\t%d\t%d", load, len(took), (after - cpu).Seconds(), seconds, failed, quantile(.5), quantile(.99), s.rss()), nil
}

// cpu returns the CPU time of all threads, from the first field of schedstat in nanoseconds
// (Documentation/scheduler/sched-stats.rst). Threads that have ended are missing, but Go ends
// hardly any.
func (s *server) cpu() (time.Duration, error) {
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		return 0, errors.New("the process has ended")
	}
	sum := time.Duration(0)
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

func (s *server) rss() int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
