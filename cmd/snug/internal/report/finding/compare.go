// SPDX-License-Identifier: Apache-2.0

package finding

import "cmp"

// CompareKnown orders figures of documents: nil, which is none or unknown, below all.
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
