// SPDX-License-Identifier: Apache-2.0

// Package agent scans all Go processes of a node periodically, joins each with its pod and
// container by the name of its cgroup, and serves the result as metrics, a JSON document and
// a page. It opens no connection, except to the API server if it is asked for names of pods.
//
// The cost of a scan depends on what has changed. The scan identifies executables by their
// file, so a program that is not Go's costs one system call per scan, and four at every fourth. It
// analyzes a program once. For a known process it reads the kernel's counters and, unless the process rests, a
// few kilobytes of memory. It reads limits once for all processes of a cgroup. It spreads
// more expensive work over several scans, and pauses to stay below a share of one CPU.
//
// Processes come and go during a scan. If a process has ended or become another, its data is
// dropped and counted; that is no error.
package agent

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/bound"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Options configure an agent.
type Options struct {
	// Interval is the time from the beginning of one scan to that of the next.
	Interval time.Duration
	// Files caches what is known of executables.
	Files *goproc.Cache
	// Root is a directory that contains the node's sys/fs/cgroup; "" = this machine's.
	Root string
	// Outside means that the agent reads no process's memory.
	Outside bool
	// Node is the node's name; "" = unknown.
	Node string
	// Names returns the names of pods and containers; nil = no names.
	Names Names
	// Await is closed once Names has the pods. Run's first scan waits for it for at most
	// awaitTimeout; nil = do not wait.
	Await <-chan struct{}
	// Note receives errors and notes for the log; nil = none.
	Note func(string)
	// Conventional adds metrics by the names of OpenTelemetry's semantic conventions.
	Conventional bool
	// State is a directory for the file of what sizing needs of each workload; "" = the agent keeps it while it runs.
	State string
	// Once means that a scan looks at all processes, however much there is to read.
	Once bool
	// Share is the largest share of one CPU that a scan may use, 0 to 1; 0 = no bound.
	Share float64
	// SetHeap is called with the bytes that suit as GOMEMLIMIT of this process, if its memory limit is known; nil = it is not
	// set.
	SetHeap func(bytes int64)
	// Certificate is that of the address; nil = no TLS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Guard decides who may read the address; nil = everybody.
	Guard *guard.Guard
}

// Names returns the names for a pod's UID and a container's id. ok is false for an unknown
// pod. For a known pod the container's fields may still be "".
type Names interface {
	Lookup(uid, container string) (n Named, ok bool)
}

// Agent scans a node. Its methods are safe for concurrent use, except Scan.
type Agent struct {
	opts    Options
	scanner *scanner
	own     ownMemory
	order   []string // the keys of the containers of the last document, sorted; only Scan uses it

	mu      sync.Mutex
	last    *finding.Node // of the last scan; not modified after that
	room    room          // of it
	ended   time.Time     // when the last scan ended
	scans   int64
	failed  string // why the last scan failed; "" = it succeeded
	history map[string]*history
	made    *made        // of the last scrape; nil = there was none
	conns   bound.Budget // of the address
	rate    bound.Rate   // of its clients

	heaps heaps // only Scan uses it
	sizes *sizes
}

// room is what the agent's memory is for, and what was left out for lack of it. See bounds and crowd.
type room struct{ files, processes, dropped int }

// New returns an agent that has not scanned yet. It fails if Root cannot be read.
func New(opts Options) (*Agent, error) {
	s := &scanner{
		files: opts.Files, outside: opts.Outside, self: os.Getpid(),
		known: map[int]*process{}, others: map[int]other{}, groups: map[string]*group{}, out: map[string]*crowd{}, maxFiles: maxFiles(), setHeap: opts.SetHeap,
		pace: pacer{share: opts.Share}, window: windowOf(opts.Interval), named: opts.Names != nil, whole: opts.Once, bystanders: map[string]*bystander{}, settledAfter: settledAfter,
	}
	if opts.Root == "" {
		s.node = namespaced()
	} else {
		t, err := openNode(opts.Root)
		if err != nil {
			return nil, err
		}
		s.node = t
	}
	if opts.Note == nil {
		opts.Note = func(string) {}
	}
	a := &Agent{opts: opts, scanner: s, history: map[string]*history{}, sizes: newSizes(opts.State, opts.Node, opts.Interval, opts.Note)}
	s.own = a.own.read
	return a, nil
}

// Close closes the open files. No scan may be running.
func (a *Agent) Close() {
	a.scanner.close()
	a.own.close()
}

// Scan inspects all processes once. It fails if /proc cannot be listed, or with the error
// of ctx.
func (a *Agent) Scan(ctx context.Context) (*finding.Node, error) {
	begin, cpu := time.Now(), cpuTime()
	r, err := a.scanner.scan(ctx)
	var d *finding.Node
	if err == nil {
		d = a.document(r)
		a.keepHeaps(d, time.Now())
		a.sizes.add(d, a.scanner.known, time.Now())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if a.failed == "" {
			a.opts.Note("error: the processes cannot be inspected, " + err.Error())
		}
		a.failed = err.Error()
		return nil, err
	}
	if a.failed != "" {
		a.opts.Note("note: the processes can be inspected again")
		a.failed = ""
	}
	now := time.Now()
	d.At = now.Format(time.RFC3339)
	d.Scan.Seconds, d.Scan.CPU = now.Sub(begin).Seconds(), (cpuTime() - cpu).Seconds()
	a.remember(d, now)
	a.last, a.room, a.ended = d, room{a.scanner.bounds.files, a.scanner.most, a.scanner.dropped}, now
	a.scans++
	return d, nil
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
	late := time.NewTimer(awaitTimeout)
	defer late.Stop()
	select {
	case <-a.opts.Await:
	case <-late.C:
	case <-ctx.Done():
	}
}

// Last returns the document of the last scan and its age; nil before the first scan.
func (a *Agent) Last() (d *finding.Node, age time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return nil, 0
	}
	return a.last, time.Since(a.ended)
}

// staleAfter is the age of the last scan, in intervals, from which the agent is unhealthy.
const staleAfter = 3

// Healthy returns nil if there is a recent scan, or else why not.
func (a *Agent) Healthy() error {
	d, age := a.Last()
	a.mu.Lock()
	failed := a.failed
	a.mu.Unlock()
	switch {
	case d == nil && failed == "":
		return errors.New("no scan yet")
	case d == nil:
		return errors.New(failed)
	case age > staleAfter*a.opts.Interval:
		return errors.New("the last scan ended " + age.Truncate(time.Second).String() + " ago")
	}
	return nil
}

// ErrNotLinux is the error of New and Scan on other systems.
var ErrNotLinux = proc.ErrNotLinux
