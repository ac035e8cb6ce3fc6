// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// TestGathered: foreseen reads are served once, in their order and as far as they were read; all
// others are made.
func TestGathered(t *testing.T) {
	before := []proc.Range{{Addr: 1, Size: 1}, {Addr: 2, Size: 2}, {Addr: 2, Size: 2}, {Addr: 9, Size: 1}, {Addr: 3, Size: 1}}
	g := &gathered{mem: bytes.NewReader([]byte("0123456789")), ahead: before, data: []byte("abcdef")}
	for _, one := range []struct {
		addr int64
		size int
		want string
	}{{2, 2, "bc"}, {2, 2, "de"}, {2, 2, "23"}, {1, 1, "1"}, {9, 1, "f"}, {3, 1, "3"}, {5, 0, ""}} {
		b := make([]byte, one.size)
		if n, err := g.ReadAt(b, one.addr); n != one.size || err != nil || string(b) != one.want {
			t.Errorf("at %d: %q, %v, want %q", one.addr, b, err, one.want)
		}
	}
	if _, err := g.ReadAt(make([]byte, 1), 99); err == nil {
		t.Error("no error")
	}
	want := []proc.Range{{Addr: 2, Size: 2}, {Addr: 2, Size: 2}, {Addr: 2, Size: 2}, {Addr: 1, Size: 1}, {Addr: 9, Size: 1}, {Addr: 3, Size: 1}, {Addr: 99, Size: 1}}
	if got := g.keep(before); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if same := g.keep(want); &same[0] != &want[0] {
		t.Error("the same reads are kept twice")
	}
	none := &gathered{mem: failing{}}
	if _, err := none.ReadAt(make([]byte, 1), 1); !errors.Is(err, errFailing) {
		t.Error(err)
	}
}

var errFailing = errors.New("it fails")

type failing struct{}

func (failing) ReadAt([]byte, int64) (int, error) { return 0, errFailing }
