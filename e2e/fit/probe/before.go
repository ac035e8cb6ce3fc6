// SPDX-License-Identifier: Apache-2.0

//go:build before

package main

// Snug comes before the peers: this package's init runs after those of all
// that it imports.
import (
	"github.com/KimMachineGun/automemlimit/memlimit"
	_ "github.com/snug-go/snug/auto"
	"go.uber.org/automaxprocs/maxprocs"
)

func init() {
	memlimit.Set()
	maxprocs.Set()
}
