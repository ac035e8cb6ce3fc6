// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"io"
	"testing"
)

// counted counts the bytes that are read.
type counted struct{ n int64 }

func (c *counted) ReadAt(p []byte, _ int64) (int, error) {
	clear(p)
	c.n += int64(len(p))
	return len(p), nil
}

// TestNamedBudget: functions whose records are far from each other are not read without end.
func TestNamedBudget(t *testing.T) {
	const functions, far, base = 4000, 1 << 20, 1 << 40
	entries := make([]byte, 8*functions+8)
	for i := range functions {
		le.PutUint32(entries[8*i+4:], uint32(8*functions+8+i%2*far))
	}
	size := uint64(len(entries)) + 2*far
	c := &counted{}
	r := readers{bytes.NewReader(entries), c}
	tab := &pclntab{pager: pager{img: &image{r: r, segs: []segment{{addr: base, filesz: size, memsz: size}}}}, funcs: base, limit: base + size, nfunc: functions}
	visited := 0
	tab.named(map[uint32]string{0: "zero"}, func(string, fn) { visited++ })
	if most := 2*int64(size) + 1<<20 + 1<<19; c.n > most || c.n < most/2 || visited < 10 {
		t.Errorf("%d functions of %d, %d bytes of at most %d", visited, functions, c.n, most)
	}
}

// readers reads from the first as far as it goes, and then from the second.
type readers [2]io.ReaderAt

func (r readers) ReadAt(p []byte, off int64) (int, error) {
	if n, _ := r[0].ReadAt(p, off); n > 0 {
		clear(p[n:])
		return len(p), nil
	}
	return r[1].ReadAt(p, off)
}
