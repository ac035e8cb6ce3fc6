// SPDX-License-Identifier: Apache-2.0

// Package agent scans all Go processes of a node periodically, and serves what the last scan leaves
// behind as metrics, a JSON document and a page. It opens no connection, except to the API server
// if it is asked for names of pods.
package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/keep"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/scan"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/serve"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Options configure an agent.
type Options struct {
	scan.Options
	// Await is closed once Names has the pods. Run's first scan waits for it for at most
	// awaitTimeout; nil = do not wait.
	Await <-chan struct{}
	// Note receives errors and notes for the log; nil = none.
	Note func(string)
	// State is a directory for the file of what sizing needs of each workload; "" = the agent keeps it while it runs.
	State string
	// Certificate is that of the address; nil = no TLS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Guard decides who may read the address; nil = everybody.
	Guard *guard.Guard
}

// Agent scans a node. Its methods are safe for concurrent use, except Scan.
type Agent struct {
	opts    Options
	scanner *scan.Scanner
	kept    *keep.Store
	server  *serve.Server

	mu   sync.Mutex
	last snapshot.Snapshot
}

// New returns an agent that has not scanned yet. It fails if Root cannot be read.
func New(opts Options) (*Agent, error) {
	s, err := scan.New(opts.Options)
	if err != nil {
		return nil, err
	}
	if opts.Note == nil {
		opts.Note = func(string) {}
	}
	a := &Agent{opts: opts, scanner: s, kept: keep.Open(opts.State, opts.Node, opts.Interval, opts.Note)}
	a.server = serve.New(serve.Options{
		Last: a.Last, Interval: opts.Interval, Outside: opts.Outside, Certificate: opts.Certificate, Guard: opts.Guard,
	})
	return a, nil
}

// Close closes the open files. No scan may be running.
func (a *Agent) Close() { a.scanner.Close() }

// Scan inspects all processes once. It fails if /proc cannot be listed, or with the error
// of ctx.
func (a *Agent) Scan(ctx context.Context) (*finding.Node, error) {
	s, err := a.scanner.Scan(ctx)
	if err == nil {
		a.kept.Add(s, time.Now())
		s.Samples, s.Needs = nil, a.kept
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		if a.last.Failed == "" {
			a.opts.Note("error: the processes cannot be inspected: " + err.Error())
		}
		a.last.Failed = err.Error()
		return nil, err
	case a.last.Failed != "":
		a.opts.Note("note: the processes can be inspected again")
	}
	s.Scans = a.last.Scans + 1
	a.last = *s
	return s.Node, nil
}

// awaitTimeout bounds the wait of the first scan for names.
const awaitTimeout = 5 * time.Second

// Run scans until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	a.await(ctx)
	beat := time.NewTicker(a.opts.Interval)
	defer beat.Stop()
	for first := true; ; first = false {
		d, err := a.Scan(ctx) // Scan notes its error, and /healthz reports it
		if first && err == nil {
			a.warn(d)
		}
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}

// warn notes that many processes are denied.
func (a *Agent) warn(d *finding.Node) {
	if left, many := d.Denied(); many {
		a.opts.Note(fmt.Sprintf("note: %d of %d processes cannot be inspected, denied", left.Count, d.Scan.Processes))
		a.opts.Note("hint: " + cmp.Or(left.Hint, "run it with CAP_SYS_PTRACE"))
	}
}

func (a *Agent) await(ctx context.Context) {
	if a.opts.Await == nil {
		return
	}
	ctx, stop := context.WithTimeout(ctx, awaitTimeout)
	defer stop()
	select {
	case <-a.opts.Await:
	case <-ctx.Done():
	}
}

// Last returns what the last scan left.
func (a *Agent) Last() snapshot.Snapshot {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last
}

// shutdownTimeout bounds the requests that are in progress when the agent ends.
const shutdownTimeout = 5 * time.Second

// Serve scans and serves on l until ctx ends. It closes l.
func (a *Agent) Serve(ctx context.Context, l net.Listener) error {
	server, l := a.server.On(l)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	scanned := make(chan struct{})
	go func() {
		defer close(scanned)
		a.Run(ctx)
	}()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(l) }()
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		late, stop := context.WithTimeout(context.Background(), shutdownTimeout)
		defer stop()
		if err = server.Shutdown(late); errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // end them
		}
		<-failed // it has closed l
	}
	cancel()
	<-scanned
	a.kept.End()
	return err
}

// ErrNotLinux is the error of New and Scan on other systems.
var ErrNotLinux = proc.ErrNotLinux
