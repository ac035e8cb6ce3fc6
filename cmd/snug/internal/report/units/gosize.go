// SPDX-License-Identifier: Apache-2.0

package units

import (
	"strconv"

	"github.com/snug-go/snug/internal/plan"
)

const mib = 1 << 20

// GoBytes is a size in the shortest form that Go reads in GOMEMLIMIT: 124MiB, 1000B.
func GoBytes(n int64) string {
	if n%mib == 0 {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10) + "B"
}

// GoMebibytes is a size as GOMEMLIMIT has it, rounded down to whole MiB from 16 of
// them on, where one more or less does not count, and in bytes below.
func GoMebibytes(n int64) string {
	if n >= 16*mib {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10)
}

// ParseGoBytes reads a size as Go reads GOMEMLIMIT: digits and B, KiB, MiB, GiB, TiB or
// nothing.
func ParseGoBytes(text string) (int64, bool) { return plan.ParseGoBytes(text) }
