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

// resolve follows a path through an image as Linux does through the layers that
// lie on each other. It reads no more layers than say something of the path. It is
// nil where there is no regular file.
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
			// It is what it was when its layer was made.
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
			// Where it leads is likely to be found in a layer below.
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

// looked is what an image has at a path, and how many layers are above that one.
type looked struct {
	found
	above int
}

// lookup looks at a path without following links, in a layer and those below. It
// has no kind where there is nothing.
func (im *image) lookup(name string, above int) (looked, error) {
	for ; above < len(im.layers); above++ {
		l, err := im.layer(above)
		if err != nil {
			return looked{}, err
		}
		e, said, err := l.lookup(name, im.left)
		if err != nil {
			return looked{}, err
		}
		if said {
			return looked{found{e, l, name}, above}, nil
		}
	}
	return looked{}, nil
}

// lookup looks at a path in one layer. said is false where it depends on the
// layers below.
func (l *layer) lookup(name string, left *budget) (e entry, said bool, err error) {
	for end := 0; ; {
		if left.steps--; left.steps < 0 {
			return entry{}, false, errSteps
		}
		e, ok := l.at[name[:end]]
		switch {
		case !ok:
			return entry{}, said, nil
		case end == len(name):
			return e, said || e.kind != nothing || e.removes, nil
		case e.kind != directory:
			// A file, or nothing any more: there is nothing in it.
			return entry{}, true, nil
		}
		said = said || e.removes || e.opaque
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
