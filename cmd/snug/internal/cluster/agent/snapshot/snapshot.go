// SPDX-License-Identifier: Apache-2.0

// Package snapshot holds the value that a scan of a node leaves behind: a scan fills it, and metrics,
// documents, pages and what is kept of workloads are made of it alone.
package snapshot

import (
	"errors"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/needs"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/observe"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Snapshot is what the last scan has seen. What it refers to does not change, except Trends and
// Needs, which are safe for concurrent use.
type Snapshot struct {
	Node   *finding.Node // the document; nil = no scan has succeeded yet
	Ended  time.Time     // when that scan ended
	Scans  int64         // that have succeeded
	Failed string        // why the last scan failed; "" = it succeeded, or there was none
	Room   Room
	Trends *Trends
	Needs  Needs

	// Samples are what sizing reads of the containers of Node, in their order; nil once they are kept.
	Samples []Sample
}

// Room is what the agent's memory is for, and what was left out for lack of it.
type Room struct{ Files, Processes, Dropped int }

// Sample is what happened to a container between two scans: to its first process, and the pages of all.
type Sample struct {
	Prev, Last  observe.Moment // Prev.Go is nil at the first scan that sees it, Last.Go if the process is unknown
	Files, Code float64        // resident bytes in pages of files, and in those of code, which processes may share
	Read        bool           // these were read
}

// Needs is what sizing needs of each workload, as of the last scan.
type Needs interface {
	// Each calls f with each workload, in the order of their names. It is valid during the call.
	Each(f func(*needs.Workload))
	// Encode returns the document.
	Encode() ([]byte, error)
}

// The reasons why a scan skips a process.
const (
	SkipEnded    = "ended"            // it ended, or became another program, during the scan
	SkipZombie   = "zombie"           // it has ended, and its parent has not waited for it
	SkipDenied   = finding.LeftDenied // the agent lacks the rights, so it may be Go or not
	SkipMuch     = "too-much"         // it has more mapped than is looked at, or others took the scan's budget
	SkipStarting = "starting"         // it has not run its own program yet, and looks like its parent
	SkipError    = "error"            // any other error
	SkipMemory   = "memory"           // the agent has no memory for more
)

// Reasons lists all reasons, so that each is a series from the first scan on.
var Reasons = [...]string{SkipDenied, SkipEnded, SkipError, SkipMemory, SkipStarting, SkipMuch, SkipZombie}

// staleAfter is the age of the last scan, in intervals, from which the agent is unhealthy.
const staleAfter = 3

// Healthy returns nil if there is a recent scan, or else why not. interval is the time from scan to scan.
func (s *Snapshot) Healthy(interval time.Duration) error {
	switch age := time.Since(s.Ended); {
	case s.Node == nil && s.Failed == "":
		return errors.New("no scan yet")
	case s.Node == nil:
		return errors.New(s.Failed)
	case age > staleAfter*interval:
		return errors.New("the last scan ended " + age.Truncate(time.Second).String() + " ago")
	}
	return nil
}

// maxText bounds a text that is kept, in bytes.
const maxText = 200

// Short bounds a text.
func Short(s string) string {
	if len(s) > maxText {
		s = s[:maxText] + "..."
	}
	return strings.Clone(finding.UTF8(s)) // and keeps nothing else alive
}
