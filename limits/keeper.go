// SPDX-License-Identifier: Apache-2.0

package limits

// A keeper is a tree that keeps files open once they are read, except for long ones, which are
// read rarely. Reading one again takes one system call and no allocation.
type keeper struct {
	opener
	files map[string]*kept
}

type kept struct {
	f   file  // nil when it could not be opened
	err error // why it could not be opened
}

func (k *keeper) read(name string, buf []byte, long bool) ([]byte, error) {
	if long {
		return k.opener.read(name, buf, long)
	}
	e := k.files[name]
	if e == nil {
		e = new(kept)
		e.f, e.err = k.open(name)
		k.files[name] = e
	}
	if e.f == nil {
		return nil, e.err
	}
	return readFile(e.f, buf, false)
}

// retry forgets the files that could not be opened, so that they are opened again.
func (k *keeper) retry() {
	for name, e := range k.files {
		if e.f == nil {
			delete(k.files, name)
		}
	}
}

func (k *keeper) closeAll() {
	for _, e := range k.files {
		if e.f != nil {
			e.f.close()
		}
	}
	k.files = map[string]*kept{}
}
