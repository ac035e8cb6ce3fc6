// SPDX-License-Identifier: Apache-2.0

// Package gobin reads Go executables: their functions, source lines and inlined calls, and the
// addresses of the runtime's variables. It needs neither a symbol table nor DWARF nor section
// headers.
//
// Functions come from pclntab, the table that the runtime itself uses for stack traces
// (cmd/link/internal/ld/pcln.go, runtime/symtab.go). Stripping does not remove it. A stripped
// program has no names of variables, so gobin finds their addresses by vote: it disassembles
// functions of the runtime that are always linked, and takes the address that most of them use
// in the expected way. See [File.Vars].
//
// All addresses are link-time addresses, as in the file. For a process that runs a
// position-independent executable, add its load bias.
//
// The input may be hostile: every count is bounded by the size of the file, and no input makes a
// function panic.
package gobin

import (
	"cmp"
	"errors"
	"io"
	"sync"
)

var (
	// ErrNotGo means that the file is not a Go program, or not recognisable as one (packed,
	// obfuscated, built by gccgo or TinyGo).
	ErrNotGo = errors.New("not a Go executable")
	// ErrUnsupported means that this package cannot read the file, although it may be a Go
	// program. It is wrapped with a description of the file.
	ErrUnsupported = errors.New("unsupported executable")
)

// File is an open executable. Several goroutines may call its methods at once. Its reader must
// stay open as long as the File is used.
type File struct {
	// Version is the toolchain's version as recorded in the file: "go1.26.8"; "" = not recorded.
	Version string
	// Minor is 26 for Go 1.26.8 and for the development versions of 1.26; 0 = unknown.
	Minor int
	// Arch is "amd64" or "arm64".
	Arch string
	// PIE reports that the kernel chooses the load address.
	PIE bool
	// Entry is e_entry of the ELF header. The load bias of a process is AT_ENTRY of its auxiliary
	// vector less Entry.
	Entry uint64
	// BuildID is Go's build ID or, if that is empty, GNU's in hexadecimal; "" = none. Stripping
	// changes neither, so use it together with the size of the file as a cache key.
	BuildID string
	// TextStart is runtime.text. It is not the address of the section .text, which starts with C
	// code in programs linked by a C linker.
	TextStart uint64
	// Funcs is the number of functions.
	Funcs int

	src *source
	img *image
	tab *pclntab

	mu     sync.Mutex // guards the page caches of tab
	vars   once[Vars]
	layout once[Layout]
}

// once is a value that is made when it is first needed. It is not sync.OnceValue, whose function
// would be in every program that opens a file.
type once[T any] struct {
	sync.Once
	value T
}

// Open opens an executable of size bytes. The error is ErrNotGo or ErrUnsupported, wrapped, or a
// read error.
func Open(r io.ReaderAt, size int64) (*File, error) {
	return OpenLive(r, size, nil, 0)
}

// OpenLive is Open for the executable of a process. Words that only the loader fills in are read
// from mem, the address space of the process, in which the file is loaded at its addresses plus
// bias.
func OpenLive(r io.ReaderAt, size int64, mem io.ReaderAt, bias uint64) (*File, error) {
	file := &source{ReaderAt: r}
	f, err := openLive(file, size, mem, bias)
	if failed := file.failed(); failed != nil {
		return nil, failed
	}
	return f, err
}

func openLive(r *source, size int64, mem io.ReaderAt, bias uint64) (*File, error) {
	img, err := readImage(r, size, mem, bias)
	if err != nil {
		return nil, err
	}
	f := &File{Arch: img.arch, PIE: img.pie, Entry: img.entry, BuildID: img.buildID(), src: r, img: img}
	f.Version = img.goVersion()
	f.Minor = minor(f.Version)
	if f.tab, err = openPclntab(img); err != nil {
		return nil, err
	}
	f.TextStart, f.Funcs = f.tab.text, f.tab.nfunc
	f.tab.wrapperID = records[f.Minor].Wrapper
	return f, nil
}

// Err returns the first error of reading the file since it was opened: what was not found since then may be there.
func (f *File) Err() error { return f.src.failed() }

// source is a file. It keeps the first error of reading.
type source struct {
	io.ReaderAt
	mu  sync.Mutex
	err error
}

func (s *source) ReadAt(p []byte, off int64) (int, error) {
	n, err := s.ReaderAt.ReadAt(p, off)
	if err != nil && err != io.EOF {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = cmp.Or(s.err, err)
	}
	return n, err
}

func (s *source) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Frame is one call on a logical stack.
type Frame struct {
	// Function is the name as the runtime prints it: type arguments are "[...]".
	Function string
	// File is the name that the compiler was given, or "?". With -trimpath it starts with the
	// module path.
	File string
	// Line is 0 if unknown.
	Line int
	// Inlined reports that the call was inlined into the function of the next frame.
	Inlined bool
	// Wrapper reports that the compiler made the function to call another. Stack traces leave it
	// out. It is only known of releases.
	Wrapper bool
	// Symbol is the name as the linker knows it, with type arguments.
	Symbol string
	// Start is the line on which the function begins; 0 if unknown, as before Go 1.20.
	Start int
}

// Func returns the function at pc and its range [start, end). ok is false if there is no Go
// function, as in C code.
func (f *File) Func(pc uint64) (name string, start, end uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn, ok := f.tab.find(pc)
	if !ok {
		return "", 0, 0, false
	}
	return printed(f.tab.name(fn.nameOff)), fn.entry, fn.end, true
}

// Frames appends the calls at pc to dst, innermost first; nothing if there is no Go function. pc
// is an address within the instruction: for a return address on a stack, pass one less.
func (f *File) Frames(dst []Frame, pc uint64) []Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tab.frames(dst, pc)
}

// Vars returns the addresses of the runtime's variables. The first call does the
// work.
func (f *File) Vars() Vars {
	f.vars.Do(func() { f.vars.value = vote(f) })
	return f.vars.value
}

// Layout returns the offsets of fields in the runtime's variables. The first call does the work.
func (f *File) Layout() Layout {
	f.layout.Do(func() { f.layout.value = layoutOf(f) })
	return f.layout.value
}
