// SPDX-License-Identifier: Apache-2.0

// Fitting fits itself by snug.Fit or snug.Watch, according to its argument, and runs until
// a Watcher has polled.
package main

import (
	"context"
	"os"
	"time"

	"github.com/snug-go/snug"
)

func main() {
	if os.Args[1] == "Fit" {
		for range 2 {
			if _, err := snug.Fit(snug.Options{}); err != nil {
				panic(err)
			}
		}
		return
	}
	w, err := snug.Watch(context.Background(), snug.WatchOptions{})
	if err != nil {
		panic(err)
	}
	for end := time.Now().Add(time.Minute); w.Stats().Polls < 2 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}
