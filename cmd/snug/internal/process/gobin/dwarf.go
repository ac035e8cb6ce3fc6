// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"debug/dwarf"
	"debug/elf"
	"encoding/binary"
	"io"
	"iter"
	"strings"
)

// Bounds on the debug information that is unpacked, in bytes: in general, and for a release
// whose layout is in the table.
const (
	maxDWARF      = 128 << 20
	maxDWARFKnown = 4 << 20
	// maxAbbrev bounds the abbreviations that all units together read, in bytes.
	maxAbbrev = 128 << 20
)

// dwarfLayout reads the layout from the program's debug information, if it has at most limit
// bytes of it.
func dwarfLayout(m *image, limit uint64) (_ Layout, found bool) {
	// debug/elf and debug/dwarf make no promise about hostile input.
	defer func() {
		if recover() != nil {
			found = false
		}
	}()
	file, err := elf.NewFile(io.NewSectionReader(m.r, 0, int64(m.size)))
	if err != nil {
		return Layout{}, false
	}
	// An entry may have any number of attributes. Real information has one entry or attribute
	// for every three bytes.
	attributes := int(limit / 2)
	info, ok := debugSection(file, "info", &limit)
	if !ok {
		return Layout{}, false
	}
	abbrev, ok := debugSection(file, "abbrev", &limit)
	if !ok {
		return Layout{}, false
	}
	// Sections that DWARF 5 has in addition.
	apart := map[string][]byte{}
	for _, name := range []string{"str", "addr", "line_str", "str_offsets", "rnglists"} {
		if p, ok := debugSection(file, name, &limit); ok {
			apart[".debug_"+name] = p
		}
	}
	work := 0
	for unit := range units(info) {
		if work += 1<<10 + len(abbrev); work > maxAbbrev {
			return Layout{}, false
		}
		d, err := dwarf.New(abbrev, nil, nil, unit, nil, nil, nil, apart[".debug_str"])
		if err != nil {
			return Layout{}, false
		}
		for name, p := range apart {
			if name != ".debug_str" && d.AddSection(name, p) != nil {
				return Layout{}, false
			}
		}
		if l, ok := structs(d, &attributes); ok {
			return l, true
		}
	}
	return Layout{}, false
}

// units returns the units of .debug_info, one for each package or assembly file. A unit is a
// length, a u32 that does not count itself, and its content.
func units(info []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(info) >= 4 {
			n := uint64(le.Uint32(info))
			if n > uint64(len(info))-4 { // or a 64-bit unit, which Go does not write
				return
			}
			if !yield(info[:4+n]) {
				return
			}
			info = info[4+n:]
		}
	}
}

// structs finds the structs of the runtime in a unit. Go's linker writes all types into the unit
// of package runtime. structs subtracts what it reads from attributes, and gives up if none are
// left.
func structs(d *dwarf.Data, attributes *int) (Layout, bool) {
	l := noLayout
	l.Source = "DWARF"
	missing := l.fields()
	pause := int64(-1)
	r := d.Reader()
	if e, err := r.Next(); err != nil || e == nil || e.Val(dwarf.AttrName) != "runtime" {
		return Layout{}, false
	}
	var members map[string]*int64
	for {
		e, err := r.Next()
		if err != nil {
			return Layout{}, false
		}
		if e == nil {
			break
		}
		// debug/dwarf never ends on a unit that is cut off within a number, so count entries.
		if *attributes -= 1 + len(e.Field); *attributes < 0 {
			return Layout{}, false
		}
		switch e.Tag {
		case dwarf.TagStructType:
			name, _ := e.Val(dwarf.AttrName).(string)
			if members = missing[name]; members != nil {
				delete(missing, name)
			}
		case dwarf.TagMember:
			if members == nil {
				continue
			}
			name, _ := e.Val(dwarf.AttrName).(string)
			at, ok := e.Val(dwarf.AttrDataMemberLoc).(int64)
			if field := members[strings.ToLower(name)]; ok && field != nil {
				*field = at
			}
			if name == "pause_total_ns" && ok {
				pause = at
			}
		case 0: // the end of a list of children
			members = nil
			if len(missing) == 0 {
				return relate(l, pause)
			}
		}
	}
	// The struct of CPU times does not exist before Go 1.20.
	if _, none := missing["runtime.cpuStats"]; none && len(missing) == 1 {
		return relate(l, pause)
	}
	return Layout{}, false
}

// relate makes the offsets in mstats relative to pause_total_ns. A struct without the fields that
// every release has is not the runtime's.
func relate(l Layout, pause int64) (Layout, bool) {
	if pause < 0 || l.NumGC < pause || l.GCCPUFraction < pause || l.GCPercent < 0 || l.HeapLive < 0 {
		return Layout{}, false
	}
	l.NumGC -= pause
	l.GCCPUFraction -= pause
	return l, true
}

// debugSection unpacks a section of debug information and subtracts its size from left. A
// compressed section has an ELF header or, up to Go 1.18, a header before the zlib data: "ZLIB"
// and the size as a big-endian uint64.
func debugSection(f *elf.File, name string, left *uint64) ([]byte, bool) {
	if s := f.Section(".debug_" + name); s != nil && s.Type != elf.SHT_NOBITS {
		if s.Size > *left || s.FileSize > *left {
			return nil, false
		}
		p, err := s.Data()
		if err != nil {
			return nil, false
		}
		*left -= uint64(len(p))
		return p, true
	}
	s := f.Section(".zdebug_" + name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil, false
	}
	var head [12]byte
	if _, err := s.ReadAt(head[:], 0); err != nil || string(head[:4]) != "ZLIB" {
		return nil, false
	}
	size := binary.BigEndian.Uint64(head[4:])
	if size > *left {
		return nil, false
	}
	// Allocate while reading, because the file may claim any size.
	p, err := io.ReadAll(io.LimitReader(s.Open(), int64(size)))
	if err != nil || uint64(len(p)) != size {
		return nil, false
	}
	*left -= size
	return p, true
}
