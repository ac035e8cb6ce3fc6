// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workload

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestProbeSeesAStop: a process that was stopped for 100 ms has a gap of that length.
func TestProbeSeesAStop(t *testing.T) {
	t.Parallel()
	var p *Probe
	// If this process waits for a CPU, the window may end before the stop.
	for window := 2 * time.Second; (p == nil || p.Max < 0.099) && window < time.Minute; window *= 2 {
		p = stopIn(t, window)
	}
	var longest float64
	for _, g := range p.Gaps {
		longest = max(longest, g[1])
	}
	if p.Max < 0.099 || longest != p.Max {
		t.Errorf("longest gap %g s, of the thread %g s; it was stopped for 0.1 s", p.Max, longest)
	}
	touched := 0
	for _, w := range p.Worst {
		if w == p.Max {
			touched++
		}
	}
	if touched < 1 {
		t.Errorf("in no period: %v", p.Worst)
	}
}

// stopIn returns a probe that was stopped for 100 ms, usually in its window.
func stopIn(t *testing.T, window time.Duration) *Probe {
	t.Helper()
	c := start(t, "probe", Options{Warm: 1, Window: window, Threads: 1}, "GOMAXPROCS=1")
	events := ReadEvents(c.stdout)
	c.expect(events, "warm")
	io.WriteString(c.stdin, "go\n")
	time.Sleep(window / 4)
	pid := c.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("not stopped: %v, %v", status, err)
	}
	time.Sleep(100 * time.Millisecond)
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p := c.expect(events, "done").Result.Probe
	c.end(0)
	return p
}

func TestHTTPPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := start(t, "http", Options{Addr: l.Addr().String()})
	if url, err := ReadListening(c.stdout); err != io.EOF {
		t.Errorf("listening at %q, %v", url, err)
	}
	want := "snug workload: http: listen tcp " + l.Addr().String() + ": bind: address already in use\n"
	if text := c.wait(1); text != want {
		t.Errorf("stderr %q, want %q", text, want)
	}
}

func TestHTTPEnds(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		c := start(t, "http", Options{})
		url := c.listening()
		get(t, url)
		// A connection without a request does not delay the end.
		idle, err := net.Dial("tcp", strings.Trim(strings.TrimPrefix(url, "http:"), "/"))
		if err != nil {
			t.Fatal(err)
		}
		defer idle.Close()
		c.cmd.Process.Signal(sig)
		if text := c.wait(0); text != "" {
			t.Errorf("%v: stderr %q", sig, text)
		}
	}
}

// TestHTTPFinishes: a request in progress at SIGTERM is answered.
func TestHTTPFinishes(t *testing.T) {
	t.Parallel()
	line := ""
	for range 5 {
		if line = lastAnswer(t); !strings.Contains(line, "409") { // the two probes overlapped
			break
		}
	}
	if !strings.Contains(line, "200") {
		t.Errorf("%q", line)
	}
}

// lastAnswer returns the status line of a request that was in progress at SIGTERM.
func lastAnswer(t *testing.T) string {
	t.Helper()
	c := start(t, "http", Options{}, "GOMAXPROCS=2")
	addr := strings.Trim(strings.TrimPrefix(c.listening(), "http:"), "/")
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// Only the probe takes long enough. It is in progress once another one is rejected
	// because of it.
	fmt.Fprintf(conn, "GET /-/probe?threads=1&seconds=2 HTTP/1.1\r\nHost: x\r\n\r\n")
	for over := time.Now().Add(2 * time.Second); time.Now().Before(over); time.Sleep(10 * time.Millisecond) {
		if code, _ := get(t, "http://"+addr+"/-/probe?threads=3&seconds=1"); code == http.StatusConflict {
			break
		}
	}
	c.cmd.Process.Signal(syscall.SIGTERM)
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Error(err)
	}
	c.wait(0)
	return line
}

func TestHTTPUntilEOF(t *testing.T) {
	t.Parallel()
	c := start(t, "http", Options{UntilEOF: true})
	get(t, c.listening())
	c.end(0)

	c = start(t, "http", Options{})
	url := c.listening()
	c.stdin.Close()
	time.Sleep(100 * time.Millisecond)
	get(t, url) // still serving
}
