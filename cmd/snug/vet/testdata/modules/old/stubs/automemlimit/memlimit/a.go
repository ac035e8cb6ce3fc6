// SPDX-License-Identifier: Apache-2.0

package memlimit

func Set(options ...int) (int64, error) { return 0, nil }

func WithRefreshInterval() int { return 0 }
