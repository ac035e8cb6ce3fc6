// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64) || !startsignals

package inherit

// AtStart returns no signals in this build. Go itself keeps ignored HUP and INT, and
// blocked signals that would not end a process.
func AtStart() (s Signals) { return s }
