// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
)

// system is an operating system and an architecture, in Go's words.
type system struct{ os, arch string }

func (s system) String() string { return s.os + "_" + s.arch }

// systems lists those that have a release.
var systems = []system{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// The programs. small is the entry point of containers, so only Linux has it.
const (
	program = "snug"
	small   = "snug-run"
)

// packages maps the programs to what the go command installs.
var packages = map[string]string{program: tool, small: tool + "/snug-run"}

// maxBytes is an alarm: the programs for Linux have 24 and 5 MiB, and grow only by mistake to more.
var maxBytes = map[string]int{program: 32 << 20, small: 8 << 20}

func (s system) programs() []string {
	if s.os == "linux" {
		return []string{program, small}
	}
	return []string{program}
}

// binary is a released program.
type binary struct {
	program string
	system
	text []byte
	info *buildinfo.BuildInfo
}

func (b binary) name() string { return b.program + "-" + b.os + "-" + b.arch }
func (b binary) sum() string  { return fmt.Sprintf("%x", sha256.Sum256(b.text)) }

// file is the name of the binary's file.
func (b binary) file() string {
	if b.os == "windows" {
		return b.program + ".exe"
	}
	return b.program
}

// buildTwice builds the programs of a system as every user and compares the results.
func buildTwice(ctx context.Context, users []user, version string, s system) ([]binary, error) {
	var all []binary
	for _, p := range s.programs() {
		all = append(all, binary{program: p, system: s})
	}
	for _, u := range users {
		dir, err := u.install(ctx, version, s)
		if err != nil {
			return nil, err
		}
		for i := range all {
			b := &all[i]
			text, err := os.ReadFile(filepath.Join(dir, b.file()))
			if err != nil {
				return nil, err
			}
			if b.text != nil && !bytes.Equal(b.text, text) {
				return nil, fmt.Errorf("%s is not reproducible: two builds differ", b.name())
			}
			if b.text = text; bytes.Contains(text, []byte(u.dir)) {
				return nil, fmt.Errorf("%s contains the path of its build directory", b.name())
			}
		}
	}
	for i := range all {
		b := &all[i]
		info, err := buildinfo.Read(bytes.NewReader(b.text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.name(), err)
		}
		b.info = info
		if s.os == "linux" {
			if err := standalone(*b); err != nil {
				return nil, err
			}
		}
	}
	for _, b := range all {
		if s.os == "linux" && len(b.text) > maxBytes[b.program] {
			return nil, fmt.Errorf("%s has %d bytes, want at most %d", b.name(), len(b.text), maxBytes[b.program])
		}
	}
	return all, nil
}

// standalone checks that a binary for Linux is static and built for the architecture in its name.
func standalone(b binary) error {
	f, err := elf.NewFile(bytes.NewReader(b.text))
	if err != nil {
		return fmt.Errorf("%s: %w", b.name(), err)
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			return fmt.Errorf("%s is linked dynamically", b.name())
		}
	}
	want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[b.arch]
	if f.Machine != want {
		return fmt.Errorf("%s is for %v", b.name(), f.Machine)
	}
	return nil
}
