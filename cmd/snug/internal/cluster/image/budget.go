// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"strings"
)

// budget is what may still be read of one image, its archive and all its layers
// together.
type budget struct {
	bytes   int64 // read and unpacked
	entries int   // files in archives, and the directories they imply
	names   int   // bytes of their names and of what they link to
	headers int64 // bytes of headers that are longer than headers are
	steps   int   // looks into the list of a layer
	keep    int64 // bytes of files that may be the program
	program int64 // bytes of the program; it is not used up
}

// standard is the budget of an image. The largest that are in use have some ten
// thousand files; what is read is mostly the topmost layers.
var standard = budget{bytes: 4 << 30, entries: 1_000_000, names: 128 << 20, headers: 64 << 20, steps: 2_000_000, keep: 1 << 30, program: 1 << 30}

const (
	maxLayers = 127     // of docker
	maxPath   = 4096    // PATH_MAX
	maxLinks  = 40      // as many as Linux follows
	maxJSON   = 4 << 20 // what registries take of a manifest
	maxIndex  = 3       // indexes within indexes

	// usualHeader is what the headers of one file may have: its own, one of long
	// names or times, and a name of PATH_MAX.
	usualHeader = 8 << 10
)

// tooMuch is the error of an image that is larger than its budget.
type tooMuch struct{ what string }

func (e *tooMuch) Error() string { return "an image of more than " + e.what }

var (
	errBytes   = &tooMuch{fmt.Sprintf("%d GiB unpacked", standard.bytes>>30)}
	errEntries = &tooMuch{fmt.Sprintf("%d files", standard.entries)}
	errNames   = &tooMuch{fmt.Sprintf("%d MiB of names", standard.names>>20)}
	errHeaders = &tooMuch{fmt.Sprintf("%d MiB of long headers", standard.headers>>20)}
	errLayers  = &tooMuch{fmt.Sprintf("%d layers", maxLayers)}
	errSteps   = errors.New("an image of too many links and directories")
)

// entry takes one file off.
func (b *budget) entry(name, link string) error {
	if b.entries--; b.entries < 0 {
		return errEntries
	}
	if b.names -= len(name) + len(link); b.names < 0 {
		return errNames
	}
	return nil
}

// meter takes what is read off a budget.
type meter struct {
	r      io.Reader
	left   *budget
	n      int64 // read so far
	header bool  // what is read is a header
	free   int64 // bytes of it that cost nothing
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

// walk goes through the files of an archive. A visit that does not read what a
// file has costs no time where r is an io.Seeker.
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
	skip := int64(0) // of the file before
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

// stored is how long a file is in the archive, where it is passed over as what
// stands before the next header. A sparse file may claim any length.
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

// damage is the error of an archive that cannot be read on.
func damage(err error) error {
	if much := (*tooMuch)(nil); errors.As(err, &much) {
		return much
	}
	return errDamaged
}

var errDamaged = errors.New("damaged")
