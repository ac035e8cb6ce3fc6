// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// memory reads the address space that the process had when it was opened. After an exec the
// kernel lets it read as empty, never as the new program's.
type memory struct {
	fd    int
	entry uint64
	gone  error
}

// Memory returns a reader of the process's memory, by address. The reader's errors are ErrGone,
// and ErrNone for addresses that cannot be read. Several goroutines may use it until the
// process is closed.
//
// Opening it needs the rights of PTRACE_MODE_ATTACH, see ptrace(2). It does not attach to the
// process and does not stop it.
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
	// The process may have started another program since Open.
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

// alive returns nil as long as the address space is in use. The address at which a program
// starts can always be read.
func (m *memory) alive() error {
	var b [1]byte
	_, err := m.ReadAt(b[:], int64(m.entry))
	if errors.Is(err, ErrNone) {
		return nil // unmapped by the program itself
	}
	return err
}
