// SPDX-License-Identifier: Apache-2.0

package units

import (
	"strconv"

	"github.com/snug-go/snug/internal/plan"
)

const mib = 1 << 20

// GoBytes formats a size in the shortest form that GOMEMLIMIT allows: 124MiB, 1000B.
func GoBytes(n int64) string {
	if n%mib == 0 {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10) + "B"
}

// GoMebibytes formats a size for GOMEMLIMIT: from 16 MiB on rounded down to whole MiB,
// where 1 MiB does not matter, and below that in bytes.
func GoMebibytes(n int64) string {
	if n >= 16*mib {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10)
}

// ParseGoBytes parses a size in the syntax of GOMEMLIMIT: digits, then B, KiB, MiB, GiB,
// TiB or nothing.
func ParseGoBytes(text string) (int64, bool) { return plan.ParseGoBytes(text) }
