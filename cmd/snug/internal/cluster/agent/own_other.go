// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package agent

import (
	"os"
	"time"
)

func cpuTime() time.Duration { return 0 }

func threadTime(f func()) time.Duration {
	f()
	return 0
}

func openProc(name string) (*os.File, error) { return os.Open(name) }

func openBelow(*os.File, string) (f *os.File, err error, ok bool) { return nil, nil, false }

func ownBytes() int64 { return 0 }

func maxFiles() int { return 0 }
