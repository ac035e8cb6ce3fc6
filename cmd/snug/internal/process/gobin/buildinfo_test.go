// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"debug/buildinfo"
	"debug/elf"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestBuildInfo compares the recorded information and the headers with what Go's own packages read,
// for both classes and byte orders, with and without section headers, and for Go's tools.
func TestBuildInfo(t *testing.T) {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(root)), "pkg", "tool", runtime.GOOS+"_"+runtime.GOARCH, "*"))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, self)
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/app\n\ngo 1.24\n", "main.go": "package main\n\nfunc main() {}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, arch := range []string{"386", "amd64", "s390x"} {
		file := filepath.Join(dir, arch)
		cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", file, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		files = append(files, file)
	}
	compared := 0
	for _, file := range files {
		image := read(t, file)
		want, err := buildinfo.Read(bytes.NewReader(image))
		if err != nil || !bytes.HasPrefix(image, []byte("\x7fELF")) {
			continue
		}
		h, err := ReadHeaders(bytes.NewReader(image))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		compared++
		sameHeaders(t, file, image, h)
		for _, sections := range [][]Section{h.Sections, nil} { // without them it is searched for
			h.Sections = sections
			if got := h.BuildInfo(bytes.NewReader(image)); got == nil || got.String() != want.String() || got.GoVersion != want.GoVersion {
				t.Errorf("%s, %d sections: got\n%v\nwant\n%v", file, len(sections), got, want)
			}
		}
	}
	if compared < 3 {
		t.Errorf("%d programs compared", compared)
	}
}

// TestBuildInfoLong: a text that is longer than that of any program is none.
func TestBuildInfoLong(t *testing.T) {
	for size, known := range map[int]bool{8: true, maxRecorded: true, maxRecorded + 1: false, 16 << 20: false} {
		text := append(make([]byte, 0, size+64), "\xff Go buildinf:\x08\x02"...)
		text = binary.AppendUvarint(append(text, make([]byte, 16)...), uint64(size))
		text = append(append(text, strings.Repeat("v", size)...), 0)
		h := &Headers{Order: binary.LittleEndian, Programs: []ProgramHeader{{Type: SegmentLoad, Flags: flagWrite, Filesz: uint64(len(text)), Memsz: uint64(len(text))}}}
		if info := h.BuildInfo(bytes.NewReader(text)); (info != nil) != known || known && len(info.GoVersion) != size {
			t.Errorf("a version of %d bytes: known %t", size, info != nil)
		}
	}
}

// sameHeaders compares headers with those that debug/elf reads.
func sameHeaders(t *testing.T, file string, image []byte, h *Headers) {
	t.Helper()
	e, err := elf.NewFile(bytes.NewReader(image))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	if len(e.Progs) != len(h.Programs) || len(e.Sections) != len(h.Sections) || e.ByteOrder != h.Order {
		t.Fatalf("%s: %d segments, %d sections, want %d, %d", file, len(h.Programs), len(h.Sections), len(e.Progs), len(e.Sections))
	}
	for i, p := range e.Progs {
		if want := (ProgramHeader{uint32(p.Type), uint32(p.Flags), p.Off, p.Vaddr, p.Filesz, p.Memsz}); h.Programs[i] != want {
			t.Errorf("%s, segment %d: %+v, want %+v", file, i, h.Programs[i], want)
		}
	}
	for i, s := range e.Sections {
		if want := (Section{s.Name, uint32(s.Type), uint64(s.Flags), s.Addr, s.Offset, s.FileSize}); h.Sections[i] != want {
			t.Errorf("%s, section %d: %+v, want %+v", file, i, h.Sections[i], want)
		}
	}
}
