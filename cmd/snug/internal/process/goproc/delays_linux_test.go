// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"os/exec"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// sums adds up what a program reports of a histogram by our buckets.
func sums(want map[int64]uint64) (counts [buckets + 1]uint64, below uint64) {
	for ns, n := range want {
		if ns < 0 {
			below += n
		} else {
			counts[bucketOf(time.Duration(ns))] += n
		}
	}
	return counts, below
}

// sameDurations compares a histogram with what the program reports.
func sameDurations(t *testing.T, name string, got figure.Of[Durations], want map[int64]uint64) {
	t.Helper()
	counts, below := sums(want)
	if !got.Known() || got.N.below != below || got.N.above != counts[buckets] {
		t.Errorf("%s %+v, want %v", name, got, want)
	}
	for i := range buckets {
		if got.N.at(i) != counts[i] {
			t.Errorf("%s: %d from %v on, want %d", name, got.N.at(i), lower(i), counts[i])
		}
	}
}

// TestDelays compares the histograms of a program with its own runtime/metrics.
func TestDelays(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) { checkDelays(t, buildTarget(t, how{goLine: "1.26", flags: b.flags})) })
	}
}

// checkDelays reads before and after the program reads them itself, which needs goroutines too.
func checkDelays(t *testing.T, file string) {
	t.Helper()
	target := startTarget(t, exec.Command(file), "GOMAXPROCS=3")
	pid, c := target.cmd.Process.Pid, NewCache("")
	for _, command := range []string{"end", "wait", "yield", "gc"} {
		target.ask(command)
	}
	before := look(t, pid, c)
	want := target.ask("truth")
	after := look(t, pid, c)
	if !before.SchedLatency.Known() || !after.SchedLatency.Known() {
		t.Fatalf("%+v, %+v", before.SchedLatency, after.SchedLatency)
	}
	counts, _ := sums(want.Latency)
	total := uint64(0)
	for i, n := range counts[:buckets] {
		total += n
		if low, high := before.SchedLatency.N.at(i), after.SchedLatency.N.at(i); n < low || n > high {
			t.Errorf("%d latencies from %v on, want %d to %d", n, lower(i), low, high)
		}
	}
	if d, ok := after.SchedLatency.N.Since(&before.SchedLatency.N); !ok || total < 1000 || d.Count() > total/10 {
		t.Errorf("%d latencies in between, %v, of %d", d.Count(), ok, total)
	}
	sameDurations(t, "stops for collections", after.GCStops, want.Stops)
	if n := after.GCStops.N.Count(); n < 6 {
		t.Errorf("%d stops", n)
	}
	if want.Goroutines < 51 {
		t.Errorf("%d goroutines", want.Goroutines)
	}
	equal(t, "goroutines", after.Goroutines, want.Goroutines)
}
