// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package fit

import "os"

func Emit(text string) { os.Stderr.WriteString(text) }
