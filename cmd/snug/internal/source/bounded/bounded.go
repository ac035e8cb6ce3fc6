// SPDX-License-Identifier: Apache-2.0

// Package bounded opens what somebody names on a command line, a file or a URL,
// so that it cannot be too large, unpack to too much, wait for ever or be
// something that is not to be read; and tells what kind of text it is.
package bounded

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Limits bound a Source. The zero value has the defaults.
type Limits struct {
	// Bytes is how much is read from the file or the connection, 0 for 64 MiB.
	Bytes int64
	// Unpacked is how much may come out of gzip, 0 for 256 MiB. It may not be
	// more than 200 times what went in either, once it is over 1 MiB.
	Unpacked int64
	// Header is how long a server may take to begin its answer, 0 for 10 s. A
	// CPU profile begins when it is done: add its seconds.
	Header time.Duration
}

const (
	defaultBytes    = 64 << 20
	defaultUnpacked = 256 << 20
	defaultHeader   = 10 * time.Second

	maxRatio  = 200
	freeRatio = 1 << 20 // bytes to which the ratio does not apply
	maxLayers = 2       // of gzip: a profile, packed once more by a server

	// silence is how long a server may send nothing in the middle.
	silence = 30 * time.Second
	// whole is how long is waited for all of an answer, beside what it may take to begin.
	whole = 5 * time.Minute

	headSize = 64 << 10
)

// complete puts the defaults where nothing is said.
func (l Limits) complete() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Unpacked <= 0 {
		l.Unpacked = defaultUnpacked
	}
	if l.Header <= 0 {
		l.Header = defaultHeader
	}
	return l
}

// excess is what is said of what has more than Bytes.
func (l Limits) excess() string { return "more than " + units.Bytes(l.Bytes) }

// ErrTooMuch is what errors of a Source are that is larger than its Limits.
var ErrTooMuch = errors.New("too much")

// tooMuch says what a Source has more of than it may.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string        { return e.what }
func (e *tooMuch) Is(target error) bool { return target == ErrTooMuch }

// Source is an open file or answer. Errors of Read name it.
type Source struct {
	// Name is what was opened; of a URL without user, password and query,
	// which may hold secrets.
	Name string
	// Packed says that it was packed with gzip.
	Packed bool

	r     *bufio.Reader
	close func() error
}

// Open opens the file or the http or https URL target for reading, and undoes
// gzip if it is packed. A URL is fetched by GET, follows three redirects, and
// has to answer with 200. Special files are refused, without opening them where
// that can be known before; a pipe is read if somebody writes to it. When ctx
// ends, so does reading.
func Open(ctx context.Context, target string, l Limits) (*Source, error) {
	l = l.complete()
	scheme, _, _ := strings.Cut(target, "://")
	if scheme = strings.ToLower(scheme); scheme == "http" || scheme == "https" {
		r, name, err := get(ctx, target, l)
		if err != nil {
			return nil, fmt.Errorf("%w, %s", err, name)
		}
		return Wrap(ctx, r, name, l)
	}
	r, err := openFile(ctx, target)
	if err != nil {
		return nil, fmt.Errorf("%w, %s", err, target)
	}
	return Wrap(ctx, r, target, l)
}

// Wrap makes a Source of something that is open, such as standard input. ctx
// is looked at before each read and does not interrupt one. Closing the Source
// closes r, and so does an error.
func Wrap(ctx context.Context, r io.ReadCloser, name string, l Limits) (*Source, error) {
	l = l.complete()
	s := &Source{Name: name, close: r.Close}
	raw := &capped{r: &until{ctx, r}, limit: l.Bytes, excess: l.excess()}
	s.r = bufio.NewReaderSize(raw, headSize)
	for range maxLayers {
		// An error is met again by who reads.
		magic, _ := s.r.Peek(3)
		if !bytes.Equal(magic, []byte{0x1f, 0x8b, 8}) {
			break
		}
		z, err := gzip.NewReader(s.r)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("%w, %s", packed(err), name)
		}
		s.Packed = true
		s.r = bufio.NewReaderSize(&capped{
			r: &unpacker{z}, limit: l.Unpacked, excess: "more than " + units.Bytes(l.Unpacked) + " unpacked", from: raw,
		}, headSize)
	}
	return s, nil
}

// Read reads what was unpacked.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	return n, s.named(err)
}

func (s *Source) named(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("%w, %s", err, s.Name)
}

// Head returns the first 64 KiB, or all when there is less, and leaves them to
// be read. It is for Sniff, and to be called before the first Read. With an
// error it returns what there was before.
func (s *Source) Head() ([]byte, error) {
	head, err := s.r.Peek(headSize)
	if err == io.EOF {
		err = nil
	}
	return head, s.named(err)
}

// Close ends reading.
func (s *Source) Close() error { return s.close() }

// capped lets so many bytes through and fails if there are more.
type capped struct {
	r      io.Reader
	n      int64 // read so far
	limit  int64
	excess string  // the error
	from   *capped // what it was unpacked from; nil when it was not
}

func (c *capped) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	left := c.limit - c.n
	if left <= 0 {
		// At the limit only the end may follow.
		var one [1]byte
		n, err := c.r.Read(one[:])
		if n > 0 {
			return 0, &tooMuch{c.excess}
		}
		return 0, err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), left)])
	c.n += int64(n)
	if c.from != nil && c.n > freeRatio && c.n/maxRatio > c.from.n {
		return n, &tooMuch{fmt.Sprintf("unpacks to more than %d times its size", maxRatio)}
	}
	return n, err
}

// unpacker gives errors of gzip words of its own.
type unpacker struct{ z *gzip.Reader }

func (u *unpacker) Read(p []byte) (int, error) {
	n, err := u.z.Read(p)
	return n, packed(err)
}

func packed(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("ends in the middle of its gzip")
	}
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return errors.New("damaged gzip")
	}
	return err
}

// until stops reading when ctx has ended.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, context.Cause(u.ctx)
	}
	n, err := u.r.Read(p)
	if err != nil && err != io.EOF && u.ctx.Err() != nil {
		err = context.Cause(u.ctx)
	}
	return n, err
}
