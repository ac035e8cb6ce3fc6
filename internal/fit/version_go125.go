// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package fit

// goMinor is the Go release as far as it matters to decisions: 0 is recent.
const goMinor = 0
