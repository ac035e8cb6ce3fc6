// SPDX-License-Identifier: Apache-2.0

// Package scan scans all Go processes of a node, and joins each with its pod and container by the
// name of its cgroup. What a scan leaves behind is a snapshot.
//
// The cost of a scan depends on what has changed. The scan identifies executables by their
// file, so a program that is not Go's costs one system call per scan, and four at every fourth. It
// analyzes a program once. For a known process it reads the kernel's counters and, unless the process rests, a
// few kilobytes of memory. It reads limits once for all processes of a cgroup. It spreads
// more expensive work over several scans, and pauses to stay below a share of one CPU.
//
// Processes come and go during a scan. If a process has ended or become another, its data is
// dropped and counted; that is no error.
package scan

import (
	"context"
	"io/fs"
	"os"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/names"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/tree"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/podid"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// New returns a scanner that has not scanned yet. It fails if Root cannot be read.
func New(opts Options) (*Scanner, error) {
	s := &Scanner{
		opts: opts, files: opts.Files, self: os.Getpid(), maxFiles: maxFiles(), named: opts.Names != nil,
		pace: pacer{share: opts.Share}, window: windowOf(opts.Interval), settledAfter: settledAfter,
		known: map[int]*process{}, others: map[int]other{}, groups: map[string]*group{}, out: map[string]*crowd{},
		bystanders: map[string]*bystander{},
	}
	if opts.Root == "" {
		s.node = tree.Namespaced()
	} else {
		t, err := tree.Open(opts.Root)
		if err != nil {
			return nil, err
		}
		s.node = t
	}
	s.own = s.memory.read
	return s, nil
}

// Close closes the open files.
func (s *Scanner) Close() {
	s.closeFiles()
	if s.node != nil {
		s.node.Close()
	}
	s.memory.close()
}

// Scan inspects all processes once. It fails if /proc cannot be listed, or with the error
// of ctx.
func (s *Scanner) Scan(ctx context.Context) (*snapshot.Snapshot, error) {
	begin, cpu := time.Now(), proc.CPUTime()
	r, err := s.scan(ctx)
	if err != nil {
		return nil, err
	}
	d := s.document(r)
	s.keepHeaps(d, time.Now())
	now := time.Now()
	d.At = now.Format(time.RFC3339)
	d.Scan.Seconds, d.Scan.CPU = now.Sub(begin).Seconds(), (proc.CPUTime() - cpu).Seconds()
	s.trends.Add(d, now)
	room := snapshot.Room{Files: s.bounds.files, Processes: s.most, Dropped: s.dropped}
	return &snapshot.Snapshot{Node: d, Ended: now, Room: room, Trends: &s.trends, Samples: s.samples(d)}, nil
}

const (
	// settling is the number of scans that inspect a new process that is not Go's every time:
	// it may be a script that is about to run a Go program.
	settling = 4
	// otherEvery is the interval, in scans, at which it is inspected from then on.
	otherEvery = 4
)

// Options configure a scanner.
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
	// Names has the names of pods and containers; nil = no names.
	Names names.Source
	// Once means that a scan looks at all processes, however much there is to read.
	Once bool
	// Share is the largest share of one CPU that a scan may use, 0 to 1; 0 = no bound.
	Share float64
	// SetHeap is called with the bytes that suit as GOMEMLIMIT of this process, if its memory limit is known; nil = it
	// is not set.
	SetHeap func(bytes int64)
}

// Scanner scans a node, and keeps the state between scans. Its methods are not safe for concurrent use.
type Scanner struct {
	opts     Options
	files    *goproc.Cache
	node     *tree.Node // where to read limits; nil = this machine
	self     int
	maxFiles int // how many may be open, whatever the memory
	bounds   bounds
	own      func() (used, limit int64) // see ownMemory
	pace     pacer
	window   time.Duration // see windowOf
	budgets  budgets       // of this scan
	named    bool          // containers have names, so the document lists those without Go too

	tick    int
	known   map[int]*process
	open    int // of known, those that stay open
	others  map[int]other
	besides int               // of others, those with Go code beside their executable
	groups  map[string]*group // by the text of /proc/PID/cgroup
	at      time.Time         // of the last scan

	most    int               // Go processes that may be known; 0 = no bound
	out     map[string]*crowd // by the keys of groups
	dropped int               // known processes that were left out
	shed    int               // the scan that last changed most
	met     int               // processes, since the memory was last looked at

	order  []string // the keys of the containers of the last document, sorted
	memory ownMemory
	trends snapshot.Trends
	heaps  heaps

	bystanders   map[string]*bystander // by keyOfPlace
	unplaced     int                   // the last scan that could not inspect a process in an unknown container
	settledAfter time.Duration
}

// other is a process that is not a Go program.
type other struct {
	mark   uint64 // identifies the process: another mark is another process
	kernel bool   // a kernel thread
	looks  int
	due    int // the scan that inspects it again
	tick   int // the last scan that found it
	in     *bystander
	out    *crowd               // of a Go process that is left out; nil = it is not
	code   int64                // bytes of code that it had mapped at the last look, see proc.CodeOf
	beside *finding.Unsupported // Go code in it; nil = none
	much   string               // why it is unknown what it is or has; "" = it is known
}

// crowd is a container that is left out.
type crowd struct {
	key  string // of the group
	n    int    // Go processes at the last scan that found one
	tick int    // that scan
}

// bystander is a container, with the state of its processes that are not Go programs.
type bystander struct {
	at      podid.Place
	since   time.Time // the first scan that found it
	pid     int       // the first of its processes at the last scan, which is usually the oldest
	tick    int       // the last scan that found such a process
	unseen  int       // the last scan that could not inspect a process in it
	beside  int       // the last scan that found a process in it with Go that is not read
	hasGo   bool      // a Go process has run in it for settledAfter
	settled bool      // it has run for settledAfter
}

// result is the outcome of one scan.
type result struct {
	interval  time.Duration // since the previous scan; 0 = this is the first
	processes int
	skipped   map[string]int
	hint      string // what would help with denied processes
}

// look inspects a process, without its memory if s.opts.Outside.
func (s *Scanner) look(p *proc.Process) *goproc.Facts {
	if s.opts.Outside {
		return goproc.LookOutside(p, s.files)
	}
	return goproc.Look(p, s.files)
}

// due reports whether a process is due for work that is done at every nth scan, n = every.
func (s *Scanner) due(g *goproc.Facts, every int) bool { return (s.tick+g.Pid)%every == 0 }

func isYoung(g *goproc.Facts) bool { return time.Since(g.Stat.Started) < young }

// groupOf returns the /proc/PID/cgroup of a process as the node shows it; "" = it has ended.
func (s *Scanner) groupOf(pid int) string { return s.inTree(observe.GroupOf(pid)) }

// groupsOf is groupOf for a Go process, whose directory may be open.
func (s *Scanner) groupsOf(e *process, pid int) string {
	if e.p == nil || e.closed {
		return s.groupOf(pid)
	}
	text, err := e.p.Groups()
	if err != nil {
		return ""
	}
	return s.inTree(text)
}

func (s *Scanner) inTree(text string) string {
	if s.node == nil {
		return text
	}
	return s.node.Place(text)
}

// tree returns the file system to read limits in; nil = this machine.
func (s *Scanner) tree() fs.FS {
	if s.node == nil {
		return nil // not a nil *node in an fs.FS
	}
	return s.node
}
