// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"log/slog"
	"os"
	"os/signal"

	"github.com/snug-go/snug"
)

// Fit the process once. The hint is what the deployment knows and the process cannot see.
func ExampleFit() {
	p, err := snug.Fit(snug.Options{MemoryLimit: 512 << 20, DryRun: true})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Undo()
	fmt.Println(p.GOMEMLIMIT.Value>>20, "MiB:", p.GOMEMLIMIT.Text())
	// Output: 460 MiB: a hint says the memory limit is 512 MiB, less 51.2 MiB headroom
}

// Invalid options are an error, and nothing is set.
func ExampleFit_error() {
	_, err := snug.Fit(snug.Options{MinProcs: 4, MaxProcs: 2})
	fmt.Println(err)
	// Output: snug: Options.MaxProcs is 2, want 0, or MinProcs (4) to 8192
}

// Follow the container's limits until the process is asked to stop, and log every plan.
func ExampleWatch() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	w, err := snug.Watch(ctx, snug.WatchOptions{
		Options: snug.Options{ReserveCPUs: 0.5}, // for a sidecar
		OnPlan: func(p snug.Plan) {
			log.Print("GOMAXPROCS ", p.GOMAXPROCS.Action, ": ", p.GOMAXPROCS.Text())
			log.Print("GOMEMLIMIT ", p.GOMEMLIMIT.Action, ": ", p.GOMEMLIMIT.Text())
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Undo()
	<-ctx.Done() // serve
}

// Log what snug decides, at the start and whenever a knob changes, by the program's own logger.
func ExampleOptions_log() {
	_, err := snug.Watch(context.Background(), snug.WatchOptions{
		Options: snug.Options{Log: slog.Default().With("part", "sizing")},
	})
	if err != nil {
		log.Fatal(err)
	}
	// INFO snug: decision part=sizing knob=GOMAXPROCS value=2 did=set reason=quota-ceil file=/sys/fs/cgroup/cpu.max raw="150000 100000"
	// INFO snug: decision part=sizing knob=GOMEMLIMIT did=left reason=no-limit
}

// A program that imports package auto calls Current to see the decisions. Current may return
// nil, and its methods work on nil.
func ExampleCurrent() {
	w := snug.Current()
	p := w.Plan()
	log.Print("GOMAXPROCS: ", p.GOMAXPROCS.Text(), "; GOMEMLIMIT: ", p.GOMEMLIMIT.Text())
	if err := json.NewEncoder(os.Stderr).Encode(w.Stats()); err != nil {
		log.Print(err)
	}
}
