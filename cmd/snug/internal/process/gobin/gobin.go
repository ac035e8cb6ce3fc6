// SPDX-License-Identifier: Apache-2.0

// Package gobin reads Go executables: their functions, source lines and inlined
// calls, and where the runtime keeps the variables that tell how a program is
// set up. It needs neither a symbol table nor DWARF nor section headers.
//
// Functions come from pclntab, the table that the runtime itself uses for stack
// traces (cmd/link/internal/ld/pcln.go, runtime/symtab.go); no way of stripping
// removes it. Names of variables are gone from a stripped program, so their
// addresses are voted on: functions of the runtime that are always linked are
// disassembled, and the address that most of them use in the expected way is
// the variable's. See [File.Vars].
//
// All addresses are link-time addresses, those in the file; where a process runs
// a position-independent executable, add its load bias.
//
// What is read is hostile: every count is bounded by the size of the file, and
// no input makes a function panic.
package gobin

import (
	"errors"
	"io"
	"sync"
)

var (
	// ErrNotGo: the file is no Go program, or one whose traces of Go were
	// removed (packed, obfuscated, built by gccgo or TinyGo).
	ErrNotGo = errors.New("not a Go executable")
	// ErrUnsupported: maybe a Go program, but not one this package can read. It
	// comes wrapped with what it is.
	ErrUnsupported = errors.New("unsupported executable")
)

// File is an open executable. Its methods may be called from several goroutines
// at once. The reader it came from must stay readable as long as it is used.
type File struct {
	// Version is the toolchain's, as it writes it: "go1.26.8"; "" when the file
	// does not say.
	Version string
	// Minor is 26 for Go 1.26.8 and for the development versions of 1.26; 0 when
	// Version does not say.
	Minor int
	// Arch is "amd64" or "arm64".
	Arch string
	// PIE: the kernel chooses where it is loaded.
	PIE bool
	// Entry is the ELF header's e_entry. The load bias of a process is AT_ENTRY of
	// its auxiliary vector less Entry.
	Entry uint64
	// BuildID is Go's build id, or, where that is empty, GNU's in hexadecimal; ""
	// when there is none. Stripping changes neither; as a key of a cache take it
	// together with the size of the file.
	BuildID string
	// TextStart is runtime.text. Not the address of the section .text, which
	// starts with C code in programs that were linked by a C linker.
	TextStart uint64
	// Funcs is how many functions the program has.
	Funcs int

	img *image
	tab *pclntab

	mu     sync.Mutex // guards the page caches of tab
	vars   func() Vars
	layout func() Layout
}

// Open reads an executable of size bytes. The error is ErrNotGo, ErrUnsupported
// (wrapped), or one of reading.
func Open(r io.ReaderAt, size int64) (*File, error) {
	return OpenLive(r, size, nil, 0)
}

// OpenLive is Open for the executable of a process. What the file does not tell,
// because the loader fills it in, is read from mem, the address space of the
// process, where the file is loaded at its addresses plus bias.
func OpenLive(r io.ReaderAt, size int64, mem io.ReaderAt, bias uint64) (*File, error) {
	img, err := readImage(r, size, mem, bias)
	if err != nil {
		return nil, err
	}
	f := &File{Arch: img.arch, PIE: img.pie, Entry: img.entry, BuildID: img.buildID(), img: img}
	f.Version = img.goVersion()
	f.Minor = minor(f.Version)
	if f.tab, err = openPclntab(img); err != nil {
		return nil, err
	}
	f.TextStart, f.Funcs = f.tab.text, f.tab.nfunc
	f.vars = sync.OnceValue(func() Vars { return vote(f) })
	f.layout = sync.OnceValue(func() Layout { return layoutOf(f) })
	return f, nil
}

// Frame is one call on a logical stack.
type Frame struct {
	// Function as the runtime prints it: type arguments are "[...]".
	Function string
	// File is as the compiler was given it, or "?"; with -trimpath it starts with
	// the module path.
	File string
	// Line is 0 when it is not known.
	Line int
	// Inlined: the call was expanded in the function of the next frame.
	Inlined bool
}

// Func returns the function at pc and its range [start, end). ok is false where
// there is no Go function, as in C code.
func (f *File) Func(pc uint64) (name string, start, end uint64, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn, ok := f.tab.find(pc)
	if !ok {
		return "", 0, 0, false
	}
	return printed(f.tab.name(fn.nameOff)), fn.entry, fn.end, true
}

// Frames appends the calls at pc to dst, innermost first; nothing where there is
// no Go function. pc is an address within the instruction: of a return address
// on a stack, pass one less.
func (f *File) Frames(dst []Frame, pc uint64) []Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tab.frames(dst, pc)
}

// Vars returns the addresses of the runtime's variables. The first call does the
// work.
func (f *File) Vars() Vars { return f.vars() }

// Layout returns the offsets of fields in them. The first call does the work.
func (f *File) Layout() Layout { return f.layout() }
