// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"os"
	"unsafe"
)

// addressSpace returns the size of this program's address space in bytes if it is a 32-bit program,
// else 0. A 64-bit kernel leaves it 4 GiB; a 32-bit one 3, or 2 on MIPS. The arguments are at its end
// (kernel source: fs/exec.c).
func addressSpace() int64 {
	const gib = 1 << 30
	if unsafe.Sizeof(uintptr(0)) == 8 {
		return 0
	}
	if len(os.Args) == 0 || os.Args[0] == "" {
		return 2 * gib
	}
	return int64(uint64(uintptr(unsafe.Pointer(unsafe.StringData(os.Args[0]))))/gib+1) * gib
}
