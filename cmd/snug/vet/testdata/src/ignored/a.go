// SPDX-License-Identifier: Apache-2.0

package ignored

import "runtime"

func main() {
	//snug:ignore gomaxprocs-constant four threads are what the library bears
	runtime.GOMAXPROCS(4)
	runtime.GOMAXPROCS(2) //snug:ignore gomaxprocs-constant it is measured
	//snug:ignore gomaxprocs-numcpu another finding
	runtime.GOMAXPROCS(3) // want `gomaxprocs-constant`
	//snug:ignored is another word
}
