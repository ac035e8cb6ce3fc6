// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package limits

// machine needs Linux.
type machine struct{ opener }

func thisMachine() (*machine, error) { return nil, ErrNotSupported }

func affinity(pid int) Value[int] { return Value[int]{} }

func gone(err error) bool { return false }
