// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package scan

func ownBytes() int64 { return 0 }

func maxFiles() int { return 0 }
