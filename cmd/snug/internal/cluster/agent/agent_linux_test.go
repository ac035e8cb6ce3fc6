// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/keep"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/scan"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// idle returns an agent that has not scanned.
func idle(t *testing.T) *Agent {
	t.Helper()
	a, err := New(Options{Options: scan.Options{Interval: time.Second, Files: goproc.NewCache("")}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Close)
	return a
}

// TestRunAwaits: the first scan waits for the names, at most awaitTimeout.
func TestRunAwaits(t *testing.T) {
	for name, come := range map[string]bool{"they come": true, "they do not come": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				known := make(chan struct{})
				a := idle(t)
				a.opts.Await = known
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan bool)
				go func() { a.Run(ctx); close(ended) }()
				synctest.Wait()
				if a.Last().Node != nil {
					t.Error("it does not wait")
				}
				if come {
					close(known)
				} else {
					time.Sleep(awaitTimeout)
				}
				synctest.Wait()
				if a.Last().Node == nil {
					t.Error("it waits on")
				}
				stop()
				<-ended
			})
		})
	}
}

// TestScanInterrupted: a scan ends with its context, and the last document stays.
func TestScanInterrupted(t *testing.T) {
	a := idle(t)
	want, err := a.Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := a.Scan(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if a.Last().Node != want {
		t.Error("the last scan is lost")
	}
}

// TestWarn: many denied processes are noted, a few are not.
func TestWarn(t *testing.T) {
	for denied, want := range map[int]string{
		107: "note: 107 of 108 processes cannot be inspected, denied\nhint: run as root\n", 3: "", 0: "",
	} {
		notes := ""
		a := idle(t)
		a.opts.Note = func(text string) { notes += text + "\n" }
		a.warn(&finding.Node{Scan: finding.Scan{Processes: 108}, Skipped: []finding.Left{{Reason: snapshot.SkipDenied, Count: denied, Hint: "run as root"}}})
		if notes != want {
			t.Errorf("%d denied: %q", denied, notes)
		}
	}
}

// TestHealthyMeanwhile asks for the last scan while a scan ends, for the race detector.
func TestHealthyMeanwhile(t *testing.T) {
	a := idle(t)
	done := make(chan bool)
	go func() {
		defer close(done)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.last.Failed = "no /proc"
	}()
	last := a.Last()
	_ = last.Healthy(time.Minute)
	<-done
	last = a.Last()
	if err := last.Healthy(time.Minute); err == nil || err.Error() != "no /proc" {
		t.Errorf("%v", err)
	}
}

// TestServeEnds: Serve ends with its context, also while a client keeps a connection.
func TestServeEnds(t *testing.T) {
	a := idle(t)
	ctx, stop := context.WithCancel(t.Context())
	stop() // so that it never scans
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := a.Serve(ctx, l); err != nil {
		t.Error(err)
	}
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
	if n, _ := io.Copy(io.Discard, c); n > 0 { // it ends, or is reset
		t.Errorf("%d bytes", n)
	}
}

// TestServeFails: Serve fails if its listener is closed.
func TestServeFails(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	a := idle(t)
	if err := a.Serve(t.Context(), l); err == nil {
		t.Error("it served")
	}
}

// TestServeKeeps: what was seen of workloads is written to the file when the agent ends.
func TestServeKeeps(t *testing.T) {
	dir := t.TempDir()
	a := idle(t)
	a.kept = keep.Open(dir, "n1", time.Hour, nil)
	if _, err := a.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if err := a.Serve(ctx, l); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "needs.json")); err != nil {
		t.Error(err)
	}
}
