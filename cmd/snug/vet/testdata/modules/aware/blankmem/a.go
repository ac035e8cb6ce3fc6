// SPDX-License-Identifier: Apache-2.0

package blankmem

import (
	"fmt"

	_ "github.com/KimMachineGun/automemlimit" // want `reads the memory limit once.*\(automemlimit-once\)`
)

func says() { fmt.Println() }
