// SPDX-License-Identifier: Apache-2.0

// Adapting imports auto and adapt/auto, and prints whether only the goroutine of adapt/auto
// is left and has polled.
package main

import (
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/snug-go/snug/adapt"
	_ "github.com/snug-go/snug/adapt/auto"
	_ "github.com/snug-go/snug/auto"
)

func main() {
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		buf := make([]byte, 1<<16)
		stacks := string(buf[:runtime.Stack(buf, true)])
		if strings.Count(stacks, "snug/internal/follow.(*Loop).run(") == 1 && adapt.Current().Stats().Polls > 0 {
			os.Stdout.WriteString("adapts\n")
			return
		}
	}
	os.Stdout.WriteString("does not adapt\n")
}
