// SPDX-License-Identifier: Apache-2.0

package goenvchild

import (
	"os"
	"os/exec"
)

// A child inherits it.
func start() error {
	os.Setenv("GOMAXPROCS", "2")
	return exec.Command("true").Run()
}
