// SPDX-License-Identifier: Apache-2.0

// Package bounded reads all that a user or a network hands in. It bounds its size and its unpacked size, and refuses
// what is not a file to read. It also recognises the kind of content.
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

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Limits bounds a Source. The zero value means the defaults.
type Limits struct {
	// Bytes bounds what is read from the file or the connection; 0 = 64 MiB.
	Bytes int64
	// Unpacked bounds the output of gzip; 0 = 256 MiB. Beyond 1 MiB the output must also be at
	// most 200 times the input.
	Unpacked int64
}

const (
	defaultBytes    = 64 << 20
	defaultUnpacked = 256 << 20

	maxRatio  = 200
	freeRatio = 1 << 20 // bytes to which the ratio does not apply
	maxLayers = 2       // of gzip: a profile, packed once more by a server

	headSize = 64 << 10
)

// Complete replaces zero fields by the defaults.
func (l Limits) Complete() Limits {
	if l.Bytes <= 0 {
		l.Bytes = defaultBytes
	}
	if l.Unpacked <= 0 {
		l.Unpacked = defaultUnpacked
	}
	return l
}

// ErrTooMuch matches the errors of a Source that is larger than its Limits.
var ErrTooMuch = errors.New("too much")

// tooMuch says which limit a Source exceeds.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string        { return e.what }
func (e *tooMuch) Is(target error) bool { return target == ErrTooMuch }

// Excess returns the error for more than some bytes. It matches ErrTooMuch.
func Excess(bytes int64) error { return &tooMuch{"more than " + units.Bytes(bytes)} }

// Source is an open file or answer. Errors of Read name it.
type Source struct {
	// Name is what was opened.
	Name string
	// Packed reports that it was compressed by gzip.
	Packed bool

	r     *bufio.Reader
	close func() error
}

// Open opens a file for reading, and unpacks gzip. It refuses special files, if possible without opening them, and
// reads a pipe only if it has a writer. Reading ends when ctx ends.
func Open(ctx context.Context, name string, l Limits) (*Source, error) {
	r, err := openFile(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	s, err := Wrap(ctx, r, name, l)
	if most := l.Complete().Bytes; err == nil && !s.Packed && r.size > most {
		s.Close()
		return nil, s.named(Excess(most))
	}
	return s, err
}

// ReadFile returns the content of a file of at most limit bytes, as it is. It refuses what Open refuses. Its errors do
// not name the file.
func ReadFile(name string, limit int64) ([]byte, error) {
	r, err := openFile(context.Background(), name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if r.size > limit {
		return nil, Excess(limit)
	}
	return ReadAll(r, limit)
}

// ReadAll returns all of r, such as the body of an answer, of at most limit bytes. With an error it returns what came
// before.
func ReadAll(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(&capped{r: r, limit: limit, excess: Excess(limit)})
}

// Wrap returns a Source for an open reader, such as standard input. ctx is checked before each
// read and does not interrupt one. Closing the Source closes r, and so does an error.
func Wrap(ctx context.Context, r io.ReadCloser, name string, l Limits) (*Source, error) {
	l = l.Complete()
	s := &Source{Name: name, close: r.Close}
	raw := &capped{r: &until{ctx, r}, limit: l.Bytes, excess: Excess(l.Bytes)}
	s.r = bufio.NewReaderSize(raw, headSize)
	for range maxLayers {
		// A read returns the error again.
		magic, _ := s.r.Peek(3)
		if !bytes.Equal(magic, []byte{0x1f, 0x8b, 8}) {
			break
		}
		z, err := gzip.NewReader(s.r)
		if err != nil {
			r.Close()
			return nil, fmt.Errorf("%s: %w", name, packed(err))
		}
		s.Packed = true
		s.r = bufio.NewReaderSize(&capped{
			r: &unpacker{z}, limit: l.Unpacked, excess: &tooMuch{Excess(l.Unpacked).Error() + " unpacked"}, from: raw,
		}, headSize)
	}
	return s, nil
}

// Read reads the unpacked content.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	return n, s.named(err)
}

// All reads all that is left.
func (s *Source) All() ([]byte, error) { return io.ReadAll(s) }

func (s *Source) named(err error) error {
	if err == nil || err == io.EOF {
		return err
	}
	return fmt.Errorf("%s: %w", s.Name, err)
}

// Head returns the first 64 KiB, or all if there is less, without consuming them. It is for
// Sniff. Call it before the first Read. With an error it returns what came before the error.
func (s *Source) Head() ([]byte, error) {
	head, err := s.r.Peek(headSize)
	if err == io.EOF {
		err = nil
	}
	return head, s.named(err)
}

// Close closes the source.
func (s *Source) Close() error { return s.close() }

// capped passes up to limit bytes and fails if there are more.
type capped struct {
	r      io.Reader
	n      int64 // read so far
	limit  int64
	excess error
	from   *capped // the packed input; nil = not packed
	err    error   // too much; stays, because bufio returns an error once and reads on
}

func (c *capped) Read(p []byte) (int, error) {
	if len(p) == 0 || c.err != nil {
		return 0, c.err
	}
	left := c.limit - c.n
	if left <= 0 {
		// At the limit there must be nothing more.
		var one [1]byte
		n, err := c.r.Read(one[:])
		if n > 0 {
			c.err = c.excess
			return 0, c.err
		}
		return 0, err
	}
	n, err := c.r.Read(p[:min(int64(len(p)), left)])
	c.n += int64(n)
	if c.from != nil && c.n > freeRatio && c.n/maxRatio > c.from.n {
		c.err = &tooMuch{fmt.Sprintf("unpacks to more than %d times its size", maxRatio)}
		return n, c.err
	}
	return n, err
}

// unpacker replaces the errors of gzip by clearer ones.
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
	if _, corrupt := errors.AsType[flate.CorruptInputError](err); corrupt || errors.Is(err, gzip.ErrHeader) ||
		errors.Is(err, gzip.ErrChecksum) {
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
