// SPDX-License-Identifier: Apache-2.0

//go:build peers

package main

// The blank imports people write. The order in which the linker initialises
// them with snug/auto follows from what each of them imports.
import (
	_ "github.com/KimMachineGun/automemlimit"
	_ "go.uber.org/automaxprocs"
)
