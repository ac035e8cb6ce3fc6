// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"crypto/tls"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/agent/snapshot"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/guard"
)

// Options configure a server.
type Options struct {
	// Last returns what the last scan left.
	Last func() snapshot.Snapshot
	// Interval is the time from the beginning of one scan to that of the next.
	Interval time.Duration
	// Outside means that scans read no process's memory.
	Outside bool
	// Conventional adds metrics by the names of OpenTelemetry's semantic conventions.
	Conventional bool
	// Certificate is that of the address; nil = no TLS.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Guard decides who may read the address; nil = everybody.
	Guard *guard.Guard
}
