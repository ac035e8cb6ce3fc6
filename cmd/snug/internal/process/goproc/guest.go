// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"syscall"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Guest is Go code in a process that is not read: a library built with -buildmode=c-shared, which has a
// runtime of its own, a plugin, which has not, or what gccgo built.
type Guest struct {
	// Path is the file's path in the process's own mount namespace; "" = there is no such code. It
	// may hold any bytes.
	Path string
	// Version is the toolchain's as recorded in the file, "go1.26.8"; "" = unknown.
	Version string
	Gccgo   bool
}

// String returns what it is, in a few words.
func (g Guest) String() string {
	switch {
	case g.Gccgo:
		return "Go built by gccgo, " + g.Path
	case g.Version != "":
		return "Go in a library, " + g.Path + " (" + g.Version + ")"
	}
	return "Go in a library, " + g.Path
}

// alone is a program with as many bytes of code beside it as a process of it had in which there is no Go.
type alone struct {
	exe  proc.FileID
	code int64
}

// Guest returns the first Go code in the files that a process has mapped beside its executable, or the
// executable itself if gccgo built it. A file without section headers is not recognised. If a process of the
// same executable had just as many bytes of code mapped and no Go among it, Guest reads nothing more. The error is that
// of the budget, or of a read that failed: whether there is such code is unknown.
func (c *Cache) Guest(p *proc.Process) (Guest, error) {
	exe, _, err := p.Exe()
	if err != nil {
		return Guest{}, failed(err)
	}
	id, err := p.ExeID()
	if err != nil {
		return Guest{}, failed(err)
	}
	key := alone{id, proc.CodeOf(p.Pid())}
	c.mu.Lock()
	known := c.alone[key]
	c.mu.Unlock()
	if known {
		return Guest{}, nil
	}
	p = p.Narrow(maxGuests, maxGuestsCalls)
	objects, err := p.Objects()
	if errors.Is(err, proc.ErrTooMuch) {
		return Guest{}, err
	}
	if err != nil {
		return Guest{}, cmp.Or(p.Budget().Over(), failed(err))
	}
	all := true
	var unread error
	for _, o := range objects {
		g, err := c.guest(p, o)
		if err := p.Budget().Over(); err != nil {
			return Guest{}, err
		}
		all, unread = all && err == nil, cmp.Or(unread, failed(err))
		// The executable is no guest of its own, unless no Go that snug reads built it.
		if g.Path != "" && (o.Path != exe || g.Gccgo) {
			return g, nil
		}
	}
	if all && key.code > 0 && len(objects) > 0 && p.Same() == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		makeRoom(c.alone, maxPrograms)
		c.alone[key] = true
	}
	return Guest{}, unread
}

// failed returns an error that has a number of the kernel. Other errors are facts: the process ended, there is no such
// file, its owner may not be asked, it is no program.
func failed(err error) error {
	if _, ok := errors.AsType[syscall.Errno](err); ok {
		return err
	}
	return nil
}

// guest looks at one file. It is cached by its path and number, because most processes map the same
// few libraries.
func (c *Cache) guest(p *proc.Process, o proc.Object) (g Guest, err error) {
	key := o.ID + " " + o.Path
	c.mu.Lock()
	g, known := c.objects[key]
	c.mu.Unlock()
	if known {
		return g, nil
	}
	f, err := p.OpenObject(o)
	if err != nil {
		return Guest{}, err
	}
	defer f.Close()
	e, err := ReadExeAt(f)
	if err = cmp.Or(err, p.Budget().Over()); err != nil {
		return Guest{}, err
	}
	if e.IsGo || e.Gccgo() {
		g = Guest{Path: o.Path, Version: e.GoVersion, Gccgo: !e.IsGo}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	makeRoom(c.objects, maxPrograms)
	c.objects[key] = g
	return g, nil
}

// gccgoBuilt ends What of a program or library that gccgo built.
const gccgoBuilt = " program that gccgo built"

// GccgoHint is the hint for what gccgo built.
const GccgoHint = "snug reads what the go command builds without -compiler=gccgo"

// Gccgo reports whether gccgo built it.
func (e *Exe) Gccgo() bool { return strings.HasSuffix(e.What, gccgoBuilt) }

// byGccgo reports whether a file has gccgo's section of export data, which stripping leaves (gcc/go,
// go-backend.c).
func byGccgo(r io.ReaderAt) bool {
	h, err := gobin.ReadHeaders(r)
	return err == nil && h.Section(".go_export") != nil
}
