// SPDX-License-Identifier: Apache-2.0

// Pool is a program whose pools follow the container: one of a library that does not know snug, and
// snug's own limiter. It prints a line whenever a number changes, and ends when its standard input
// does.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/panjf2000/ants/v2"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/limiter"
)

func main() {
	workers, err := ants.NewPool(4 * runtime.GOMAXPROCS(0))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer workers.Release()
	work := limiter.NewProcs(2)

	var mu sync.Mutex
	last := ""
	_, err = snug.Watch(context.Background(), snug.WatchOptions{OnPlan: func(snug.Plan) {
		// The plan holds the decision; a pool needs the value in effect.
		procs := runtime.GOMAXPROCS(0)
		workers.Tune(4 * procs)
		work.Refresh()
		line := fmt.Sprintf("procs=%d memory=%d workers=%d limiter=%d", procs, debug.SetMemoryLimit(-1), workers.Cap(), work.Size())
		mu.Lock()
		defer mu.Unlock()
		if line != last {
			fmt.Println(line)
		}
		last = line
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	spin := make(chan struct{})
	go func() { // an idle process is polled less often
		for {
			select {
			case <-spin:
				return
			default:
				runtime.Gosched()
			}
		}
	}()
	io.Copy(io.Discard, os.Stdin)
	close(spin)
}
