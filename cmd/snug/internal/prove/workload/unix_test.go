// SPDX-License-Identifier: Apache-2.0

//go:build unix

package workload

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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

// TestHTTPFinishes: a request in progress at the end is answered.
func TestHTTPFinishes(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	back := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked <- true
		<-answer
		io.WriteString(w, "[]")
	}))
	defer back.Close()
	s := newServer(newJobs(false), back.Listener.Addr().String())
	front := httptest.NewUnstartedServer(nil)
	go s.front.Serve(front.Listener)
	status := make(chan int)
	go func() {
		code, _ := get(t, "http://"+front.Listener.Addr().String()+"/")
		status <- code
	}()
	<-asked
	ended := make(chan error)
	go func() { ended <- s.stop(time.Minute) }()
	select {
	case err := <-ended:
		t.Errorf("ended before the answer: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	close(answer)
	if code := <-status; code != 200 {
		t.Errorf("status %d", code)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestHTTPUntilEOF(t *testing.T) {
	t.Parallel()
	c := start(t, "http", Options{})
	get(t, c.listening())
	c.end(0)
}
