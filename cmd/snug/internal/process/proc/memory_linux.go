// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// memory reads the address space that was the process's when it was opened.
// The kernel keeps it from being another program's after an exec: it reads as
// empty then.
type memory struct {
	fd    int
	entry uint64
	gone  error
}

// Memory is the process's memory, by address. The reader's errors are ErrGone,
// and ErrNone for addresses where nothing can be read. It may be used from
// several goroutines until the process is closed.
//
// Opening it needs the rights of PTRACE_MODE_ATTACH, see ptrace(2); nothing is
// attached to and nothing stops.
func (p *Process) Memory() (io.ReaderAt, error) {
	if p.mem != nil {
		return p.mem, nil
	}
	entry, err := p.AuxEntry()
	if err != nil {
		return nil, err
	}
	fd, err := p.open("mem")
	if err != nil {
		return nil, err
	}
	p.mem = &memory{fd: fd, entry: entry, gone: p.gone()}
	// Between Open and here another program may have begun.
	if err := p.Same(); err != nil {
		unix.Close(fd)
		p.mem = nil
		return nil, err
	}
	return p.mem, nil
}

func (m *memory) ReadAt(b []byte, addr int64) (int, error) {
	read := 0
	for read < len(b) {
		n, err := retry(func() (int, error) { return unix.Pread(m.fd, b[read:], addr+int64(read)) })
		switch {
		case err == unix.ESRCH, err == nil && n == 0:
			return read, m.gone
		case err != nil:
			return read, fmt.Errorf("%w, address %#x", ErrNone, uint64(addr)+uint64(read))
		}
		read += n
	}
	return read, nil
}

// alive is nil as long as the address space is in use. Where a program begins
// there is always something to read.
func (m *memory) alive() error {
	var b [1]byte
	_, err := m.ReadAt(b[:], int64(m.entry))
	if errors.Is(err, ErrNone) {
		return nil // unmapped by the program itself
	}
	return err
}
