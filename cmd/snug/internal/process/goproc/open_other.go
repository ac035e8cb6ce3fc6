// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package goproc

import "os"

func open(path string) (*os.File, error) { return os.Open(path) }
