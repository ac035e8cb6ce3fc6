// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"io"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Guest is Go code in a process beside its executable: a library built with -buildmode=c-shared, which
// has a runtime of its own, as gccgo's programs have, or a plugin, which has not. Nothing of it is
// read.
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

// Guest returns the first Go code in the files that a process has mapped beside its executable. A
// library without section headers is not recognised, nor is gccgo's runtime if it was linked
// statically.
func (c *Cache) Guest(p *proc.Process) Guest {
	exe, _, err := p.Exe()
	if err != nil {
		return Guest{}
	}
	objects, err := p.Objects()
	if err != nil {
		return Guest{}
	}
	for _, o := range objects {
		if o.Path == exe {
			continue
		}
		if g := c.guest(p, o); g.Path != "" {
			return g
		}
	}
	return Guest{}
}

// guest looks at one file. It is cached by its path and number, because most processes map the same
// few libraries.
func (c *Cache) guest(p *proc.Process, o proc.Object) Guest {
	key := o.ID + " " + o.Path
	c.mu.Lock()
	g, known := c.objects[key]
	c.mu.Unlock()
	if known {
		return g
	}
	f, err := p.OpenObject(o)
	if err != nil {
		return Guest{}
	}
	defer f.Close()
	e, err := ReadExeAt(f)
	if err != nil {
		return Guest{}
	}
	if e.IsGo || e.gccgo() {
		g = Guest{Path: o.Path, Version: e.GoVersion, Gccgo: !e.IsGo}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.objects == nil || len(c.objects) >= maxPrograms {
		c.objects = map[string]Guest{}
	}
	c.objects[key] = g
	return g
}

// gccgoBuilt ends What of a program or library that needs gccgo's runtime, or is it.
const gccgoBuilt = " program that gccgo built"

func (e *Exe) gccgo() bool { return strings.HasSuffix(e.What, gccgoBuilt) }

// libgo begins the name of gccgo's runtime among the names that a file needs.
var libgo = []byte("\x00libgo.so.")

// byGccgo reports whether a file names gccgo's runtime as its own name or as one that it needs
// (elf(5), DT_SONAME and DT_NEEDED).
func byGccgo(r io.ReaderAt) bool {
	const maxNames = 1 << 20
	h, err := gobin.ReadHeaders(r)
	if err != nil {
		return false
	}
	s := h.Section(".dynstr")
	if s == nil {
		return false
	}
	names := make([]byte, min(s.Size, maxNames))
	n, _ := r.ReadAt(names, int64(min(s.Off, 1<<62)))
	return bytes.Contains(names[:max(0, n)], libgo)
}
