// SPDX-License-Identifier: Apache-2.0

package follows

import "github.com/KimMachineGun/automemlimit/memlimit"

func start() { memlimit.Set(memlimit.WithRefreshInterval()) }
