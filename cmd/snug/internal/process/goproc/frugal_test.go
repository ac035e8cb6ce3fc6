// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"testing"
)

// sparse is a file of 8 GiB that begins with head and goes on with zeros. It
// counts what is read.
type sparse struct {
	head []byte
	read int
}

const sparseSize = 8 << 30

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	s.read += len(p)
	clear(p)
	if off < int64(len(s.head)) {
		copy(p, s.head[off:])
	}
	return len(p), nil
}

// TestSparse reads little of a program that claims to have a data segment of
// gigabytes.
func TestSparse(t *testing.T) {
	for _, c := range []struct {
		name     string
		sections uint16
		most     int
		err      string
	}{
		{"with section headers, nothing is searched", 2, 1 << 20, ""},
		{"without, a part is, and the rest is unknown", 0, maxRead, "not searched beyond 64 MiB, so it is unknown whether Go built it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := elf.Header64{
				Type: uint16(elf.ET_EXEC), Machine: uint16(elf.EM_X86_64), Version: 1, Ehsize: 64,
				Phoff: 64, Phentsize: 56, Phnum: 1, Shentsize: 64, Shnum: c.sections,
			}
			copy(h.Ident[:], elf.ELFMAG)
			h.Ident[elf.EI_CLASS], h.Ident[elf.EI_DATA], h.Ident[elf.EI_VERSION] = byte(elf.ELFCLASS64), byte(elf.ELFDATA2LSB), 1
			if c.sections > 0 {
				h.Shoff, h.Shstrndx = 120, 1
			}
			load := elf.Prog64{Type: uint32(elf.PT_LOAD), Flags: uint32(elf.PF_R | elf.PF_W), Off: 4096, Vaddr: 4096, Filesz: sparseSize - 4096, Memsz: sparseSize - 4096}
			names := elf.Section64{Type: uint32(elf.SHT_STRTAB), Off: 248, Size: 1}
			var b bytes.Buffer
			for _, part := range []any{h, load, elf.Section64{}, names} {
				if err := binary.Write(&b, binary.LittleEndian, part); err != nil {
					t.Fatal(err)
				}
			}
			file := &sparse{head: b.Bytes()}
			if sections, _, _ := goSections(file); sections != (c.sections > 0) {
				t.Fatalf("sections %v, want %d", sections, c.sections)
			}
			file.read = 0
			e, err := ReadExeAt(file)
			if err == nil != (c.err == "") || err != nil && err.Error() != c.err || err == nil && e.What != "an ELF program that Go did not build" {
				t.Errorf("%+v, %v, want %q", e, err, c.err)
			}
			if file.read > c.most {
				t.Errorf("%d bytes were read, want at most %d", file.read, c.most)
			}
		})
	}
}
