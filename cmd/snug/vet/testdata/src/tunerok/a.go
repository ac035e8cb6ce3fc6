// SPDX-License-Identifier: Apache-2.0

package tunerok

import (
	"runtime"
	"runtime/debug"
)

type file struct{}

func (*file) close() {}

func open() *file {
	f := &file{}
	runtime.SetFinalizer(f, (*file).close)
	debug.SetGCPercent(200)
	return f
}
