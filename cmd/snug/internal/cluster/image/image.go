// SPDX-License-Identifier: Apache-2.0

// Package image finds the program that a container image starts: in an OCI layout,
// which is a directory or an archive, or in what docker save writes, packed with
// gzip or not. Images are other people's: names do not leave the image, and one
// budget bounds what is read of all its layers together.
package image

import (
	"errors"
	"io"
	"path"
)

// ErrNone is the error of a file that is no image.
var ErrNone = errors.New("no image")

// ErrZstd is the error of an image of which a layer has to be read that is packed
// with zstd: Go's library does not unpack it.
var ErrZstd = errors.New("packed with zstd, which snug does not read")

// Entrypoint is the program that an image starts, open for reading.
type Entrypoint struct {
	*io.SectionReader
	// Path is where the image says it is, without the first slash. It may be a
	// link there.
	Path string
	// Platform is what the program is for, as in "linux/amd64"; "" = the image
	// does not say. Platforms is of how many this one was taken.
	Platform  string
	Platforms int

	image *image
}

// Close ends reading. No file is left behind.
func (p *Entrypoint) Close() error { return p.image.close() }

// image is one image, as far as it has been read.
type image struct {
	store  store
	spool  *spool
	left   *budget
	layers []string          // by their names in the store, the topmost first
	read   map[string]*layer // by the same names
	wanted map[string]bool   // paths that are kept when they are passed
}

func (im *image) close() error { return errors.Join(im.store.close(), im.spool.close()) }

// Open finds the program that an image starts. The error is ErrNone when name is
// neither a directory with an index.json nor a tar archive with one or with a
// manifest.json. Of an image for several platforms linux/amd64 is taken, else
// linux/arm64, else the first that it names.
func Open(name string) (*Entrypoint, error) {
	b := standard
	return openWithin(name, &b)
}

func openWithin(name string, b *budget) (*Entrypoint, error) {
	spool := &spool{}
	s, err := openStore(name, spool, b)
	if err != nil {
		spool.close()
		return nil, err
	}
	return openIn(s, spool, b)
}

func openIn(s store, spool *spool, b *budget) (*Entrypoint, error) {
	im := &image{store: s, spool: spool, left: b, read: map[string]*layer{}, wanted: map[string]bool{}}
	p, err := im.program()
	if err != nil {
		im.close()
		return nil, err
	}
	return p, nil
}

func (im *image) program() (*Entrypoint, error) {
	d, err := describe(im.store, im.left)
	if err != nil {
		return nil, err
	}
	im.layers = d.layers
	candidates, searched := d.config.programs()
	if len(candidates) == 0 {
		return nil, errors.New("an image that starts nothing")
	}
	// All of them are kept in the one pass through a layer.
	for _, p := range candidates {
		im.wanted[p] = true
	}
	for _, p := range candidates {
		f, err := im.resolve(p)
		if err != nil {
			return nil, err
		}
		if f == nil || searched && !f.executable {
			continue
		}
		r, err := im.content(f)
		if err != nil {
			return nil, err
		}
		return &Entrypoint{SectionReader: r, Path: p, Platform: d.platform, Platforms: d.platforms, image: im}, nil
	}
	return nil, errors.New("an image without its program " + candidates[0])
}

// content is a file of a layer. Where the layer was read before it was known that
// the file is the program, the layer is read once more, up to the file.
func (im *image) content(f *found) (*io.SectionReader, error) {
	if kept := f.layer.kept[f.path]; kept != nil {
		return kept, nil
	}
	if f.size > im.left.program {
		return nil, errors.New("a program that is too large, " + path.Base(f.path))
	}
	return im.again(f)
}
