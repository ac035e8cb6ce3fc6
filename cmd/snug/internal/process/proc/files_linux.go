// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"encoding/binary"
	"io"
	"os"
)

// maxCode bounds the addresses at which pages of code are looked for, in bytes. The largest program known has 700 MB.
const maxCode = 8 << 30

// Files returns how many bytes of memory the process has resident in pages of files, and how many of them in files of
// which it may run code: its executable and its libraries. The others are data. If its pages may not be read, or are
// too many, code is at most the size of the executable. 0 = none. The error is that of the status file, or of the sum
// of which the budget is a part.
//
// Source: proc_pid_pagemap(5), bits 61 (a page of a file) and 63 (present).
func (p *Process) Files() (files, code int64, err error) {
	text, err := p.read("status", maxStatus)
	if files = parseSize(text, "RssFile"); files == 0 || err != nil {
		return 0, 0, err
	}
	if text, err = p.maps(); err == nil {
		code, err = p.present(parseCode(text))
	}
	if over := p.budget.Over(); over != nil && !p.budget.Spent() {
		return 0, 0, over
	}
	if err != nil {
		exe, _ := p.ExeID()
		code = exe.Size
	}
	return files, min(files, code), nil
}

// readFile returns the content of a file, at most its first bytes.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// present returns the bytes of address ranges that are in memory, in pages of files.
func (p *Process) present(spans [][2]uint64) (bytes int64, err error) {
	sum := uint64(0)
	for _, s := range spans {
		if sum += s[1] - s[0]; sum > maxCode {
			return 0, ErrTooMuch
		}
	}
	fd, err := p.open("pagemap")
	if err != nil {
		return 0, err
	}
	f := p.file(fd, "pagemap")
	defer f.Close()
	return presentIn(f, spans)
}

func presentIn(pagemap io.ReaderAt, spans [][2]uint64) (bytes int64, err error) {
	const size, file = 8, 1<<63 | 1<<61
	page := uint64(os.Getpagesize())
	var b [4096 * size]byte
	for _, s := range spans {
		for at, end := s[0]/page, s[1]/page; at < end; {
			n, err := pagemap.ReadAt(b[:min((end-at)*size, uint64(len(b)))], int64(at*size))
			for i := 0; i+size <= n; i += size {
				if binary.LittleEndian.Uint64(b[i:])&file == file {
					bytes += int64(page)
				}
			}
			if n < size || err != nil && err != io.EOF {
				return bytes, err
			}
			at += uint64(n / size)
		}
	}
	return bytes, nil
}
