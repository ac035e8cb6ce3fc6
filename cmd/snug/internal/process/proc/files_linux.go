// SPDX-License-Identifier: Apache-2.0

package proc

import (
	"encoding/binary"
	"io"
	"os"
	"strconv"
)

// FilesOf returns how many bytes of memory a process has resident in pages of files, and how many of them in files of which it
// may run code: its executable and its libraries. The others are data. If its pages may not be read, code is at most the size
// of the executable. 0 = none or unknown.
//
// Source: proc_pid_pagemap(5), bits 61 (a page of a file) and 63 (present).
func FilesOf(pid int) (files, code int64) {
	var b [4096]byte
	if files = parseSize(statusOf(pid, b[:]), "RssFile"); files == 0 {
		return 0, 0
	}
	dir := root + "/" + strconv.Itoa(pid)
	text, err := readFile(dir+"/maps", maxMaps)
	if err == nil {
		code, err = present(dir+"/pagemap", parseCode(text))
	}
	if err != nil {
		exe, _ := ExeOf(pid)
		code = exe.Size
	}
	return files, min(files, code)
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
func present(pagemap string, spans [][2]uint64) (bytes int64, err error) {
	f, err := os.Open(pagemap)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	const size, file = 8, 1<<63 | 1<<61
	page := uint64(os.Getpagesize())
	var b [4096 * size]byte
	for _, s := range spans {
		for at, end := s[0]/page, s[1]/page; at < end; {
			n, err := f.ReadAt(b[:min((end-at)*size, uint64(len(b)))], int64(at*size))
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
