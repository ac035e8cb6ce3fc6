// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package load

const realTimePolicy = "SCHED_RR"

// policy returns "": only Linux has scheduling policies.
func policy() string { return "" }

func becomeRealTime([]string) error {
	return &Error{What: "cannot become real-time: that needs Linux"}
}
