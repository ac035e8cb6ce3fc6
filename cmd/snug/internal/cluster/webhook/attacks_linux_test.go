// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/cert"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/review"
)

// The experiment client-budget asks more often, and another webhook.
var (
	probes  = flag.Int("probes", 40, "TestAttacks probes `N` times during each attack")
	rounds  = flag.Int("rounds", 1, "TestAttacks does so in `N` rounds, each after as many probes without an attack")
	webhook = flag.String("webhook", "", "TestAttacks attacks the webhook at `ADDRESS`")
	cpu     = flag.String("attackers", "", "attackers of -webhook are a process of their own on this `CPU`")
	only    = flag.String("attack", "", "TestAttackers makes this attack until its standard input ends")
)

var insecure = &tls.Config{InsecureSkipVerify: true}

// serve starts a webhook with room for so many connections, and returns its address.
func serve(t *testing.T, conns int64) (w *Webhook, at string) {
	t.Helper()
	w = New(Options{Reviewer: &review.Reviewer{Config: configured(t, "")}, Certificate: cert.Temporary("snug-webhook")})
	w.conns.Max = conns
	l := listening(t)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.Serve(ctx, l[0], l[1]) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return w, l[0].Addr().String()
}

// clients counts the clients of probes: each has another address.
var clients int

// probe asks for a review as a new client does, over a new connection.
func probe(at string) error {
	clients++
	tr := &http.Transport{
		DialContext:     (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 1, byte(clients/250), byte(1+clients%250))}}).DialContext,
		TLSClientConfig: insecure.Clone(), ForceAttemptHTTP2: true,
	}
	defer tr.CloseIdleConnections()
	wait := time.Minute
	if *webhook != "" {
		wait = 2 * time.Second // as an API server does
	}
	return ask(&http.Client{Transport: tr, Timeout: wait}, at)
}

func ask(c *http.Client, at string) error {
	r, err := c.Post("https://"+at+FitByPod, "application/json", strings.NewReader(question))
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err == nil && (r.StatusCode != 200 || !strings.Contains(string(text), "JSONPatch")) {
		err = errors.New(r.Status + " " + string(text))
	}
	return err
}

// attack is what each of many connections does, again and again.
type attack struct {
	name  string
	conns int
	from  func(i int) net.IP // of connection i
	h2    bool               // over TLS with HTTP/2, and its preface has been sent
	raw   bool               // without TLS
	most  int                // how many hold something at a time; 0 = what the budget of connections permits
	// do does its work, calls begun if it then holds what it may, and returns at an error.
	do func(c net.Conn, begun func())
}

// one, many and five are the addresses of attackers.
func one(int) net.IP    { return net.IPv4(127, 0, 0, 2) }
func many(i int) net.IP { return net.IPv4(127, 0, 1+byte(i/250), 1+byte(i%250)) }
func five(i int) net.IP { return net.IPv4(127, 0, 0, 10+byte(i%5)) }

// request is a request of HTTP/1.1 with a body of n bytes, of which it has text.
func request(n int, text string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", FitByPod, n, text)
}

// hold sends a text, and waits until the server closes the connection.
func hold(text string) func(net.Conn, func()) {
	return func(c net.Conn, begun func()) {
		io.WriteString(c, text)
		begun()
		io.Copy(io.Discard, c)
	}
}

// idle asks, reads the answer, and leaves the connection idle.
func idle(c net.Conn, begun func()) {
	io.WriteString(c, request(2, "{}"))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		begun()
		io.Copy(io.Discard, c)
	}
}

// frame is a frame of HTTP/2 (RFC 9113, 4.1).
func frame(kind, flags byte, stream int, text string) string {
	head := binary.BigEndian.AppendUint32(nil, uint32(len(text))<<8|uint32(kind))
	head = append(head, flags)
	return string(binary.BigEndian.AppendUint32(head, uint32(stream))) + text
}

// preface begins a connection (RFC 9113, 3.4).
var preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(settingsFrame, 0, 0, "")

const (
	dataFrame, headersFrame, resetFrame, settingsFrame, pingFrame, continuation = 0, 1, 3, 4, 6, 9
	endStream, endHeaders                                                       = 1, 4
	cancelled                                                                   = "\x00\x00\x00\x08"
	// posts are the fields of a request (RFC 7541): indexed :method and :scheme, literal :path and :authority.
	posts = "\x83\x87\x04\x08" + FitByPod + "\x01\x01x"
)

// longFrame is a frame of n bytes of a kind that no server knows, and a ping.
func longFrame(n int) string {
	return frame(0xfa, 0, 0, strings.Repeat("x", n)) + frame(pingFrame, 0, 0, "12345678")
}

// streams opens n streams, and again every 2.5 s, in which those before end.
func streams(n int, text func(id int) string) func(net.Conn, func()) {
	return func(c net.Conn, begun func()) {
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			io.Copy(io.Discard, c)
		}()
		for id := 1; ; {
			var b strings.Builder
			for range n {
				b.WriteString(text(id))
				id += 2
			}
			if _, err := io.WriteString(c, b.String()); err != nil {
				return
			}
			begun()
			select {
			case <-closed:
				return
			case <-time.After(2500 * time.Millisecond):
			}
		}
	}
}

// begunStream is the beginning of a request.
func begunStream(id int) string {
	return frame(headersFrame, endHeaders, id, posts) + frame(dataFrame, 0, id, "{")
}

// flood sends a text again and again, every millisecond.
func flood(first string, again func(i int) string) func(net.Conn, func()) {
	return func(c net.Conn, begun func()) {
		go io.Copy(io.Discard, c)
		io.WriteString(c, first)
		for i := 0; ; i++ {
			if _, err := io.WriteString(c, again(i)); err != nil {
				return
			}
			if i == 10 {
				begun()
			}
			time.Sleep(time.Millisecond)
		}
	}
}

var attacks = []attack{
	{name: "600 idle connections that have served", conns: 600, from: one, do: idle},
	{name: "600 addresses with one idle connection", conns: 600, from: many, do: idle},
	{name: "five clients with a quarter each", conns: 5 * maxConns / 4, from: five, do: idle},
	{name: "silent connections", conns: 300, from: one, raw: true, do: hold("")},
	{name: "half-open TLS", conns: 300, from: one, raw: true, do: hold("\x16\x03\x01\x01\x00\x01")},
	{name: "slow headers", conns: 240, from: one, do: hold("POST " + FitByPod + " HTTP/1.1\r\nHost:")},
	{name: "slow bodies", conns: 240, from: one, do: hold(request(maxReview, "{"))},
	{name: "slow bodies of five clients", conns: 5 * maxConns / 4, from: five, do: hold(request(maxReview, "{"))},
	{name: "held bodies of 7 MB", conns: 20, from: one, most: 1, do: hold(request(maxReview, strings.Repeat(" ", 7<<20)))},
	{name: "deaf pipelining", conns: 64, from: one, do: func(c net.Conn, begun func()) {
		io.WriteString(c, strings.Repeat(request(2, "{}"), 200))
		begun()
		time.Sleep(time.Second)
	}},
	{name: "streams that never end", conns: 10, from: one, h2: true, do: streams(240, begunStream)},
	{name: "streams of five clients that never end", conns: 5 * 3, from: five, h2: true, do: streams(240, begunStream)},
	{name: "deaf streams", conns: 64, from: one, h2: true, do: func(c net.Conn, begun func()) {
		io.WriteString(c, frame(settingsFrame, 0, 0, "\x00\x04\x00\x00\x00\x00")) // INITIAL_WINDOW_SIZE 0
		streams(32, func(id int) string {
			return frame(headersFrame, endHeaders, id, posts) + frame(dataFrame, endStream, id, "{}")
		})(c, begun)
	}},
	{name: "rapid reset", conns: 60, from: one, h2: true, do: flood("", func(i int) string {
		return frame(headersFrame, endHeaders, 2*i+1, posts) + frame(resetFrame, 0, 2*i+1, cancelled)
	})},
	{name: "CONTINUATION", conns: 60, from: one, h2: true, do: flood(frame(headersFrame, 0, 1, posts), func(int) string {
		return frame(continuation, 0, 1, strings.Repeat("\x00\x01a\x01b", 100))
	})},
	{name: "long frames", conns: 240, from: one, h2: true, do: hold(longFrame(1 << 20))},
	{name: "pings", conns: 60, from: one, h2: true, do: flood("", func(int) string { return frame(pingFrame, 0, 0, "12345678") })},
}

// start attacks a webhook that has room for most connections until stop. It returns when attackers hold half of what they may, or all
// have tried twice.
func (a *attack) start(at string, most int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	var held, tried atomic.Int64
	addresses := map[string]bool{}
	conns := max(a.conns*most/maxConns, min(a.conns, 5))
	for i := range conns {
		addresses[a.from(i).String()] = true
		all.Go(func() {
			for ctx.Err() == nil {
				tried.Add(1)
				a.once(ctx, at, a.from(i), &held)
				select { // and again
				case <-ctx.Done():
				case <-time.After(time.Second):
				}
			}
		})
	}
	most = min(conns, most, most/4*len(addresses)) / 2
	if a.most > 0 {
		most = a.most
	}
	for held.Load() < int64(most) && tried.Load() < 2*int64(conns) {
		time.Sleep(time.Millisecond)
	}
	return func() {
		cancel()
		all.Wait()
	}
}

// once does the work of one connection.
func (a *attack) once(ctx context.Context, at string, from net.IP, held *atomic.Int64) {
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from}}).DialContext(ctx, "tcp", at)
	if err != nil {
		return
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	if !a.raw {
		config := insecure.Clone()
		if a.h2 {
			config.NextProtos = []string{"h2"}
		}
		secret := tls.Client(c, config)
		if secret.HandshakeContext(ctx) != nil {
			return
		}
		c = secret
	}
	if a.h2 {
		io.WriteString(c, preface)
	}
	var once sync.Once
	defer once.Do(func() { held.Add(1) }) // the count below is of both
	defer held.Add(-1)
	a.do(c, func() { once.Do(func() { held.Add(1) }) })
}

// TestAttackers is the process of -attackers.
func TestAttackers(t *testing.T) {
	for _, a := range attacks {
		if a.name == *only {
			stop := a.start(*webhook, maxConns)
			fmt.Println("begun")
			io.Copy(io.Discard, os.Stdin)
			stop()
		}
	}
}

// apart makes an attack in a process of its own on a CPU of its own.
func (a *attack) apart(t *testing.T, at string) (stop func()) {
	t.Helper()
	cmd := exec.Command("taskset", "-c", *cpu, os.Args[0], "-test.run=^TestAttackers$", "-test.timeout=0", "-webhook="+at, "-attack="+a.name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "begun\n" {
		t.Fatalf("%q, %v", line, err)
	}
	return func() {
		in.Close()
		io.Copy(io.Discard, out)
		cmd.Wait()
	}
}

// TestAttacks: during each attack every new client is answered, and the webhook is ready.
func TestAttacks(t *testing.T) {
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			at, most := *webhook, maxConns
			var w *Webhook
			if at == "" {
				most = 64 // attacks of an eighth do
				w, at = serve(t, int64(most))
			}
			var took [2][]time.Duration
			failed := [2]int{}
			for range *rounds {
				for i := range took {
					stop := func() {}
					if i == 1 {
						if *cpu != "" {
							stop = a.apart(t, at)
						} else {
							stop = a.start(at, most)
						}
					}
					for range *probes / *rounds {
						begin := time.Now()
						if err := probe(at); err != nil {
							if failed[i]++; failed[i] == 1 {
								t.Errorf("a probe: %v", err)
							}
						}
						took[i] = append(took[i], time.Since(begin))
					}
					stop()
				}
			}
			slices.Sort(took[0])
			slices.Sort(took[1])
			p50, p99 := took[1][len(took[1])/2], took[1][len(took[1])*99/100]
			before50, before99 := took[0][len(took[0])/2], took[0][len(took[0])*99/100]
			t.Logf("%d of %d answered; P50 %.2f ms, without %.2f, ratio %.2f; P99 %.2f ms, without %.2f, ratio %.2f", len(took[1])-failed[1], len(took[1]),
				ms(p50), ms(before50), float64(p50)/float64(before50), ms(p99), ms(before99), float64(p99)/float64(before99))
			if w != nil && w.unanswered.Load() != nil {
				t.Error(*w.unanswered.Load())
			}
		})
	}
}

// TestFrames: a frame longer than maxFrame ends its connection, so that no client makes the buffer grow.
func TestFrames(t *testing.T) {
	_, at := serve(t, 64)
	for n, want := range map[int]bool{maxFrame: true, maxFrame + 1: false, 1 << 20: false} {
		config := insecure.Clone()
		config.NextProtos = []string{"h2"}
		c, err := tls.Dial("tcp", at, config)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		go io.WriteString(c, preface+longFrame(n)) // it fails when the connection ends
		var got []byte
		for b := make([]byte, 1024); err == nil && !strings.Contains(string(got), "12345678"); {
			n := 0
			n, err = c.Read(b)
			got = append(got, b[:n]...)
		}
		if answered := err == nil; answered != want {
			t.Errorf("a frame of %d bytes, and a ping: answered %t, %v", n, answered, err)
		}
	}
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// TestOneAddress: two API servers behind one address have 200 reviews each in progress, the most by default, and
// lose none of them. And during attacks all are answered.
func TestOneAddress(t *testing.T) {
	w, at := serve(t, maxConns)
	oneAddress(t, at)
	for _, b := range []*bound.Budget{&w.conns, &w.requests, &w.bytes} {
		if _, cut := b.Held(); cut != (bound.Cut{}) {
			t.Errorf("cut %+v", cut)
		}
	}
	_, at = serve(t, 64)
	for _, a := range attacks[:3] {
		stop := a.start(at, 64)
		oneAddress(t, at)
		stop()
	}
}

func oneAddress(t *testing.T, at string) {
	t.Helper()
	var group sync.WaitGroup
	var failed atomic.Int64
	for range 2 {
		tr := &http.Transport{
			DialContext:     (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 9)}}).DialContext,
			TLSClientConfig: insecure.Clone(), ForceAttemptHTTP2: true,
		}
		defer tr.CloseIdleConnections()
		c := &http.Client{Transport: tr, Timeout: time.Minute}
		if err := ask(c, at); err != nil { // the connection
			t.Fatal(err)
		}
		for range 200 {
			group.Go(func() {
				for range 3 {
					if err := ask(c, at); err != nil && failed.Add(1) == 1 {
						t.Error(err)
					}
				}
			})
		}
	}
	group.Wait()
	if failed.Load() != 0 {
		t.Errorf("%d failed", failed.Load())
	}
}
