// SPDX-License-Identifier: Apache-2.0

//go:build !linux && !darwin

package experiment

import "os"

// lock does nothing here: experiments run on Linux.
func lock(*os.File) error { return nil }
