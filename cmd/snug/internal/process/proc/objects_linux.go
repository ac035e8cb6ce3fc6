// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// maxMaps bounds the bytes of maps that are read; a process has 65,530 mappings or fewer by default
// (vm.max_map_count).
const maxMaps = 8 << 20

// Objects returns the files of which the process may run code, by address. It needs the rights of
// PTRACE_MODE_READ.
func (p *Process) Objects() ([]Object, error) {
	text, err := p.maps()
	return parseMaps(text), err
}

// maps returns the text of the file whole, or an error: what is missing may be anything.
func (p *Process) maps() ([]byte, error) {
	text, err := p.read("maps", maxMaps)
	if len(text) == maxMaps {
		err = ErrTooMuch
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// OpenObject opens a file that the process has mapped. Without CAP_CHECKPOINT_RESTORE it opens what
// is at its path now, so a file that was deleted cannot be opened.
func (p *Process) OpenObject(o Object) (*File, error) {
	if err := p.budget.Take(0); err != nil {
		return nil, err
	}
	fd, err := p.open("map_files/" + o.span)
	if err != nil && !o.Deleted {
		// Another kind of file may be there by now: do not wait for a pipe.
		fd, err = retry(func() (int, error) {
			return unix.Openat(p.dir, "root"+o.Path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
		})
		if err != nil {
			err = p.why("root", err)
		}
	}
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return nil, fmt.Errorf("%s/%d/root: %w", p.root, p.pid, ErrNone)
	}
	return p.file(fd, "root"), nil
}
