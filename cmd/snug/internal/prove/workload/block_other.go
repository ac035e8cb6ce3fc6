// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package workload

import "time"

func block(time.Duration) error { return errNoBlocking }
