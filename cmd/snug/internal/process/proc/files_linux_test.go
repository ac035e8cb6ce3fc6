// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestFiles: pages of a file that is only data are no code, and what is not readable falls back to the executable's size.
func TestFiles(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	before, code, err := p.Files()
	if err != nil || code <= 0 || code > before {
		t.Fatalf("%d bytes of files, %d of code", before, code)
	}
	const size = 64 << 20
	f, err := os.Create(filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	data, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(data)
	sum := byte(0)
	for i := 0; i < size; i += 4096 {
		sum += data[i]
	}
	after, now, err := p.Files()
	if err != nil || after < before+size/2 || now > before+size/4 || sum != 0 {
		t.Errorf("%d bytes of files, before %d; code %d, before %d", after, before, now, code)
	}
	for what, spans := range map[string][][2]uint64{"one": {{0, 68 << 40}}, "many": {{0, maxCode / 2}, {maxCode, 2 * maxCode}}} {
		if n, err := p.present(spans); !errors.Is(err, ErrTooMuch) || n != 0 {
			t.Errorf("%s: %d, %v", what, n, err)
		}
	}
	// A look of its own that ends early says what it can. What others have used up says nothing.
	for what, c := range map[string]struct {
		own, sum Amount
		known    bool
	}{
		"its own":      {Amount{Bytes: 4 << 10, Calls: 1 << 20, Time: time.Hour}, OneLook, true},
		"a sum":        {OneLook, Amount{Bytes: 4 << 10, Calls: 1 << 20, Time: time.Hour}, false},
		"a spent sum":  {OneLook, Amount{Time: time.Hour}, false},
		"both at last": {OneLook, OneLook, true},
	} {
		p.Allow(NewBudget(t.Context(), c.own, NewBudget(t.Context(), c.sum, nil)))
		if files, code, err := p.Files(); (err == nil) != c.known || (files > 0) != c.known || (code > 0) != c.known {
			t.Errorf("%s: %d bytes of files, %d of code, %v", what, files, code, err)
		}
	}
	p.Allow(NewBudget(t.Context(), Amount{Bytes: 1 << 20, Calls: 3, Time: time.Hour}, nil))
	if n, err := p.present([][2]uint64{{0, maxCode}}); !errors.Is(err, ErrTooMuch) {
		t.Errorf("more than the budget: %d, %v", n, err)
	}
}
