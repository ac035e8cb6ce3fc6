// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
)

// store has blobs by their names in a layout.
type store interface {
	open(name string) (blob, error)
	close() error
}

// blob is a file of a store.
type blob struct {
	*io.SectionReader
	io.Closer
}

func openStore(name string, spool *spool, b *budget) (store, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		root, err := os.OpenRoot(name)
		if err != nil {
			return nil, err
		}
		if _, err := root.Lstat("index.json"); err != nil {
			root.Close()
			return nil, ErrNone
		}
		return dirStore{root}, nil
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNone
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	s, err := openArchive(f, spool, b)
	if err != nil {
		f.Close()
		return nil, err
	}
	return s, nil
}

// openArchive opens an archive, compressed with gzip or not. Closing the store closes it.
func openArchive(f *os.File, spool *spool, b *budget) (store, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	magic := make([]byte, 2)
	if _, err := f.ReadAt(magic, 0); err != nil || !bytes.Equal(magic, gzipMagic) {
		return readTar(f, info.Size(), f, b)
	}
	r, err := unpackArchive(f, spool, b)
	if err != nil {
		return nil, err
	}
	return readTar(r, r.Size(), f, b)
}

// unpackArchive decompresses an archive into the spool, because its files are not read in
// order.
func unpackArchive(f *os.File, spool *spool, b *budget) (*io.SectionReader, error) {
	source, err := bounded.Wrap(context.Background(), io.NopCloser(f), f.Name(), bounded.Limits{Bytes: b.bytes, Unpacked: b.bytes})
	if err != nil {
		return nil, ErrNone
	}
	r := bufio.NewReader(source)
	if head, _ := r.Peek(block); !isTar(head) {
		return nil, ErrNone
	}
	unpacked, err := spool.add(&meter{r: r, left: b})
	if errors.Is(err, bounded.ErrTooMuch) {
		return nil, errors.Unwrap(err) // without the name
	}
	return unpacked, inArchive(err)
}

// inArchive returns the error of the archive that contains the image.
func inArchive(err error) error {
	if err == errDamaged {
		return errors.New("a damaged archive")
	}
	return err
}

type dirStore struct{ root *os.Root }

func (d dirStore) open(name string) (blob, error) {
	// Opening a pipe could block forever.
	if info, err := d.root.Stat(name); err != nil || !info.Mode().IsRegular() {
		return blob{}, errors.New("no file, " + name)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return blob{}, err
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return blob{}, errors.New("no file, " + name)
	}
	return blob{io.NewSectionReader(f, 0, info.Size()), f}, nil
}

func (d dirStore) close() error { return d.root.Close() }

// tarStore is an archive with the offsets of its files.
type tarStore struct {
	io.ReaderAt
	io.Closer
	at map[string]place
}

// place is the place of a file in an archive.
type place struct {
	offset, size int64
	link         string // the name of the file that it links to; "" = it is no link
}

// block is the length of a header. Its magic is at offset 257 (POSIX.1-2017, pax, ustar
// interchange format).
const block = 512

func isTar(head []byte) bool {
	return len(head) == block && bytes.Equal(head[257:262], []byte("ustar"))
}

// readTar lists the files of an archive. The store closes c.
func readTar(r io.ReaderAt, size int64, c io.Closer, b *budget) (store, error) {
	head := make([]byte, block)
	if _, err := r.ReadAt(head, 0); err != nil || !isTar(head) {
		return nil, ErrNone
	}
	s := tarStore{r, c, map[string]place{}}
	section := io.NewSectionReader(r, 0, size)
	err := b.walk(section, func(h *tar.Header, _ io.Reader) error {
		name := inImage(h.Name)
		switch h.Typeflag {
		case tar.TypeReg:
			// archive/tar has read up to the end of the header.
			at, err := section.Seek(0, io.SeekCurrent)
			if err != nil {
				return err
			}
			s.at[name] = place{offset: at, size: h.Size}
		case tar.TypeSymlink:
			// Older releases of docker save write a repeated layer like this.
			s.at[name] = place{link: inImage(path.Join(path.Dir(name), h.Linkname))}
		case tar.TypeLink:
			s.at[name] = place{link: inImage(h.Linkname)}
		}
		return nil
	})
	if err != nil {
		return nil, inArchive(err)
	}
	if _, ok := s.at["manifest.json"]; !ok {
		if _, ok := s.at["index.json"]; !ok {
			return nil, ErrNone
		}
	}
	return s, nil
}

func (s tarStore) open(name string) (blob, error) {
	name = inImage(name)
	at, ok := s.at[name]
	for range maxLinks {
		if !ok || at.link == "" {
			break
		}
		at, ok = s.at[at.link]
	}
	if !ok || at.link != "" {
		return blob{}, errors.New("no file, " + name)
	}
	return blob{io.NewSectionReader(s, at.offset, at.size), io.NopCloser(nil)}, nil
}

func (s tarStore) close() error { return s.Close() }

// inImage returns a clean name without its first slash, which does not leave the image.
func inImage(name string) string {
	return strings.TrimPrefix(path.Clean("/"+name), "/")
}

func readJSON(s store, name string, b *budget, into any) error {
	r, err := s.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Size() > maxJSON {
		return errors.New("too large, " + name)
	}
	text, err := io.ReadAll(&meter{r: r, left: b})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("damaged, " + name)
	}
	return nil
}

// spool is a temporary file for decompressed data. If the system can remove an open file, it
// has no name, so that nothing is left behind when snug is killed.
type spool struct {
	f    *os.File
	name string // "" = removed
	size int64
}

// add appends all of r.
func (s *spool) add(r io.Reader) (*io.SectionReader, error) {
	if s.f == nil {
		f, err := os.CreateTemp("", "snug-image-*")
		if err != nil {
			return nil, err
		}
		if s.f = f; os.Remove(f.Name()) != nil {
			s.name = f.Name()
		}
	}
	at := s.size
	n, err := io.Copy(io.NewOffsetWriter(s.f, at), r)
	s.size += n
	if err == nil {
		return io.NewSectionReader(s.f, at, n), nil
	}
	var file *fs.PathError
	if errors.As(err, &file) || errors.Is(err, bounded.ErrTooMuch) {
		return nil, err
	}
	return nil, damage(err)
}

func (s *spool) close() error {
	if s.f == nil {
		return nil
	}
	err := s.f.Close()
	if s.name != "" {
		err = errors.Join(err, os.Remove(s.name))
	}
	return err
}
