// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"
)

// The files auxv, environ and mem of a process belong to its user, with the mode 0400 or 0600. User 0 with
// CAP_SYS_PTRACE alone, as the agent runs in a pod, may trace a process of another user and may not open these: that
// takes CAP_DAC_READ_SEARCH or CAP_DAC_OVERRIDE. process_vm_readv(2) asks for the right to trace only, and what the
// files have is in the memory: stat says where.

// maxStack bounds the bytes of the stack that are searched for the auxiliary vector: pointers to arguments and
// variables come before it.
const maxStack = 4 << 20

// remotely reads the auxiliary vector from the stack of a process whose files may not be opened.
func (p *Process) remotely() error {
	if p.root != root {
		return p.denied("auxv")
	}
	at, err := p.places()
	if err != nil {
		return err
	}
	p.auxv, p.auxvAt, err = p.stackAuxv(at.stack)
	return err
}

// places reads from stat where things are in the memory.
func (p *Process) places() (places, error) {
	text, err := p.read("stat", maxStat)
	if err != nil {
		return places{}, err
	}
	at, ok := parsePlaces(text)
	if !ok {
		return places{}, p.denied("stat") // the kernel says it only to those who may trace the process
	}
	return at, nil
}

// stackAuxv reads the auxiliary vector that the kernel has put on the stack, after argc, argv and envp with their
// zeros, and returns its address. Source: fs/binfmt_elf.c, create_elf_tables.
func (p *Process) stackAuxv(stack uint64) (auxv []byte, at uint64, err error) {
	var words []byte // from argc on
	zeros, begin := 0, 8
	for len(words) < maxStack {
		b := make([]byte, 16<<10)
		if err := p.budget.Take(len(b)); err != nil {
			return nil, 0, err
		}
		n, err := p.peek(b, stack+uint64(len(words)))
		if n < 16 {
			if err == nil {
				err = fmt.Errorf("pid %d: the stack: %w", p.pid, ErrNone)
			}
			return nil, 0, err
		}
		words = append(words, b[:n&^15]...)
		for at := begin; at+8 <= len(words) && zeros < 2; at += 8 {
			if begin = at + 8; binary.LittleEndian.Uint64(words[at:]) == 0 {
				zeros++
			}
		}
		for at := begin; zeros == 2 && at+16 <= len(words); at += 16 {
			if binary.LittleEndian.Uint64(words[at:]) == 0 || at-begin > maxAuxv {
				return bytes.Clone(words[begin : at+16]), stack + uint64(begin), nil // it is kept, the rest is not
			}
		}
	}
	return nil, 0, fmt.Errorf("pid %d: an auxiliary vector: %w", p.pid, ErrNone)
}

// peek reads memory of the process, up to the first byte that cannot be read. If the auxiliary vector is known, it is
// read by the same call, and another one there is another program: the error is ErrGone.
func (p *Process) peek(b []byte, addr uint64) (int, error) {
	r := remote{pid: p.pid, gone: p.gone()}
	if p.auxvAt != 0 {
		r.mark, r.markAt = p.auxv, p.auxvAt
	}
	return r.read(b, addr)
}

// remote reads the memory of a process by its number.
type remote struct {
	pid    int
	mark   []byte // what is at markAt while it is this program; nil = not known
	markAt uint64
	gone   error
}

func (r *remote) read(b []byte, addr uint64) (int, error) {
	seen, read := make([]byte, len(r.mark)), 0
	for {
		var local []unix.Iovec
		var there []unix.RemoteIovec
		add := func(to []byte, addr uint64) {
			if len(to) > 0 {
				v := unix.Iovec{Base: &to[0]}
				v.SetLen(len(to))
				local, there = append(local, v), append(there, unix.RemoteIovec{Base: uintptr(addr), Len: len(to)})
			}
		}
		add(seen, r.markAt)
		add(b[read:], addr+uint64(read))
		n, err := retry(func() (int, error) { return unix.ProcessVMReadv(r.pid, local, there, 0) })
		switch {
		case errors.Is(err, unix.EPERM):
			return read, &Denied{What: "mem", Pid: r.pid, UID: -1, own: unix.Geteuid()}
		case errors.Is(err, unix.ESRCH), len(seen) > 0 && (err != nil || n < len(seen) || !bytes.Equal(seen, r.mark)):
			return read, r.gone
		case err != nil || n == len(seen) && read < len(b):
			return read, fmt.Errorf("address %#x: %w", addr+uint64(read), ErrNone)
		}
		if read += n - len(seen); read == len(b) {
			return read, nil
		}
	}
}

// remoteEnviron reads the environment from the memory.
func (p *Process) remoteEnviron() ([]byte, error) {
	at, err := p.places()
	if err != nil {
		return nil, err
	}
	text := make([]byte, min(at.envEnd-at.env, maxEnviron))
	if err := p.budget.Take(len(text)); err != nil {
		return nil, err
	}
	n, err := p.peek(text, at.env)
	if err != nil && n == 0 {
		return nil, err
	}
	return text[:n], nil
}

// maxRanges bounds the ranges of one call, see IOV_MAX in readv(2). One more is the auxiliary vector.
const maxRanges = 1000

// Gather reads ranges of memory with one system call, where [Process.Memory] takes one for each. It
// returns their bytes one after the other, in room if they fit, up to the first that cannot be read;
// none if the process runs another program, or the call is not permitted. It must not be called before
// Memory.
func (p *Process) Gather(ranges []Range, room []byte) []byte {
	if p.mem == nil || p.root != root || len(ranges) == 0 || len(ranges) > maxRanges || !p.marked() {
		return nil
	}
	there := make([]unix.RemoteIovec, 1, 1+len(ranges))
	there[0] = unix.RemoteIovec{Base: uintptr(p.markAt), Len: len(p.mark)}
	size := 0
	for _, r := range ranges {
		there = append(there, unix.RemoteIovec{Base: uintptr(r.Addr), Len: r.Size})
		size += r.Size
	}
	if p.budget.Take(size) != nil {
		return nil
	}
	seen, b := make([]byte, len(p.mark)), slices.Grow(room[:0], size)[:size]
	local := []unix.Iovec{{Base: &seen[0]}, {Base: &b[0]}}
	local[0].SetLen(len(seen))
	local[1].SetLen(size)
	n, err := retry(func() (int, error) { return unix.ProcessVMReadv(p.pid, local, there, 0) })
	if err != nil || n <= len(seen) || !bytes.Equal(seen, p.mark) {
		return nil
	}
	return b[:n-len(seen)]
}

// marked finds the auxiliary vector in the memory. The call takes a number, so what it reads is of
// this program only if the vector is this one's.
func (p *Process) marked() bool {
	if p.auxvAt != 0 {
		p.mark, p.markAt = p.auxv, p.auxvAt
	}
	if p.markAt == 0 && !p.unmarked {
		var found []byte
		at, err := p.places()
		if err == nil {
			found, p.markAt, err = p.stackAuxv(at.stack)
		}
		if p.unmarked = err != nil || !bytes.HasPrefix(p.auxv, found); p.unmarked {
			p.markAt = 0
		} else {
			p.mark = p.auxv[:len(found)]
		}
	}
	return p.markAt != 0
}
