// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// FuzzPagemap: no more is present than is mapped.
func FuzzPagemap(f *testing.F) {
	f.Add(binary.LittleEndian.AppendUint64(make([]byte, 64), 1<<63|1<<61), uint64(0), uint64(1<<16))
	f.Add([]byte{1}, uint64(1<<12), uint64(1<<63))
	f.Fuzz(func(t *testing.T, text []byte, from, to uint64) {
		if from > to {
			return
		}
		if n, err := presentIn(bytes.NewReader(text), [][2]uint64{{from, to}, {0, 1 << 14}}); n < 0 || uint64(n) > to-from+1<<14 {
			t.Errorf("%d bytes of %#x-%#x are present, %v", n, from, to, err)
		}
	})
}
