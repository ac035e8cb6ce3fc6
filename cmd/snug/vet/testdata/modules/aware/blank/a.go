// SPDX-License-Identifier: Apache-2.0

package blank

import (
	"fmt"

	_ "go.uber.org/automaxprocs" // want `reads the CPU quota once.*\(automaxprocs-pins\)`
)

func says() { fmt.Println() }
