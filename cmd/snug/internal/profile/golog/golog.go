// SPDX-License-Identifier: Apache-2.0

// Package golog reads what the Go runtime writes to stderr with
// GODEBUG=gctrace=1 and GODEBUG=schedtrace=N, in a log that holds other lines
// too, and sums it up. It knows the formats of Go 1.18 to 1.27.
//
// The runtime writes such a line piece by piece, each with a system call of its
// own, so text of the program can stand before a line, after it and in the
// middle of it. The first two are read, the last is counted as damaged. Lines
// inside the records of Docker's json-file log are read as well.
package golog

import (
	"bytes"
	"io"
)

// Summary is what the lines of a log say together. It has one size, however
// long the log is.
type Summary struct {
	// GC and Sched speak of the last process that wrote to the log.
	GC    GC
	Sched Sched
	// Restarts is how often a new process began in the middle of the log: the
	// number of a collection, or the time, went back. Two processes that write
	// to one log at a time look like many restarts.
	Restarts int
	// Damaged is how many lines of the whole log began like one of gctrace or
	// schedtrace and did not go on like it. They count nowhere else.
	Damaged int
}

const (
	// bufferSize is how much of a log is in memory.
	bufferSize = 256 << 10
	// longest is more than what a line of gctrace or schedtrace takes. The
	// latter has up to 16 bytes for each P: its run queue and its ticks.
	longest = 64 << 10
)

// Read reads a log to its end. The Summary is of all that was read, also when
// there is an error, which is always one of r. How r cuts the log in pieces
// makes no difference.
func Read(r io.Reader) (Summary, error) {
	var (
		s       summer
		buf     = make([]byte, bufferSize)
		start   = 0 // of the line that has not ended
		end     = 0 // of what was read
		nothing = 0 // how many reads in a row brought nothing
	)
	for {
		n, err := r.Read(buf[end:])
		if n < 0 || n > len(buf)-end {
			return s.summary(), io.ErrShortBuffer // a reader that breaks its contract
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
			return s.summary(), err
		}
		if end < len(buf) {
			continue
		}
		if start == 0 {
			// A line longer than the buffer: what may begin a line of the
			// runtime near its end is looked at once more is there.
			start = len(buf) - longest
			s.text(buf, start)
		}
		end = copy(buf, buf[start:end])
		start = 0
	}
}

// summer adds up lines.
type summer struct {
	gc       gcSums
	sched    schedSums
	restarts int
	damaged  int
}

func (s *summer) summary() Summary {
	return Summary{GC: s.gc.GC, Sched: s.sched.figures(), Restarts: s.restarts, Damaged: s.damaged}
}

// text looks for lines of the runtime that begin in the first n bytes of b.
func (s *summer) text(b []byte, n int) {
	s.find(b, n, gcWord, func(b []byte) (int, verdict) {
		line, read, v := parseGC(b)
		if v == good {
			s.addGC(line)
		}
		return read, v
	})
	s.find(b, n, schedWord, func(b []byte) (int, verdict) {
		line, read, v := parseSched(b)
		if v == good {
			s.addSched(line)
		}
		return read, v
	})
}

// find calls parse wherever word stands in the first n bytes of b. Words and
// what parse reads do not overlap, so that the time is linear in len(b).
func (s *summer) find(b []byte, n int, word string, parse func([]byte) (int, verdict)) {
	for at := 0; at < n; {
		i := bytes.Index(b[at:min(len(b), n+len(word))], []byte(word))
		if i < 0 || at+i >= n {
			return
		}
		at += i
		read, v := parse(b[at:])
		if v == damaged {
			s.damaged++
		}
		at += max(read, len(word))
	}
}

// restart forgets the process that was.
func (s *summer) restart() {
	s.restarts++
	s.gc, s.sched = gcSums{}, schedSums{}
}

// verdict is what a parser says of some text.
type verdict uint8

const (
	other   verdict = iota // text of something else
	damaged                // began like a line of the runtime
	good
)
