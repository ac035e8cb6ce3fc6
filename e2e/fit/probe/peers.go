// SPDX-License-Identifier: Apache-2.0

//go:build peers

package main

// The blank imports of users. The linker derives the order of their init and that of snug/auto from
// their imports.
import (
	_ "github.com/KimMachineGun/automemlimit"
	_ "go.uber.org/automaxprocs"
)
