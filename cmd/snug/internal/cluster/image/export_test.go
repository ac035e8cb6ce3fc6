// SPDX-License-Identifier: Apache-2.0

package image

import (
	"bytes"
	"io"
)

// Program writes the program of an image to w, and returns its path.
func Program(name string, w io.Writer) (string, error) {
	return written(w)(Open(name))
}

// ProgramIn is Program for an archive in memory.
func ProgramIn(archive []byte, w io.Writer) (string, error) {
	b := standard
	s, err := readTar(bytes.NewReader(archive), int64(len(archive)), io.NopCloser(nil), &b)
	if err != nil {
		return "", err
	}
	return written(w)(openIn(s, &spool{}, &b))
}

func written(w io.Writer) func(*Entrypoint, error) (string, error) {
	return func(p *Entrypoint, err error) (string, error) {
		if err != nil {
			return "", err
		}
		defer p.Close()
		_, err = io.Copy(w, p)
		return p.Path, err
	}
}

// Allowance is a budget, or what is left of it.
type Allowance struct {
	Bytes, Headers, Keep  int64
	Entries, Names, Steps int
}

// Spent opens an image with a budget, and returns what that used. 0 = the standard value.
func Spent(name string, a Allowance) (Allowance, error) {
	b := standard
	set := func(to *int64, v int64) {
		if v != 0 {
			*to = v
		}
	}
	count := func(to *int, v int) {
		if v != 0 {
			*to = v
		}
	}
	set(&b.bytes, a.Bytes)
	set(&b.headers, a.Headers)
	set(&b.keep, a.Keep)
	count(&b.entries, a.Entries)
	count(&b.names, a.Names)
	count(&b.steps, a.Steps)
	before := b
	p, err := openWithin(name, &b)
	if err == nil {
		p.Close()
	}
	return Allowance{
		before.bytes - b.bytes, before.headers - b.headers, before.keep - b.keep,
		before.entries - b.entries, before.names - b.names, before.steps - b.steps,
	}, err
}
