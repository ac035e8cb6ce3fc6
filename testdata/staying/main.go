// SPDX-License-Identifier: Apache-2.0

// Staying imports auto and runs until its Watcher has polled.
package main

import (
	"time"

	"github.com/snug-go/snug"
	_ "github.com/snug-go/snug/auto"
)

func main() {
	for end := time.Now().Add(time.Minute); snug.Current().Stats().Polls < 2 && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
}
