// SPDX-License-Identifier: Apache-2.0

//go:build debug

package main

// What anything pays that sets GOMEMLIMIT: runtime/debug brings os and fmt.
import _ "runtime/debug"
