// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package bounded

import "os"

const nonblock = 0

// firstOfPipe refuses: named pipes are not files on this system.
func firstOfPipe(*os.File) ([]byte, error) { return nil, errNoWriter }
