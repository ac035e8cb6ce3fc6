// SPDX-License-Identifier: Apache-2.0

// Package golog finds and sums up the lines that the Go runtime writes to stderr with
// GODEBUG=gctrace=1 and GODEBUG=schedtrace=N, in a log with other lines. It supports
// the formats of Go 1.18 to 1.27.
//
// The runtime writes such a line in pieces, each with its own system call, so text of
// the program can come before, after or within a line. The package reads lines with
// text before or after them, and leaves out those with text within. It also reads lines
// inside the records of Docker's json-file log.
package golog

import (
	"bytes"
	"io"
)

// Summary sums up the lines of the last process that wrote to a log: a new one is detected when the number
// of a collection, or the time, goes back. Its size does not depend on the length of the log.
type Summary struct {
	GC    GC
	Sched Sched
}

const (
	// bufferSize is the size of the log in memory, in bytes.
	bufferSize = 256 << 10
	// longest exceeds the length of any line of gctrace or schedtrace, in bytes.
	// The latter has up to 16 bytes per P, for its run queue and ticks.
	longest = 64 << 10
)

// Read reads a log to its end. Every error is one of r; the Summary then covers everything read
// before it. The sizes of the reads of r do not affect the result.
func Read(r io.Reader) (Summary, error) {
	var (
		s       Summary
		buf     = make([]byte, bufferSize)
		start   = 0 // start of the unfinished line
		end     = 0 // end of the data read
		nothing = 0 // consecutive empty reads
	)
	for {
		n, err := r.Read(buf[end:])
		if n < 0 || n > len(buf)-end {
			return s, io.ErrShortBuffer // a reader that breaks its contract
		}
		fresh := end
		end += n
		for {
			i := bytes.IndexByte(buf[fresh:end], '\n')
			if i < 0 {
				break
			}
			s.text(buf[start:fresh+i], fresh+i-start)
			start, fresh = fresh+i+1, fresh+i+1
		}
		if err == nil && n == 0 {
			if nothing++; nothing == 100 {
				err = io.ErrNoProgress
			}
		} else {
			nothing = 0
		}
		if err != nil {
			s.text(buf[start:end], end-start)
			if err == io.EOF {
				err = nil
			}
			return s, err
		}
		if end < len(buf) {
			continue
		}
		if start == 0 {
			// A line longer than the buffer: keep its end, where a line of the
			// runtime may begin, until more data arrives.
			start = len(buf) - longest
			s.text(buf, start)
		}
		end = copy(buf, buf[start:end])
		start = 0
	}
}
