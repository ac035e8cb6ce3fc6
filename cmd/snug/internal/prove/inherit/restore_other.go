// SPDX-License-Identifier: Apache-2.0

//go:build !linux || !(amd64 || arm64)

package inherit

// Restore does nothing here: AtStart returns no signals.
func (Signals) Restore() {}
