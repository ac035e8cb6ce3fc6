// SPDX-License-Identifier: Apache-2.0

// Package agent looks at all Go processes of a node again and again, joins each with its
// pod and container by the name of its cgroup, and serves what it found: metrics, a JSON
// document, a page. It writes to nobody and asks nobody, but for the names of pods where
// that is wanted.
//
// A scan costs what has changed. Executables are told apart by their file, so that what is
// no Go program costs one system call a scan, whoever runs it; a program is taken apart
// once; of a known process the kernel's counters are read, and a few kilobytes of memory
// unless it rests; limits are read once for all processes in the same groups. What costs
// more is spread over time, so that a scan takes no more than a part of one CPU.
//
// Processes come and go while they are looked at. What was read of one that is gone, or
// has become another, is dropped and counted, and is no error.
package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Options are how an agent works.
type Options struct {
	// Interval is the time from the beginning of one scan to that of the next.
	Interval time.Duration
	// Files remembers what was found of executables.
	Files *goproc.Cache
	// Root is a directory that has the node's sys/fs/cgroup; "" = this machine's.
	Root string
	// Outside: no process's memory is read.
	Outside bool
	// Node is the node's name; "" = unknown.
	Node string
	// Names tells what a pod and its container are called; nil = nobody does.
	Names Names
	// Await is closed when Names knows what there is. Run's first scan waits for it, some
	// seconds at most; nil = it does not.
	Await <-chan struct{}
	// Note is told what went wrong and what did not, for people; nil = nobody is.
	Note func(string)
	// Share of one CPU is the most that a scan may take, 0 to 1; 0 = there is no bound.
	Share float64
}

// Names tells the names that belong to a pod's UID and a container's id. ok is false where
// it does not know the pod; what is of the container may be "" also where it does.
type Names interface {
	Lookup(uid, container string) (n Named, ok bool)
}

// Agent scans a node. Its methods may be called from several goroutines, but for Scan.
type Agent struct {
	opts    Options
	scanner *scanner

	mu      sync.Mutex
	last    *finding.Node // of the last scan; never changed once it is here
	ended   time.Time     // when that scan was over
	scans   int64
	failed  string // why the last scan gave nothing; "" = it did
	history map[string]*history
}

// New makes an agent that has not looked yet. The error is of Root.
func New(opts Options) (*Agent, error) {
	s := &scanner{
		files: opts.Files, outside: opts.Outside, self: os.Getpid(),
		known: map[int]*process{}, others: map[int]other{}, groups: map[string]*group{}, room: roomForFiles(),
		pace: pacer{share: opts.Share}, named: opts.Names != nil, bystanders: map[string]*bystander{}, settledAfter: settledAfter,
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
	return &Agent{opts: opts, scanner: s, history: map[string]*history{}}, nil
}

// Close gives back the files that are open. No scan may be under way.
func (a *Agent) Close() { a.scanner.close() }

// Scan looks at all processes once. An error means that there is nothing to look at, as
// where /proc cannot be listed; it is ctx's when that ended first.
func (a *Agent) Scan(ctx context.Context) (*finding.Node, error) {
	begin, cpu := time.Now(), cpuTime()
	r, err := a.scanner.scan(ctx)
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if a.failed == "" {
			a.opts.Note("error: the processes cannot be looked at, " + err.Error())
		}
		a.failed = err.Error()
		return nil, err
	}
	if a.failed != "" {
		a.opts.Note("note: the processes can be looked at again")
		a.failed = ""
	}
	d := a.document(r)
	now := time.Now()
	d.At = now.Format(time.RFC3339)
	d.Scan.Seconds, d.Scan.CPU = now.Sub(begin).Seconds(), (cpuTime() - cpu).Seconds()
	a.remember(d, now)
	a.last, a.ended = d, now
	a.scans++
	return d, nil
}

// awaits is how long the first scan waits for names.
const awaits = 5 * time.Second

// Run scans until ctx ends.
func (a *Agent) Run(ctx context.Context) {
	a.await(ctx)
	beat := time.NewTicker(a.opts.Interval)
	defer beat.Stop()
	for first := true; ; first = false {
		d, err := a.Scan(ctx) // what was wrong is noted, and /healthz tells
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

// warn says that most of a node may be hidden.
func (a *Agent) warn(d *finding.Node) {
	if left, many := d.Denied(); many {
		a.opts.Note(fmt.Sprintf("note: %d of %d processes cannot be looked at, denied", left.Count, d.Scan.Processes))
		a.opts.Note("hint: " + cmp.Or(left.Hint, "run it with CAP_SYS_PTRACE"))
	}
}

func (a *Agent) await(ctx context.Context) {
	if a.opts.Await == nil {
		return
	}
	late := time.NewTimer(awaits)
	defer late.Stop()
	select {
	case <-a.opts.Await:
	case <-late.C:
	case <-ctx.Done():
	}
}

// Last is what the last scan found, nil before the first, and how long ago that was.
func (a *Agent) Last() (d *finding.Node, age time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last == nil {
		return nil, 0
	}
	return a.last, time.Since(a.ended)
}

// staleAfter is how many intervals the last scan may be old before the agent is ill.
const staleAfter = 3

// Healthy is nil when the last scan is young enough to rely on.
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

// ErrNotLinux is New's and Scan's elsewhere.
var ErrNotLinux = proc.ErrNotLinux
