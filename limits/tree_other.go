// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package limits

func thisMachine() (tree, error) { return nil, ErrNotSupported }

func affinity() Value[int] { return Value[int]{} }

func gone(err error) bool { return false }
