// SPDX-License-Identifier: Apache-2.0

//go:build ignore

// Churn keeps a live heap of linked nodes and allocates at a steady rate:
//
//	churn LIVE_MIB MIB_PER_SECOND
package main

import (
	"os"
	"strconv"
	"time"
)

type node struct {
	next *node
	data [6]uint64
}

const nodeBytes = 64

var keep []*node
var sink *node

func main() {
	live, _ := strconv.Atoi(os.Args[1])
	rate, _ := strconv.Atoi(os.Args[2])
	const chain = 1024
	for range live << 20 / nodeBytes / chain {
		keep = append(keep, made(chain))
	}
	const tick = 10 * time.Millisecond
	each := rate << 20 / nodeBytes / 100
	start, made, i := time.Now(), 0, 0
	for range time.Tick(tick) {
		for want := int(time.Since(start)/tick) * each; made < want; made++ {
			sink = &node{}
			if made%64 == 0 { // some of it lives on in place of old nodes
				i = (i + 7919) % len(keep)
				keep[i].next = &node{next: keep[i].next.next}
			}
		}
	}
}

func made(n int) (first *node) {
	for range n {
		first = &node{next: first}
	}
	return first
}
