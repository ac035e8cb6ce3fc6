// SPDX-License-Identifier: Apache-2.0

package ballast

import "runtime"

var kept = make([]byte, 1<<30) // want `a ballast of 1024 MiB.*\(ballast\)`

var used = make([]byte, 1<<30)

var Exported = make([]byte, 1<<30)

var small = make([]byte, 1<<20)

var _ = used[0]

func local() {
	b := make([]byte, 100<<20) // want `a ballast of 100 MiB`
	_ = b
	runtime.KeepAlive(b)
	runtime.KeepAlive(make([]byte, 64<<20)) // want `ballast`
}

var assigned []byte

func init() {
	assigned = make([]byte, 0, 1<<30) // want `ballast`
}

func buffer(read func([]byte)) {
	b := make([]byte, 100<<20)
	read(b)
	c := make([]byte, 100<<20)
	_ = c
}
