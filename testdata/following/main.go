// SPDX-License-Identifier: Apache-2.0

// Following prints whether importing auto has started a goroutine that follows limits.
package main

import (
	"os"
	"runtime"
	"strings"

	_ "github.com/snug-go/snug/auto"
)

func main() {
	buf := make([]byte, 1<<16)
	if strings.Contains(string(buf[:runtime.Stack(buf, true)]), "snug/internal/follow.") {
		os.Stdout.WriteString("follows\n")
	}
}
