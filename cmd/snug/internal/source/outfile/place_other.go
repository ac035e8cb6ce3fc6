// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package outfile

import (
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
)

// A place is a name in a directory.
type place struct{ dir, base, direct string }

func find(name string) (*place, error) {
	p := &place{}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		name = real
	} else if _, err := os.Lstat(name); err == nil {
		p.direct = name // a link to a missing file
	}
	if descriptor(name) {
		p.direct = name
	}
	p.dir, p.base = filepath.Split(name)
	return p, nil
}

func (p *place) open(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return os.OpenFile(p.dir+name, flag, mode)
}

func (p *place) target(flag int) (*os.File, error) {
	return os.OpenFile(p.dir+p.base, flag, newMode)
}

func (p *place) close() {}

type temp struct {
	*os.File
	p    *place
	name string
}

func (p *place) create(fs.FileInfo) (*temp, error) {
	name := ".snug-" + strconv.FormatUint(rand.Uint64(), 36) + ".tmp"
	f, err := p.open(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newMode)
	return &temp{f, p, name}, err
}

func (f *temp) put(old *os.File, _ fs.FileInfo) error {
	old.Close() // Windows renames no file over an open one
	f.Close()
	return os.Rename(f.p.dir+f.name, f.p.dir+f.p.base)
}

func (f *temp) discard() {
	f.Close()
	os.Remove(f.p.dir + f.name)
}
