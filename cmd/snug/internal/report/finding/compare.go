// SPDX-License-Identifier: Apache-2.0

package finding

import "cmp"

// CompareKnown compares figures of documents; nil (none or unknown) sorts first.
func CompareKnown[T cmp.Ordered](a, b *T) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	return cmp.Compare(*a, *b)
}
