// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"
)

// budget is what may still be read of one image: its archive and all its layers together.
type budget struct {
	bytes   int64 // read and unpacked
	entries int   // files in archives, and the directories they imply
	names   int   // bytes of their names and link targets
	headers int64 // bytes of headers beyond usualHeader
	steps   int   // lookups in the list of a layer
	keep    int64 // bytes of kept files that may be the program
	program int64 // largest size of the program; not used up
}

// standard is the budget of an image. The largest images in use have some ten thousand files,
// and usually only the topmost layers are read.
var standard = budget{bytes: 4 << 30, entries: 1_000_000, names: 128 << 20, headers: 64 << 20, steps: 2_000_000, keep: 1 << 30, program: 1 << 30}

const (
	maxLayers = 127     // as Docker
	maxPath   = 4096    // PATH_MAX
	maxLinks  = 40      // as Linux
	maxJSON   = 4 << 20 // the limit of registries for a manifest
	maxIndex  = 3       // indexes within indexes

	// usualHeader is the largest usual size of the headers of one file: its own, one for long
	// names or times, and a name of PATH_MAX.
	usualHeader = 8 << 10
)

// tooMuch is the error for an image that exceeds its budget.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string { return "the image has more than " + e.what }

var (
	errBytes   = &tooMuch{fmt.Sprintf("%d GiB unpacked", standard.bytes>>30)}
	errEntries = &tooMuch{fmt.Sprintf("%d files", standard.entries)}
	errNames   = &tooMuch{fmt.Sprintf("%d MiB of names", standard.names>>20)}
	errHeaders = &tooMuch{fmt.Sprintf("%d MiB of long headers", standard.headers>>20)}
	errLayers  = &tooMuch{fmt.Sprintf("%d layers", maxLayers)}
	errSteps   = errors.New("the image has too many links and directories")
)

// entry charges one file.
func (b *budget) entry(name, link string) error {
	if b.entries--; b.entries < 0 {
		return errEntries
	}
	if b.names -= len(name) + len(link); b.names < 0 {
		return errNames
	}
	return nil
}

// meter is a reader that charges a budget.
type meter struct {
	r      io.Reader
	left   *budget
	n      int64 // read so far
	header bool  // a header is being read
	free   int64 // bytes of the header that are not charged
}

func (m *meter) Read(p []byte) (int, error) {
	if m.left.bytes <= 0 {
		return 0, errBytes
	}
	n, err := m.r.Read(p[:min(int64(len(p)), m.left.bytes)])
	m.n += int64(n)
	m.left.bytes -= int64(n)
	if !m.header {
		return n, err
	}
	if m.free -= int64(n); m.free < 0 {
		m.left.headers += m.free
		m.free = 0
		if m.left.headers < 0 {
			return n, errHeaders
		}
	}
	return n, err
}

// errStop ends a walk.
var errStop = errors.New("enough")

// walk visits the files of an archive. If r is an io.Seeker, it skips the contents that a
// visit does not read.
func (b *budget) walk(r io.Reader, visit func(*tar.Header, io.Reader) error) error {
	m := &meter{r: r, left: b}
	var in io.Reader = m
	seeker, seeks := r.(io.Seeker)
	if seeks {
		in = struct {
			io.Reader
			io.Seeker
		}{m, seeker}
	}
	archive := tar.NewReader(in)
	skip := int64(0) // rest of the previous file
	for {
		m.header, m.free = true, usualHeader+skip
		h, err := archive.Next()
		m.header = false
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return damage(err)
		}
		if err := b.entry(h.Name, h.Linkname); err != nil {
			return err
		}
		before := m.n
		if err := visit(h, archive); err == errStop {
			return nil
		} else if err != nil {
			return err
		}
		if skip = 0; !seeks {
			skip = max(0, stored(h)-(m.n-before))
		}
	}
}

// stored returns the length of a file in the archive, which is skipped before the next header.
// A sparse file may claim any length.
func stored(h *tar.Header) int64 {
	sparse := h.Typeflag == tar.TypeGNUSparse
	for key := range h.PAXRecords {
		sparse = sparse || strings.HasPrefix(key, "GNU.sparse.")
	}
	if sparse {
		return min(h.Size, 1<<20)
	}
	return h.Size
}

// damage returns the error for an archive that cannot be read further.
func damage(err error) error {
	if much := (*tooMuch)(nil); errors.As(err, &much) {
		return much
	}
	return errDamaged
}

var errDamaged = errors.New("damaged")
