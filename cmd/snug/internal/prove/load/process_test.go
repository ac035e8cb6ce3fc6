// SPDX-License-Identifier: Apache-2.0

package load

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

func hello(http.ResponseWriter, *http.Request) {}

func TestPlanThatCannotBe(t *testing.T) {
	exe, _ := os.Executable()
	if g, err := Start(t.Context(), exe, Plan{}); err == nil || g != nil {
		t.Errorf("started %v, %v", g, err)
	}
	p := open(10, time.Second, "http://127.0.0.1:1")
	if g, err := Start(t.Context(), "./no-such-program", p); err == nil || g != nil || !strings.Contains(err.Error(), "no-such-program") {
		t.Errorf("started %v, %v", g, err)
	}
	var none *Generator
	none.Close()
}

// TestCommandByHand: a generator that Start did not start prints that and ends.
func TestCommandByHand(t *testing.T) {
	exe, _ := os.Executable()
	for _, tt := range []struct {
		name, stdin, err string
		args             []string
	}{
		{"no-plan", "", "got no plan", []string{"load"}},
		{"garbage", "hello\n", "bad load plan", []string{"load"}},
		{"empty-plan", "{}\n", "no URL", []string{"load"}},
		{"more-arguments", "{}\n", "plan from stdin", []string{"load", "http://127.0.0.1"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.Command(exe, tt.args...)
			// The pipe stays open, so that the end of stdin does not end
			// the generator.
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Write([]byte(tt.stdin))
			if tt.stdin == "" {
				in.Close()
			}
			var e event
			if err := cmd.Wait(); err == nil || json.Unmarshal(out.Bytes(), &e) != nil || e.Event != eventError || !strings.Contains(e.Error, tt.err) {
				t.Errorf("%v, %q; want %q", err, out.String(), tt.err)
			}
		})
	}
}

func TestEndOfStdinEndsIt(t *testing.T) {
	s := serve(t, hello)
	p := open(100, time.Hour, s.URL)
	for _, when := range []string{"warm-up", "pause", "window"} {
		t.Run(when, func(t *testing.T) {
			if p.Warm = 0; when == "warm-up" {
				p.Warm = time.Hour
			}
			g := begin(t, p)
			if when != "warm-up" {
				if err := g.Warm(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if when == "window" {
				g.stdin.Write([]byte(goLine + "\n"))
			}
			g.stdin.Close()
			<-g.ended
			if _, err := g.Go(t.Context()); err == nil || !strings.Contains(err.Error(), "the load generator ended") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestContextEndsIt(t *testing.T) {
	s := serve(t, hello)
	exe, _ := os.Executable()
	why := errors.New("enough")

	ctx, cancel := context.WithCancelCause(t.Context())
	g, err := Start(ctx, exe, open(100, time.Hour, s.URL))
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if err := g.Warm(ctx); err != nil {
		t.Fatal(err)
	}
	cancel(why)
	<-g.ended
	if _, err := g.Go(ctx); !errors.Is(err, why) {
		t.Errorf("the context of Start: %v", err)
	}

	g = begin(t, open(100, time.Hour, s.URL))
	ctx, cancel = context.WithCancelCause(t.Context())
	if err := g.Warm(ctx); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
	if _, err := g.Go(ctx); !errors.Is(err, why) {
		t.Errorf("the context of Go: %v", err)
	}
	<-g.ended
	g.Close()
	g.Close()
}

func TestEnvironment(t *testing.T) {
	got := environment([]string{"PATH=/bin", "GOMAXPROCS=1", "GOGC=off", "GOMEMLIMIT=9MiB", "GODEBUG=gctrace=1", "GOCOVERDIR=/x", "gogc=5", "EMPTY="})
	if want := []string{"PATH=/bin", "GOCOVERDIR=/x", "EMPTY="}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestListening(t *testing.T) {
	s := serve(t, hello)
	if !Listening(s.URL) || Listening("http://127.0.0.1:1") || Listening("nonsense") {
		t.Error("Listening is wrong")
	}
	if err := WaitListening(t.Context(), s.URL, time.Millisecond); err != nil {
		t.Error(err)
	}
	var err error
	// On a stalled machine it may not even begin in this time.
	for within := 50 * time.Millisecond; within < 10*time.Second && (err == nil || !strings.Contains(err.Error(), "refused")); within *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		err = WaitListening(ctx, "http://127.0.0.1:1", time.Millisecond)
		cancel()
	}
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nothing listens, yet %v", err)
	}
	if err := WaitListening(t.Context(), "nonsense", time.Hour); err == nil {
		t.Error("nonsense was waited for")
	}
}

// TestListensLater: the service opens its port during the wait.
func TestListensLater(t *testing.T) {
	s := serve(t, hello)
	addr := s.Listener.Addr().String()
	s.Close()
	done := make(chan error, 1)
	go func() { done <- WaitListening(t.Context(), "http://"+addr, time.Millisecond) }()
	time.Sleep(20 * time.Millisecond)
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
