// SPDX-License-Identifier: Apache-2.0

// Package image finds the program that a container image starts, in an OCI layout, which is a
// directory or an archive, or in the output of docker save, compressed with gzip or not.
// Images are not trusted: names do not leave the image, and one budget bounds the reading of
// all its layers together.
package image

import (
	"errors"
	"io"
	"path"
)

// ErrNone is the error for a file that is not an image.
var ErrNone = errors.New("not an image")

// ErrZstd is the error for an image that needs a layer compressed with zstd, which Go's
// standard library cannot decompress.
var ErrZstd = errors.New("packed with zstd, which snug does not read")

// Entrypoint is the program that an image starts, open for reading.
type Entrypoint struct {
	*io.SectionReader
	// Path is its path in the image, without the first slash. It may be a link.
	Path string
	// Platform is the platform of the program, "linux/amd64"; "" = unknown. Platforms is how
	// many the image has.
	Platform  string
	Platforms int

	image *image
}

// Close closes the image. No file is left behind.
func (p *Entrypoint) Close() error { return p.image.close() }

// image is one image, with the layers read so far.
type image struct {
	store  store
	spool  *spool
	left   *budget
	layers []string          // names in the store, the topmost first
	read   map[string]*layer // by name
	wanted map[string]bool   // paths to keep when a layer is read
}

func (im *image) close() error { return errors.Join(im.store.close(), im.spool.close()) }

// Open finds the program that an image starts. It returns ErrNone if name is neither a
// directory with an index.json nor a tar archive with an index.json or a manifest.json. For
// several platforms it uses linux/amd64, or else linux/arm64, or else the first.
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
		return nil, errors.New("the image starts no program")
	}
	// One pass through a layer keeps all candidates.
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
	return nil, errors.New("the image lacks its program " + candidates[0])
}

// content returns a file of a layer. If the file was not kept when the layer was read, it
// reads the layer again, up to the file.
func (im *image) content(f *found) (*io.SectionReader, error) {
	if kept := f.layer.kept[f.path]; kept != nil {
		return kept, nil
	}
	if f.size > im.left.program {
		return nil, errors.New("the program is too large, " + path.Base(f.path))
	}
	return im.reread(f)
}
