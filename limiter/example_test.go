// SPDX-License-Identifier: Apache-2.0

package limiter_test

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/limiter"
)

// At most two of ten goroutines work at once.
func ExampleNew() {
	work := limiter.New(2)
	var mu sync.Mutex
	most, done := 0, 0
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		err := work.Go(context.Background(), func() {
			defer all.Done()
			mu.Lock()
			defer mu.Unlock()
			most, done = max(most, work.InUse()), done+1
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	all.Wait()
	fmt.Println(done, "done, more than two at a time:", most > 2)
	// Output: 10 done, more than two at a time: false
}

// Run as many tasks at once as there are Ps, even after the container is resized.
func ExampleNewProcs() {
	work := limiter.NewProcs(1)
	w, err := snug.Watch(context.Background(), snug.WatchOptions{OnPlan: func(snug.Plan) { work.Refresh() }})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Undo()

	hash := func(ctx context.Context) error {
		if err := work.Acquire(ctx); err != nil {
			return err
		}
		defer work.Release()
		// Compute.
		return nil
	}
	if err := hash(context.Background()); err != nil {
		log.Print(err)
	}
}
