// SPDX-License-Identifier: Apache-2.0

//go:build !unix

package bounded

import "os"

const nonblock = 0

// firstOfPipe refuses: pipes of the file system are not plain files here.
func firstOfPipe(*os.File) ([]byte, error) { return nil, errNoWriter }
