// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

const fifo = "SCHED_FIFO"

// policy returns "": scheduling policies are Linux's.
func policy() string { return "" }

func becomeRealTime([]string) error {
	return &Error{What: "cannot become real-time: that needs Linux"}
}
