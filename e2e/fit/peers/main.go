// SPDX-License-Identifier: Apache-2.0

// Peers compares snug with uber-go/automaxprocs, KimMachineGun/automemlimit and the Go runtime:
// their cost at start and in a binary, and what each reads in the saved situations. Run it in the
// e2e module:
//
//	go run ./fit/peers size
//	go run ./fit/peers start [-rounds N] [-setting plain|limits|mounts]
//	CGO_ENABLED=0 go build -o peers.bin ./fit/peers && ./peers.bin situations -dir ../testdata/situations
//
//	go run ./fit/peers poll [-levels N]
//	go run ./fit/peers summary start.csv...; go run ./fit/peers table situations.csv
//
// Each prints comma-separated raw data on standard output. start -setting limits and poll -levels
// need root and cgroup v1; start -setting mounts and situations need root. The poll is also a
// benchmark, which tests run on cgroup v2 in a virtual machine: SNUG_E2E=machines go test -run
// TestPoll ./fit/vm.
package main

import (
	"fmt"
	"os"
)

func main() {
	commands := map[string]func([]string) error{
		"size": size, "start": start, "poll": poll, "summary": summary, "table": table, "situations": situations, "probe": probe, "mounted": mounted,
	}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "peers: error: name one of size, start, poll, situations, summary, table")
		os.Exit(2)
	}
	if err := commands[os.Args[1]](os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "peers: error:", err)
		os.Exit(1)
	}
}
