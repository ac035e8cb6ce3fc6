// SPDX-License-Identifier: Apache-2.0

package calledmem

import "github.com/KimMachineGun/automemlimit/memlimit" // want `automemlimit-once`

func start() { memlimit.Set() }
