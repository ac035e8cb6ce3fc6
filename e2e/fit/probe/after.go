// SPDX-License-Identifier: Apache-2.0

//go:build after

package main

// snug runs after the peers.
import (
	_ "github.com/KimMachineGun/automemlimit"
	"github.com/snug-go/snug"
	_ "go.uber.org/automaxprocs"
)

func init() { snug.Fit(snug.Options{}) }
