// SPDX-License-Identifier: Apache-2.0

package both

import (
	_ "github.com/KimMachineGun/automemlimit" // want `automemlimit-once`
	_ "github.com/snug-go/snug/auto"
)
