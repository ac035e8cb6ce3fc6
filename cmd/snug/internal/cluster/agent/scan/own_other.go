// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package scan

import "time"

func cpuTime() time.Duration { return 0 }

func ownBytes() int64 { return 0 }

func maxFiles() int { return 0 }
