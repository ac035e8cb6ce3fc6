// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package limits

import "github.com/snug-go/snug/internal/cgroup"

// machine needs Linux.
type machine struct {
	opener
	kept []struct{}
}

func (*machine) keep()    {}
func (*machine) guard()   {}
func (*machine) drop(int) {}

const absent, refused, groups, all = 0, 1, 2, 3

func thisMachine() (*machine, error) { return nil, ErrNotSupported }

func addThread(*cgroup.CPUs, int) int { return 0 }

// Sealed is false on this system.
func Sealed() bool { return false }

// Uncounted is false on this system.
func Uncounted() bool { return false }

func gone(err error) bool { return false }

// Anonymous needs Linux.
func (f *Follower) Anonymous(least int64) int64 { return 0 }
