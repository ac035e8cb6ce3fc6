// SPDX-License-Identifier: Apache-2.0

package gomaxprocsok

import "runtime"

func init() { runtime.GOMAXPROCS(runtime.NumCPU()) }
