// SPDX-License-Identifier: Apache-2.0

//go:build before

package main

// snug runs before the peers: the init of this package runs after those of all its imports.
import (
	"github.com/KimMachineGun/automemlimit/memlimit"
	_ "github.com/snug-go/snug/auto"
	"go.uber.org/automaxprocs/maxprocs"
)

func init() {
	memlimit.Set()
	maxprocs.Set()
}
