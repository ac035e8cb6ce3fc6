// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package agent

import "time"

func cpuTime() time.Duration { return 0 }

func maxOpenProcesses() int { return 0 }
