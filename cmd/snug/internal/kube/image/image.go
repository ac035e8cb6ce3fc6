// SPDX-License-Identifier: Apache-2.0

// Package image takes the program that a container image starts out of the
// image: an OCI layout in a directory or an archive, or what docker save writes.
// Images are other people's: names do not leave the image, and sizes are
// bounded.
package image

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
)

// The limits of what is read.
const (
	maxJSON    = 8 << 20
	maxLayer   = 8 << 30 // bytes of one layer, unpacked
	maxProgram = 1 << 30
	maxEntries = 2_000_000
	maxLinks   = 16
	maxIndex   = 3 // indexes within indexes
)

// ErrNone is the error of a file that is no image.
var ErrNone = errors.New("no image")

// store is where blobs are, by their names in a layout.
type store interface {
	open(name string) (io.ReadCloser, error)
	close() error
}

// Program writes the program that an image starts to w, and returns its path in
// the image. The error is ErrNone when name is neither a directory with an
// index.json nor a tar archive with one or with a manifest.json.
func Program(name string, w io.Writer) (string, error) {
	s, err := openStore(name)
	if err != nil {
		return "", err
	}
	defer s.close()
	config, layers, err := describe(s)
	if err != nil {
		return "", err
	}
	candidates := config.programs()
	if len(candidates) == 0 {
		return "", errors.New("an image that starts nothing")
	}
	for _, p := range candidates {
		found, err := extract(s, layers, p, w)
		if err != nil {
			return "", err
		}
		if found {
			return p, nil
		}
	}
	return "", fmt.Errorf("an image without its program %s", candidates[0])
}

func openStore(name string) (store, error) {
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
	return openTar(name)
}

type dirStore struct{ root *os.Root }

func (d dirStore) open(name string) (io.ReadCloser, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.New("no file, " + name)
	}
	return f, nil
}

func (d dirStore) close() error { return d.root.Close() }

// tarStore is an archive whose files are found by their offsets.
type tarStore struct {
	f  *os.File
	at map[string][2]int64 // offset, size
}

func openTar(name string) (store, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 512)
	if _, err := io.ReadFull(f, head); err != nil || !bytes.Equal(head[257:262], []byte("ustar")) {
		f.Close()
		return nil, ErrNone
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		f.Close()
		return nil, err
	}
	s := tarStore{f, map[string][2]int64{}}
	r := tar.NewReader(f)
	for {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil || len(s.at) > maxEntries {
			f.Close()
			return nil, errors.New("a damaged archive")
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		// The reader of archives reads no further than the header.
		at, err := f.Seek(0, io.SeekCurrent)
		if err != nil {
			f.Close()
			return nil, err
		}
		s.at[path.Clean(h.Name)] = [2]int64{at, h.Size}
	}
	if _, ok := s.at["manifest.json"]; !ok {
		if _, ok := s.at["index.json"]; !ok {
			f.Close()
			return nil, ErrNone
		}
	}
	return s, nil
}

func (s tarStore) open(name string) (io.ReadCloser, error) {
	at, ok := s.at[path.Clean(name)]
	if !ok {
		return nil, errors.New("no file, " + name)
	}
	return io.NopCloser(io.NewSectionReader(s.f, at[0], at[1])), nil
}

func (s tarStore) close() error { return s.f.Close() }

// config is the part of an image's configuration that says what it starts.
// Source: github.com/opencontainers/image-spec, config.md.
type config struct {
	Config struct {
		Entrypoint, Cmd, Env []string
		WorkingDir           string
	} `json:"config"`
}

// programs are the paths that the image's program may have, without their first
// slash.
func (c *config) programs() []string {
	words := append(append([]string{}, c.Config.Entrypoint...), c.Config.Cmd...)
	if len(words) == 0 || words[0] == "" {
		return nil
	}
	if p := words[0]; strings.Contains(p, "/") {
		if !path.IsAbs(p) {
			p = path.Join("/", c.Config.WorkingDir, p)
		}
		return []string{strings.TrimPrefix(path.Clean(p), "/")}
	}
	where := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	for _, e := range c.Config.Env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			where = p
		}
	}
	var all []string
	for _, dir := range strings.Split(where, ":") {
		if path.IsAbs(dir) && len(all) < 32 {
			all = append(all, strings.TrimPrefix(path.Join(dir, words[0]), "/"))
		}
	}
	return all
}

// describe reads what an image starts and the names of its layers, the lowest
// first.
func describe(s store) (*config, []string, error) {
	// What docker save writes: manifest.json names files.
	var saved []struct {
		Config string
		Layers []string
	}
	if err := readJSON(s, "manifest.json", &saved); err == nil && len(saved) > 0 {
		c := &config{}
		return c, saved[0].Layers, readJSON(s, saved[0].Config, c)
	}
	name := "index.json"
	for range maxIndex {
		var m struct {
			Manifests []struct {
				Digest, MediaType string
				Platform          struct{ OS, Architecture string }
			}
			Config struct{ Digest string }
			Layers []struct{ Digest string }
		}
		if err := readJSON(s, name, &m); err != nil {
			return nil, nil, err
		}
		if m.Config.Digest != "" {
			var layers []string
			for _, l := range m.Layers {
				layers = append(layers, blob(l.Digest))
			}
			c := &config{}
			return c, layers, readJSON(s, blob(m.Config.Digest), c)
		}
		name = ""
		for _, one := range m.Manifests {
			// Beside images there are attestations, of no platform.
			if p := one.Platform; p.OS == "unknown" || p.OS != "" && p.OS != "linux" {
				continue
			}
			if name == "" || one.Platform.Architecture == "amd64" {
				name = blob(one.Digest)
			}
		}
		if name == "" {
			break
		}
	}
	return nil, nil, errors.New("an index without an image for Linux")
}

// blob is the file of a digest.
func blob(digest string) string {
	algorithm, hash, _ := strings.Cut(digest, ":")
	return path.Join("blobs", path.Base(path.Clean("/"+algorithm)), path.Base(path.Clean("/"+hash)))
}

func readJSON(s store, name string, into any) error {
	r, err := s.open(name)
	if err != nil {
		return err
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxJSON+1))
	if err != nil {
		return err
	}
	if len(text) > maxJSON {
		return errors.New("too large, " + name)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return errors.New("damaged, " + name)
	}
	return nil
}

// extract writes a file of an image. found is false where it has none.
func extract(s store, layers []string, file string, w io.Writer) (found bool, err error) {
	for range maxLinks {
		next := ""
		for i := len(layers) - 1; i >= 0; i-- {
			to, state, err := search(s, layers[i], file, w)
			if err != nil {
				return false, err
			}
			switch state {
			case written:
				return true, nil
			case removed:
				return false, nil
			case link:
				next = to
			}
			if next != "" {
				break
			}
		}
		if next == "" || next == file {
			return false, nil
		}
		file = next
	}
	return false, nil
}

type state int

const (
	absent state = iota
	written
	removed
	link // to another file
)

// search looks for a file in one layer.
func search(s store, layer, file string, w io.Writer) (to string, found state, err error) {
	raw, err := s.open(layer)
	if err != nil {
		return "", absent, err
	}
	defer raw.Close()
	r, err := unpacked(raw)
	if err != nil {
		return "", absent, fmt.Errorf("%w, layer %s", err, path.Base(layer))
	}
	archive := tar.NewReader(io.LimitReader(r, maxLayer))
	for range maxEntries {
		h, err := archive.Next()
		if err == io.EOF {
			return "", found, nil
		}
		if err != nil {
			return "", absent, errors.New("damaged, layer " + path.Base(layer))
		}
		name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
		dir, base := path.Split(name)
		if gone, ok := strings.CutPrefix(base, ".wh."); ok {
			if gone == ".wh..opq" && strings.HasPrefix(file, dir) || within(file, dir+gone) {
				found = removed // unless this layer brings it again
			}
			continue
		}
		switch {
		case h.Typeflag == tar.TypeSymlink && within(file, name):
			target := h.Linkname
			if !path.IsAbs(target) {
				target = path.Join("/", dir, target)
			}
			return strings.TrimPrefix(path.Clean(path.Join("/", target, strings.TrimPrefix(file, name))), "/"), link, nil
		case name != file:
		case h.Typeflag == tar.TypeLink:
			return strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"), link, nil
		case h.Typeflag == tar.TypeReg:
			if h.Size > maxProgram {
				return "", absent, errors.New("a program that is too large")
			}
			_, err := io.Copy(w, io.LimitReader(archive, maxProgram))
			return "", written, err
		}
	}
	return "", absent, errors.New("too many files, layer " + path.Base(layer))
}

// within tells whether a file is name or below it.
func within(file, name string) bool { return file == name || strings.HasPrefix(file, name+"/") }

// unpacked undoes gzip.
func unpacked(r io.Reader) (io.Reader, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	all := io.MultiReader(bytes.NewReader(head[:n]), r)
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return gzip.NewReader(all)
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return nil, errors.New("packed with zstd, which snug does not read")
	}
	return all, nil
}
