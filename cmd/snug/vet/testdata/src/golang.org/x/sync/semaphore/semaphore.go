// SPDX-License-Identifier: Apache-2.0

package semaphore

func NewWeighted(n int64) int { return 0 }
