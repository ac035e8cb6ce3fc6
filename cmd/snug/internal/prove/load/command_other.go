// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

import "os/exec"

func apart(*exec.Cmd) {}

// runCommand fails: without cgroups there is no program to load with a command.
func runCommand([]string) (Ended, error) {
	return Ended{}, &Error{What: "a load command needs Linux", Cure: "run snug in a container or a virtual machine"}
}
