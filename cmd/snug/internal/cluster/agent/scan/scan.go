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
	"os"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/tree"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
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
