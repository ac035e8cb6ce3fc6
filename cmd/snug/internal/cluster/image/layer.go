// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
)

// kind is the kind of a file in a layer.
type kind uint8

const (
	nothing kind = iota // it may still remove a file of lower layers
	directory
	regular
	symlink
	hardlink
	other
)

// entry is the entry of a layer for a path.
// Source: github.com/opencontainers/image-spec, layer.md.
type entry struct {
	kind       kind
	executable bool
	removes    bool // removes the path in lower layers
	opaque     bool // removes the contents of the directory in lower layers
	number     int  // index of the file in the archive
	size       int64
	to         string // the target of a link
}

// layer is the list of a layer's files, with the directories that their paths imply.
type layer struct {
	name string // in the store
	at   map[string]entry
	kept map[string]*io.SectionReader // wanted files, by path
}

// layer returns a layer, and reads it the first time. 0 is the topmost.
func (im *image) layer(i int) (*layer, error) {
	name := im.layers[i]
	if l := im.read[name]; l != nil {
		return l, nil
	}
	l := &layer{name, map[string]entry{"": {kind: directory}}, map[string]*io.SectionReader{}}
	number := -1
	err := im.walk(l, func(h *tar.Header, r io.Reader) error {
		number++
		return l.add(im, h, number, r)
	})
	if err != nil {
		return nil, err
	}
	im.read[name] = l
	return l, nil
}

// walk visits the files of a layer.
func (im *image) walk(l *layer, visit func(*tar.Header, io.Reader) error) error {
	b, err := im.store.open(l.name)
	if err != nil {
		return err
	}
	defer b.Close()
	r, err := unpacked(b, im.left)
	if err == nil {
		err = im.left.walk(r, visit)
	}
	if err == errDamaged || err == ErrZstd {
		return fmt.Errorf("%w, layer %s", err, path.Base(l.name))
	}
	return err
}

var gzipMagic = []byte{0x1f, 0x8b}

// unpacked returns the decompressed layer.
func unpacked(b blob, left *budget) (io.Reader, error) {
	head := make([]byte, 4)
	if _, err := b.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		// The input counts too, because it may decompress to nothing.
		r, err := gzip.NewReader(bufio.NewReader(&meter{r: b, left: left}))
		if err != nil {
			return nil, damage(err)
		}
		return r, nil
	case bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}), head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18}):
		// A frame, or a skippable frame. Source: RFC 8878, 3.1.
		return nil, ErrZstd
	}
	return b.SectionReader, nil
}

// add adds a file to the list.
func (l *layer) add(im *image, h *tar.Header, number int, r io.Reader) error {
	name := inImage(h.Name)
	if name == "" || len(name) > maxPath {
		return nil // the root, or a name that cannot exist
	}
	dir, base := path.Split(name)
	dir = strings.TrimSuffix(dir, "/")
	if gone, ok := strings.CutPrefix(base, ".wh."); ok {
		switch {
		case gone == ".wh..opq":
			return l.put(im.left, dir, func(e *entry) { e.kind, e.opaque = directory, true })
		case gone == "" || strings.HasPrefix(gone, ".wh."):
			return nil // aufs metadata
		}
		return l.put(im.left, path.Join(dir, gone), func(e *entry) { e.removes = true })
	}
	delete(l.kept, name)
	size := h.Size
	if err := l.put(im.left, name, func(e *entry) {
		// Of several files with a name, the last one counts.
		*e = entry{kind: kindOf(h.Typeflag), executable: h.Mode&0o111 != 0, removes: e.removes, opaque: e.opaque, number: number, size: size}
		if e.kind == symlink || e.kind == hardlink {
			e.to = strings.Clone(h.Linkname)
		}
	}); err != nil {
		return err
	}
	if !im.wanted[name] || kindOf(h.Typeflag) != regular || size > min(im.left.keep, im.left.program) {
		return nil
	}
	kept, err := im.spool.add(r)
	if err != nil {
		return err
	}
	im.left.keep -= kept.Size()
	l.kept[name] = kept
	return nil
}

// put changes the entry of a path, and adds its parent directories.
func (l *layer) put(left *budget, name string, change func(*entry)) error {
	e := l.at[name]
	change(&e)
	l.at[name] = e
	for name != "" {
		dir, _ := path.Split(name)
		name = strings.TrimSuffix(dir, "/")
		e, ok := l.at[name]
		if ok && e.kind != nothing {
			return nil
		}
		if !ok {
			if err := left.entry("", ""); err != nil {
				return err
			}
		}
		e.kind = directory
		l.at[name] = e
	}
	return nil
}

func kindOf(flag byte) kind {
	switch flag {
	case tar.TypeReg, tar.TypeGNUSparse:
		return regular
	case tar.TypeDir:
		return directory
	case tar.TypeSymlink:
		return symlink
	case tar.TypeLink:
		return hardlink
	}
	return other
}

// reread reads a layer again for a file.
func (im *image) reread(f *found) (*io.SectionReader, error) {
	number := -1
	var content *io.SectionReader
	err := im.walk(f.layer, func(_ *tar.Header, r io.Reader) error {
		if number++; number < f.number {
			return nil
		}
		var err error
		if content, err = im.spool.add(r); err == nil {
			err = errStop
		}
		return err
	})
	if err == nil && content == nil {
		err = errors.New("changed while it was read, layer " + path.Base(f.layer.name))
	}
	return content, err
}
