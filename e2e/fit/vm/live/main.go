// SPDX-License-Identifier: Apache-2.0

// Live keeps a live heap of as many MiB as its first argument says, and allocates garbage of ten
// times its size. Without a GOMEMLIMIT the heap grows to twice the live heap. The tag auto links snug/auto.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
)

func main() {
	mib, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(2)
	}
	const block = 1 << 20
	all := make([][]byte, mib)
	touch := func() []byte {
		b := make([]byte, block)
		for i := 0; i < block; i += 4096 {
			b[i] = 1
		}
		return b
	}
	for i := range all {
		all[i] = touch()
	}
	for range 10 * mib {
		runtime.KeepAlive(touch())
	}
	runtime.KeepAlive(all)
	fmt.Println(debug.SetMemoryLimit(-1))
}
