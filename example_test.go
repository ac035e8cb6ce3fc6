// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"fmt"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/limits"
)

// Fit at a moment of the program's own choosing. The hint stands for what a
// deployment knows and the process cannot see.
func ExampleFit() {
	p, undo := snug.Fit(snug.Options{MemoryLimit: 512 << 20, DryRun: true})
	defer undo()
	fmt.Println(p.GOMEMLIMIT.Value>>20, "MiB:", p.GOMEMLIMIT.Text())
	// Output: 460 MiB: the operator says the memory limit is 512 MiB, less 51.2 MiB headroom
}

// A cache that takes a quarter of the container's memory, or a fixed size where
// there is no limit.
func Example_cache() {
	size := int64(64 << 20)
	l, err := limits.Read(nil, 0)
	if err == nil {
		if bytes, ok := l.Memory.Hard.Get(); ok {
			size = bytes / 4
		}
	}
	fmt.Println(size > 0)
	// Output: true
}
