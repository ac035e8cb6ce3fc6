// SPDX-License-Identifier: Apache-2.0

//go:build !go1.25

package fit

// goMinor is the newest Go release whose runtime ignores cgroups.
const goMinor = 24
