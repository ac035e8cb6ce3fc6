// SPDX-License-Identifier: Apache-2.0

// Package limiterbench compares limiter.Limiter with golang.org/x/sync/semaphore, which most
// programs use, and with a buffered channel. It contains only benchmarks; the published run is in
// experiments/.
package limiterbench

import (
	"context"
	"runtime"
	"testing"

	"golang.org/x/sync/semaphore"

	"github.com/snug-go/snug/limiter"
)

// gate is a compared limiter: acquire takes a permit or fails with ctx, release returns it.
type gate interface {
	acquire(context.Context) error
	release()
}

type snugGate struct{ *limiter.Limiter }

func (g snugGate) acquire(ctx context.Context) error { return g.Acquire(ctx) }
func (g snugGate) release()                          { g.Release() }

type syncGate struct{ *semaphore.Weighted }

func (g syncGate) acquire(ctx context.Context) error { return g.Acquire(ctx, 1) }
func (g syncGate) release()                          { g.Release(1) }

type chanGate chan struct{}

func (g chanGate) acquire(ctx context.Context) error {
	select {
	case g <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
func (g chanGate) release() { <-g }

var gates = []struct {
	name string
	make func(n int) gate
}{
	{"snug", func(n int) gate { return snugGate{limiter.New(n)} }},
	{"xsync", func(n int) gate { return syncGate{semaphore.NewWeighted(int64(n))} }},
	{"chan", func(n int) gate { return make(chanGate, n) }},
}

// each runs one benchmark for every gate, one after the other, so that rounds of single runs are
// interleaved.
func each(b *testing.B, size int, run func(b *testing.B, g gate)) {
	for _, g := range gates {
		b.Run("impl="+g.name, func(b *testing.B) {
			b.ReportAllocs()
			run(b, g.make(size))
		})
	}
}

// work computes 100 multiplications, each dependent on the one before.
func work(x uint64) uint64 {
	for range 100 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

var sink uint64

// BenchmarkAlone: one goroutine; a permit is always free.
func BenchmarkAlone(b *testing.B) {
	each(b, 1, func(b *testing.B, g gate) {
		ctx := context.Background()
		for b.Loop() {
			g.acquire(ctx)
			g.release()
		}
	})
}

// BenchmarkAloneCancellable: BenchmarkAlone with a cancellable ctx, like that of a request.
func BenchmarkAloneCancellable(b *testing.B) {
	each(b, 1, func(b *testing.B, g gate) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		for b.Loop() {
			g.acquire(ctx)
			g.release()
		}
	})
}

// parallel runs acquire, work, release in perP goroutines per P.
func parallel(b *testing.B, g gate, perP int) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b.SetParallelism(perP)
	b.RunParallel(func(pb *testing.PB) {
		x := uint64(1)
		for pb.Next() {
			if g.acquire(ctx) != nil {
				b.Error("no permit")
				return
			}
			x = work(x)
			g.release()
		}
		if x == 0 {
			sink = x
		}
	})
}

// BenchmarkRoom: many goroutines and a permit for each; none waits.
func BenchmarkRoom(b *testing.B) {
	each(b, 1<<16, func(b *testing.B, g gate) { parallel(b, g, 16) })
}

// BenchmarkFull: 16 goroutines per permit and one permit per P, the usual case for a limiter.
func BenchmarkFull(b *testing.B) {
	each(b, runtime.GOMAXPROCS(0), func(b *testing.B, g gate) { parallel(b, g, 16) })
}

// BenchmarkOne: 16 goroutines per P and one permit in all.
func BenchmarkOne(b *testing.B) {
	each(b, 1, func(b *testing.B, g gate) { parallel(b, g, 16) })
}

// BenchmarkGiveUp: a goroutine waits for the only permit, which is taken, and is cancelled. The
// cost includes the goroutine and its ctx.
func BenchmarkGiveUp(b *testing.B) {
	each(b, 1, func(b *testing.B, g gate) {
		g.acquire(context.Background())
		failed := make(chan error)
		for b.Loop() {
			ctx, cancel := context.WithCancel(context.Background())
			go func() { failed <- g.acquire(ctx) }()
			runtime.Gosched() // let it wait
			cancel()
			if <-failed == nil {
				b.Fatal("got a permit that was taken")
			}
		}
	})
}
