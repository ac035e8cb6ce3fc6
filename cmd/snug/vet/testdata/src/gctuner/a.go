// SPDX-License-Identifier: Apache-2.0

package gctuner

import (
	"runtime"
	"runtime/debug"

	_ "github.com/bytedance/gopkg/util/gctuner" // want `sets GOGC from a finalizer.*\(finalizer-tuner\)`
)

type ref struct{ tune func() }

func again(r *ref) {
	defer runtime.SetFinalizer(r, again)
	r.tune()
}

func start() {
	r := &ref{func() { debug.SetGCPercent(300) }}
	runtime.SetFinalizer(r, again) // want `finalizer-tuner`
}
