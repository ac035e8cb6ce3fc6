// SPDX-License-Identifier: Apache-2.0

package image

import (
	"path"
	"strings"
)

// found is a regular file of an image.
type found struct {
	entry
	layer *layer
	path  string // in the layer
}

// resolve follows a path through an image, as Linux does in an overlay of its layers. It
// reads only the layers that affect the path. It returns nil if there is no regular file.
// Source: path_resolution(7), and the kernel's filesystems/overlayfs.rst.
func (im *image) resolve(file string) (*found, error) {
	at, rest := "", file
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			at = inImage(path.Dir(at))
			continue
		}
		here := path.Join(at, name)
		if len(here) > maxPath {
			return nil, nil
		}
		f, err := im.lookup(here, 0)
		for err == nil && f.kind == hardlink && links < maxLinks {
			// Its target is the file as of its own layer.
			links++
			f, err = im.lookup(inImage(f.to), f.above)
		}
		if err != nil {
			return nil, err
		}
		switch f.kind {
		case directory:
			at = here
		case symlink:
			if links++; links > maxLinks || len(f.to)+len(rest) > maxPath {
				return nil, nil
			}
			if path.IsAbs(f.to) {
				at = ""
			}
			rest = f.to + "/" + rest
			// The target is probably in a lower layer: keep it when it passes.
			im.wanted[inImage(path.Join(at, rest))] = true
		case regular:
			if strings.Trim(rest, "/") != "" {
				return nil, nil
			}
			return &f.found, nil
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// result is the file at a path, and how many layers are above its layer.
type result struct {
	found
	above int
}

// lookup returns the file at a path in a layer or those below, without following links. Its
// kind is nothing if there is none.
func (im *image) lookup(name string, above int) (result, error) {
	for ; above < len(im.layers); above++ {
		l, err := im.layer(above)
		if err != nil {
			return result{}, err
		}
		e, decided, err := l.lookup(name, im.left)
		if err != nil {
			return result{}, err
		}
		if decided {
			return result{found{e, l, name}, above}, nil
		}
	}
	return result{}, nil
}

// lookup returns the entry at a path in one layer. decided is false if it depends on the
// layers below.
func (l *layer) lookup(name string, left *budget) (e entry, decided bool, err error) {
	for end := 0; ; {
		if left.steps--; left.steps < 0 {
			return entry{}, false, errSteps
		}
		e, ok := l.at[name[:end]]
		switch {
		case !ok:
			return entry{}, decided, nil
		case end == len(name):
			return e, decided || e.kind != nothing || e.removes, nil
		case e.kind != directory:
			// A file, or removed: it contains nothing.
			return entry{}, true, nil
		}
		decided = decided || e.removes || e.opaque
		if end > 0 {
			end++ // the slash
		}
		if i := strings.IndexByte(name[end:], '/'); i >= 0 {
			end += i
		} else {
			end = len(name)
		}
	}
}
