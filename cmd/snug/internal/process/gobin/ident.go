// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"encoding/hex"
	"strconv"
	"strings"
)

// goVersion returns the toolchain's version from the build information: a header of 16 bytes
// that ends in the pointer size and flags, 16 unused bytes and, since Go 1.18, the version with
// its length before it (debug/buildinfo).
func (m *image) goVersion() string {
	const magic = "\xff Go buildinf:"
	version := ""
	try := func(addr uint64) bool {
		var p [32 + 2 + 256]byte
		b := p[:m.read(p[:], addr)]
		if len(b) < 34 || string(b[:len(magic)]) != magic || b[15]&2 == 0 {
			return false
		}
		n, b := int(b[32]), b[33:]
		if n&0x80 != 0 {
			n, b = n&0x7f|int(b[0])<<7, b[1:]
		}
		if n == 0 || n > len(b) || !strings.HasPrefix(string(b), "go") && !strings.HasPrefix(string(b), "devel ") {
			return false
		}
		version = string(b[:n])
		return true
	}
	if s, ok := m.sections[".go.buildinfo"]; ok && try(s.addr) {
		return version
	}
	if !m.scan([]byte(magic), 16, func(s segment) bool { return data(s) && writable(s) }, m.read, try) {
		m.scan([]byte(magic), 16, func(s segment) bool { return data(s) && !writable(s) }, m.read, try)
	}
	return version
}

// minor returns the minor version of "go1.26.8", "go1.27rc1", "go1.28-devel_1a2b3c4",
// "devel go1.28-...".
func minor(version string) int {
	version = strings.TrimPrefix(version, "devel ")
	rest, ok := strings.CutPrefix(version, "go1.")
	if !ok {
		return 0
	}
	end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
	if end < 0 {
		end = len(rest)
	}
	n, err := strconv.ParseUint(rest[:end], 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// released reports whether the version is a release or a release candidate, and not a development
// version. Experiments follow it: "go1.25.7 X:nogreenteagc", since Go 1.26 "go1.26.8-X:nogreenteagc".
// They leave the structs alone whose offsets are in tables, except for staticlockranking, which adds
// two words to each lock (runtime/lockrank_on.go). A vendor's own words follow a space: "go1.26.2 (Red Hat
// 1.26.2-2.el10)".
func released(version string) bool {
	version, experiments, _ := strings.Cut(strings.Replace(version, "-X:", " X:", 1), " X:")
	version, _, _ = strings.Cut(version, " ")
	return minor(version) > 0 && !strings.Contains(version, "-") && !strings.Contains(experiments, "staticlockranking")
}

// buildID returns Go's build ID, or else GNU's.
func (m *image) buildID() string {
	gnu := ""
	for _, note := range m.notes {
		// Both notes are at the start of the file; 64 KiB is enough.
		p, ok := m.fileBytes(note.addr, min(note.size, 64<<10))
		if !ok {
			continue
		}
		for len(p) >= 12 {
			namesz, descsz, kind := uint64(le.Uint32(p)), uint64(le.Uint32(p[4:])), le.Uint32(p[8:])
			p = p[12:]
			name, ok := field(&p, namesz)
			if !ok {
				break
			}
			desc, ok := field(&p, descsz)
			if !ok {
				break
			}
			switch {
			case string(name) == "Go\x00\x00" && kind == 4 && descsz > 0: // ELF_NOTE_GOBUILDID_TAG
				return string(desc)
			case string(name) == "GNU\x00" && kind == 3 && gnu == "": // NT_GNU_BUILD_ID
				gnu = hex.EncodeToString(desc)
			}
		}
	}
	return gnu
}

// field takes n bytes, and the padding to a multiple of 4, from the front of p.
func field(p *[]byte, n uint64) ([]byte, bool) {
	if n > uint64(len(*p)) {
		return nil, false
	}
	f := (*p)[:n]
	*p = (*p)[min((n+3)&^3, uint64(len(*p))):]
	return f, true
}
