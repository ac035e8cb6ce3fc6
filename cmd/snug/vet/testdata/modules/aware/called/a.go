// SPDX-License-Identifier: Apache-2.0

package called

import "go.uber.org/automaxprocs/maxprocs" // want `automaxprocs-pins`

func start() { maxprocs.Set() }
