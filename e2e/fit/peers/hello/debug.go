// SPDX-License-Identifier: Apache-2.0

//go:build debug

package main

// The cost of any package that sets GOMEMLIMIT: runtime/debug imports os and fmt.
import _ "runtime/debug"
