// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

const fifo = "SCHED_FIFO"

// policy returns "": only Linux has scheduling policies.
func policy() string { return "" }

func becomeRealTime([]string) error {
	return &Error{What: "cannot become real-time: that needs Linux"}
}
