// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// FuzzMemory: whatever words a process writes over the runtime's own, its heap and its goroutines are read within bounds, or
// not at all.
func FuzzMemory(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("\x01\x00\xff\xff\xff\xff\xff\xff\xff\x7f\x05\x08\x00\x10\x00\x00\x00\x00\x00\x00"))
	r := simulated(f, 32)
	at := r.at
	f.Fuzz(func(t *testing.T, changes []byte) {
		const g, list = simG + 0x1000, 0x9000
		m := memoryOf(r.file, 32)
		all := &moving{parts: map[uint64][]byte{simBuckets: make([]byte, 64), list: make([]byte, 16), simStack: make([]byte, 48), g: make([]byte, 128)}}
		for _, w := range [][2]uint64{{simBuckets, list}, {simBuckets + 8, 1}, {list, g}, {g, simStack}, {g + 8, simStack + 48}, {g + 16, simStack}, {g + 24, r.file.TextStart + 64}, {g + 80, statusWaiting}} {
			all.set(w[0], w[1])
		}
		for ; len(changes) >= 10; changes = changes[10:] {
			part, word, value := changes[0], uint64(changes[1]), le.Uint64(changes[2:])
			m.set([]uint64{simBuckets, simBucket(0), simBucket(1), simBucket(2), simBucket(3)}[part%5]+8*(word%16), value)
			all.set([]uint64{simBuckets, list, simStack, g}[part%4]+8*(word%16), value)
		}
		r.mem, r.at = m, at
		if h, err := r.Heap(); err == nil && len(h.Sites) > simCount {
			t.Errorf("%d sites", len(h.Sites))
		}
		r.mem, r.at = all, gobin.Records{AllGs: gobin.Var{Addr: simBuckets}, Offsets: simOffsets}
		if got, err := r.Goroutines(); err == nil && got.Total+got.Runtime+got.Unread > maxGoroutines {
			t.Errorf("%+v", got)
		}
	})
}
