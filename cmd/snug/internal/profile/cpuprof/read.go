// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/google/pprof/profile"
)

const (
	// MaxFile is the maximum size of a profile as stored, in bytes.
	MaxFile = 64 << 20
	// MaxSize is the maximum size of an uncompressed profile, in bytes.
	MaxSize = 512 << 20
	// maxDecoded bounds the memory of a decoded profile, in bytes: a message of 2 bytes
	// becomes an object of 200.
	maxDecoded = 1 << 30
)

// Sizes of one read: a profile of a small program has some 10 KiB.
const firstPiece, largestPiece = 64 << 10, 4 << 20

// ErrTooLarge means that a profile exceeds MaxFile or MaxSize, or would take too much memory.
var ErrTooLarge = errors.New("profile too large")

// ErrNotProfile means that the data is not in pprof format, or incomplete.
var ErrNotProfile = errors.New("not a pprof profile")

// Read reads a profile in pprof format, with or without gzip
// (github.com/google/pprof/proto/profile.proto). Its memory is bounded for any input.
// It does not read the older text formats. The profile need not be a CPU profile;
// Summarize and GraphOf check that.
func Read(r io.Reader) (*profile.Profile, error) {
	stored, err := readAtMost(r, MaxFile)
	if err != nil {
		return nil, err
	}
	plain, err := unzip(stored)
	if err != nil {
		return nil, err
	}
	switch cost, ok := decodedSize(plain); {
	case len(plain) == 0:
		return nil, fmt.Errorf("%w: it is empty", ErrNotProfile)
	case !ok:
		return nil, fmt.Errorf("%w: invalid messages, or it ends too early", ErrNotProfile)
	case cost > maxDecoded:
		return nil, fmt.Errorf("%w: it would take %d MiB of memory, the maximum is %d", ErrTooLarge, cost>>20, maxDecoded>>20)
	}
	p, err := profile.ParseUncompressed(plain)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
	}
	return p, nil
}

// unzip decompresses data that begins like gzip. It finds the size of the result before
// it allocates memory for it.
func unzip(stored []byte) ([]byte, error) {
	if len(stored) < 2 || stored[0] != 0x1f || stored[1] != 0x8b {
		return stored, nil
	}
	var plain []byte
	for pass := range 2 {
		z, err := gzip.NewReader(bytes.NewReader(stored))
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
		}
		var n int64
		if pass == 0 {
			n, err = io.Copy(io.Discard, io.LimitReader(z, MaxSize+1))
		} else {
			_, err = io.ReadFull(z, plain)
		}
		switch {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, fmt.Errorf("%w: it ends too early", ErrNotProfile)
		case err != nil:
			return nil, fmt.Errorf("%w: %w", ErrNotProfile, err)
		case n > MaxSize:
			return nil, fmt.Errorf("%w: more than %d MiB uncompressed", ErrTooLarge, MaxSize>>20)
		case pass == 0:
			plain = make([]byte, n)
		}
	}
	return plain, nil
}

// readAtMost reads all of r; more than limit bytes are an error. It reads pieces and
// joins them at the end: a growing buffer would take three times as much memory for
// input that is rejected.
func readAtMost(r io.Reader, limit int64) ([]byte, error) {
	var pieces [][]byte
	for n, size := int64(0), int64(firstPiece); ; size = min(2*size, largestPiece) {
		piece := make([]byte, 0, min(size, limit+1-n))
		var err error
		for err == nil && len(piece) < cap(piece) {
			var m int
			m, err = r.Read(piece[len(piece):cap(piece)])
			piece = piece[:len(piece)+m]
		}
		pieces, n = append(pieces, piece), n+int64(len(piece))
		switch {
		case n > limit:
			return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, limit>>20)
		case err == io.EOF:
			return slices.Concat(pieces...), nil
		case err != nil:
			return nil, err
		}
	}
}
