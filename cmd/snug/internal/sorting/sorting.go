// SPDX-License-Identifier: Apache-2.0

// Package sorting sorts slices of structs in little machine code.
package sorting

import "sort"

// Stable sorts s by compare, which is as that of [slices.SortStableFunc], and keeps equal elements in
// their order. That function costs the binary about 15 KB for each type of element; this one costs a
// fraction of it and takes several times as long, so it is for what people read, not for samples.
func Stable[S ~[]E, E any](s S, compare func(a, b E) int) {
	sort.SliceStable(s, func(i, j int) bool { return compare(s[i], s[j]) < 0 })
}
