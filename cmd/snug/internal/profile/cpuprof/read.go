// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/google/pprof/profile"
)

const (
	// MaxFile is the largest profile that is read, in bytes as it is stored.
	MaxFile = 64 << 20
	// MaxSize is the largest profile that is read, in bytes without compression.
	MaxSize = 512 << 20
	// maxDecoded bounds the memory of a profile once it is read: a message of two
	// bytes becomes an object of two hundred.
	maxDecoded = 1 << 30
)

// What is read at once: a profile of a small program is some 10 KiB.
const firstPiece, largestPiece = 64 << 10, 4 << 20

// ErrTooLarge: a profile larger than MaxFile, MaxSize, or than what it would take
// in memory.
var ErrTooLarge = errors.New("profile too large")

// ErrNotProfile: not in the format of pprof, or only a part of a profile.
var ErrNotProfile = errors.New("not a pprof profile")

// ReadFile reads a profile from a file.
func ReadFile(name string) (*profile.Profile, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err == nil && st.IsDir() {
		return nil, fmt.Errorf("%s: %w: a directory", name, ErrNotProfile)
	} else if err == nil && st.Mode().IsRegular() && st.Size() > MaxFile {
		return nil, fmt.Errorf("%s: %w: %d bytes, at most %d are read", name, ErrTooLarge, st.Size(), MaxFile)
	}
	p, err := Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Read reads a profile in the format of pprof, compressed by gzip or not
// (github.com/google/pprof/proto/profile.proto). Its memory is bounded whatever
// it is given. The older text formats are not read. It may be no CPU profile:
// Summarize and GraphOf look at that.
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
		return nil, fmt.Errorf("%w: no such messages, or it ends too early", ErrNotProfile)
	case cost > maxDecoded:
		return nil, fmt.Errorf("%w: it would take %d MiB of memory, at most %d are given", ErrTooLarge, cost>>20, maxDecoded>>20)
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

// unzip undoes gzip where bytes begin as its do. It looks how long the result is
// before it takes memory for it.
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
			return nil, fmt.Errorf("%w: more than %d MiB without compression", ErrTooLarge, MaxSize>>20)
		case pass == 0:
			plain = make([]byte, n)
		}
	}
	return plain, nil
}

// readAtMost reads all of r, if that is not more than so many bytes. It reads pieces and
// joins them at the end: a buffer that grows would take three times as much for what is
// refused.
func readAtMost(r io.Reader, most int64) ([]byte, error) {
	var pieces [][]byte
	for n, size := int64(0), int64(firstPiece); ; size = min(2*size, largestPiece) {
		piece := make([]byte, 0, min(size, most+1-n))
		var err error
		for err == nil && len(piece) < cap(piece) {
			var m int
			m, err = r.Read(piece[len(piece):cap(piece)])
			piece = piece[:len(piece)+m]
		}
		pieces, n = append(pieces, piece), n+int64(len(piece))
		switch {
		case n > most:
			return nil, fmt.Errorf("%w: more than %d MiB", ErrTooLarge, most>>20)
		case err == io.EOF:
			return slices.Concat(pieces...), nil
		case err != nil:
			return nil, err
		}
	}
}
