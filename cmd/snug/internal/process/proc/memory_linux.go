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
	other *remote // reads in place of fd; nil = fd does
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
		return p.budget.Within(p.mem), nil
	}
	entry, err := p.AuxEntry()
	if err != nil {
		return nil, err
	}
	p.mem = &memory{fd: -1, entry: entry, gone: p.gone()}
	if p.auxvAt != 0 {
		p.mem.other = &remote{p.pid, p.auxv, p.auxvAt, p.mem.gone}
	} else if p.mem.fd, err = p.open("mem"); err != nil {
		p.mem = nil
		return nil, err
	}
	// The process may have started another program since Open.
	if err := p.Same(); err != nil {
		p.mem.close()
		p.mem = nil
		return nil, err
	}
	return p.budget.Within(p.mem), nil
}

// close frees the descriptor. A remaining reader reads nothing.
func (m *memory) close() {
	if m.fd >= 0 {
		unix.Close(m.fd)
		m.fd = -1
	}
	if m.other != nil {
		m.other = &remote{gone: m.gone, pid: -1}
	}
}

func (m *memory) ReadAt(b []byte, addr int64) (int, error) {
	if m.other != nil {
		return m.other.read(b, uint64(addr))
	}
	read := 0
	for read < len(b) {
		n, err := retry(func() (int, error) { return unix.Pread(m.fd, b[read:], addr+int64(read)) })
		switch {
		case err == unix.ESRCH, err == nil && n == 0:
			return read, m.gone
		case err != nil:
			return read, fmt.Errorf("address %#x: %w", uint64(addr)+uint64(read), ErrNone)
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

// Environ returns GOMAXPROCS, GOMEMLIMIT, GOGC and GODEBUG of the environment the program was started with. It is
// wrong for a program that overwrites this memory, as some do to change their title.
func (p *Process) Environ() (map[string]string, error) {
	if p.auxv == nil {
		return nil, p.denied("environ")
	}
	var text []byte
	var err error
	if p.auxvAt != 0 {
		text, err = p.remoteEnviron()
	} else {
		text, err = p.read("environ", maxEnviron)
	}
	if err != nil {
		return nil, err
	}
	if len(text) == maxEnviron { // a variable may be missing
		return nil, ErrTooMuch
	}
	return parseEnviron(text), nil
}

// AuxEntry returns the address of the program's entry point in memory.
func (p *Process) AuxEntry() (uint64, error) {
	if p.auxv == nil {
		return 0, p.denied("auxv")
	}
	entry, ok := parseAuxv(p.auxv)
	if !ok {
		return 0, fmt.Errorf("%s/%d/auxv AT_ENTRY: %w", p.root, p.pid, ErrNone)
	}
	return entry, nil
}
