// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

// pclntab is the table of functions. The header holds the offset of each of its parts
// (runtime.pcHeader):
//
//	0   magic u32, 0 u8, 0 u8, least instruction size u8, pointer size u8
//	8   functions, files         u64, u64
//	24  text                     u64, 0 since Go 1.26
//	32  funcnametab              NUL-terminated names
//	40  cutab                    u32: index of a file of a unit -> offset in filetab
//	48  filetab                  NUL-terminated names
//	56  pctab                    pairs of varints: value, pc
//	64  functab, functions       {entry, offset} u32, then a _func each
type pclntab struct {
	pager
	addr uint64
	// text is runtime.text, the base of entries. gofunc is go:func.*, which holds inline trees; 0
	// = not found.
	text, gofunc uint64
	nfunc        int
	quantum      uint64
	// go120 reports that the _func has a start line and the inline tree is the short one.
	go120                              bool
	names, cu, files, pc, funcs, limit uint64 // addresses
	steps                              int    // taken in pctab for this pc
	wrapperID                          byte   // abi.FuncIDWrapper; 0 = unknown
	known                              map[uint64]frame
}

const (
	headerSize = 72
	maxFuncs   = 1 << 24
	// maxName is where longer names are cut, in bytes. Type arguments can make names long.
	maxName = 16 << 10
)

// openPclntab finds the table: through a section, or else by its first bytes.
func openPclntab(m *image) (*pclntab, error) {
	var tab *pclntab
	try := func(addr uint64) bool {
		t, ok := readHeader(m, addr)
		if ok {
			tab = t
		}
		return ok
	}
	for _, name := range []string{".gopclntab", ".data.rel.ro.gopclntab"} {
		if s, ok := m.sections[name]; ok && try(s.addr) {
			break
		}
	}
	quantum := byte(1)
	if m.arch == "arm64" {
		quantum = 4
	}
	// Old linkers put constants and code into one segment.
	for _, keep := range []func(segment) bool{data, code} {
		for _, magic := range []byte{0xf1, 0xf0} {
			if tab == nil {
				m.scan([]byte{magic, 0xff, 0xff, 0xff, 0, 0, quantum, 8}, 8, keep, m.read, try)
			}
		}
	}
	if tab == nil && m.cut {
		return nil, fmt.Errorf("%w: no function table in its first %d MiB", ErrUnsupported, maxScan>>20)
	}
	if tab == nil {
		if v := m.goVersion(); v != "" {
			return nil, fmt.Errorf("%w: unknown kind of function table: %s", ErrUnsupported, v)
		}
		return nil, fmt.Errorf("%w: no function table", ErrNotGo)
	}
	if err := tab.readModule(); err != nil {
		return nil, err
	}
	return tab, nil
}

// readHeader accepts a table whose parts are in order within a segment.
func readHeader(m *image, addr uint64) (*pclntab, bool) {
	var head [headerSize]byte
	if m.read(head[:], addr) < len(head) {
		return nil, false
	}
	t := &pclntab{pager: pager{img: m}, addr: addr, quantum: uint64(head[6])}
	switch le.Uint32(head[:]) {
	case 0xfffffff0: // Go 1.18, 1.19
	case 0xfffffff1: // since Go 1.20
		t.go120 = true
	default:
		return nil, false
	}
	if head[4] != 0 || head[5] != 0 || head[7] != 8 || t.quantum != 1 && t.quantum != 4 {
		return nil, false
	}
	s, ok := m.segment(addr)
	if !ok {
		return nil, false
	}
	size := s.addr + s.filesz - addr
	at := uint64(headerSize)
	for i, part := range []*uint64{&t.names, &t.cu, &t.files, &t.pc, &t.funcs} {
		off := le.Uint64(head[32+8*i:])
		if off < at || off > size {
			return nil, false
		}
		at = off
		*part = addr + off
	}
	t.limit = addr + size
	n := le.Uint64(head[8:])
	if n == 0 || n > maxFuncs || n > (size-at)/8 {
		return nil, false
	}
	t.nfunc = int(n)
	t.text = le.Uint64(head[24:])
	return t, true
}

// Words of runtime.moduledata.
const (
	moduleNames = 1
	moduleMinPC = 20
	moduleText  = 22
	// gofunc is word 38 in Go 1.18 and 1.19, 40 until 1.26, 43 in 1.27.
	moduleGofuncFirst, moduleGofuncLast = 36, 52
	moduleWords                         = moduleGofuncLast + 1
)

// readModule finds moduledata, which holds the start of the text.
func (t *pclntab) readModule() error {
	m := t.img
	var w []uint64
	try := func(addr uint64) bool {
		got, ok := m.words(addr, moduleWords)
		if !ok || got[0] != t.addr || got[moduleNames] != t.names || got[moduleMinPC] < got[moduleText] {
			return false
		}
		if t.text != 0 && t.text != got[moduleText] {
			return false
		}
		if s, ok := m.segment(got[moduleText]); !ok || s.flags&flagExec == 0 {
			return false
		}
		w = got
		return true
	}
	found := false
	if s, ok := m.sections[".go.module"]; ok {
		found = try(s.addr)
	}
	if !found {
		found = m.scan(le.AppendUint64(nil, t.addr), 8, writable, m.read, try)
	}
	if !found && m.pie {
		var places []uint64
		m.relative(func(at, value uint64) bool {
			if value == t.addr && at%8 == 0 {
				places = append(places, at)
			}
			return len(places) >= 64
		})
		for _, at := range places {
			if found = try(at); found {
				break
			}
		}
	}
	if !found && m.pie && m.mem != nil {
		found = m.scan(le.AppendUint64(nil, t.addr+m.bias), 8, writable, m.readMem, try)
	}
	if found {
		t.text = w[moduleText]
		t.gofunc = t.findGofunc(w[moduleGofuncFirst:])
		return nil
	}
	if s, ok := m.segment(t.text); ok && s.flags&flagExec != 0 {
		return nil // everything except inlined calls can be read
	}
	return fmt.Errorf("%w: a function table, but no module data", ErrUnsupported)
}

// fn is a function. args is the address of its _func.
type fn struct {
	entry, end uint64
	args       uint64
	nameOff    uint32
}

// index returns the entry and the address of the _func of function i. For i = nfunc it returns
// the end of the last function.
func (t *pclntab) index(i int) (entry, at uint64, ok bool) {
	// The last entry is only half as long.
	n := 8
	if i == t.nfunc {
		n = 4
	}
	p, ok := t.bytes(t.funcs+8*uint64(i), n)
	if !ok {
		return 0, 0, false
	}
	entry = t.text + uint64(le.Uint32(p))
	if n == 8 {
		at = t.funcs + uint64(le.Uint32(p[4:]))
	}
	return entry, at, true
}

// find returns the function at pc.
func (t *pclntab) find(pc uint64) (fn, bool) {
	if pc < t.text {
		return fn{}, false
	}
	i := sort.Search(t.nfunc+1, func(i int) bool {
		entry, _, ok := t.index(i)
		return !ok || entry > pc
	})
	if i == 0 || i > t.nfunc {
		return fn{}, false
	}
	return t.function(i - 1)
}

func (t *pclntab) function(i int) (fn, bool) {
	entry, at, ok := t.index(i)
	end, _, ok2 := t.index(i + 1)
	if !ok || !ok2 || end < entry {
		return fn{}, false
	}
	p, ok := t.bytes(at, 8)
	if !ok || t.text+uint64(le.Uint32(p)) != entry {
		return fn{}, false
	}
	return fn{entry: entry, end: end, args: at, nameOff: le.Uint32(p[4:])}, true
}

// name returns the function name at an offset of funcnametab.
func (t *pclntab) name(off uint32) string { return t.str(t.names+uint64(off), t.cu) }

// str reads a NUL-terminated string that ends before limit.
func (t *pclntab) str(addr, limit uint64) string {
	if addr >= limit {
		return ""
	}
	var s []byte
	for limit = min(limit, addr+maxName); addr < limit; {
		p := t.rest(addr)
		if len(p) == 0 {
			break
		}
		p = p[:min(uint64(len(p)), limit-addr)]
		if i := bytes.IndexByte(p, 0); i >= 0 {
			return string(append(s, p[:i]...))
		}
		s = append(s, p...)
		addr += uint64(len(p))
	}
	return string(s)
}

// printed returns a name as stack traces show it, without type arguments.
func printed(name string) string {
	i := strings.IndexByte(name, '[')
	j := strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}

// pager reads the image in pages and caches some.
type pager struct {
	img   *image
	pages map[uint64][]byte
	last  uint64
	page  []byte
}

const (
	pageSize = 16 << 10
	maxPages = 256
)

// rest returns the content of addr's page from addr; nothing if the file has none. It is valid
// until the next call.
func (p *pager) rest(addr uint64) []byte {
	if at := addr - p.last; addr >= p.last && at < uint64(len(p.page)) {
		return p.page[at:]
	}
	s, ok := p.img.segment(addr)
	if !ok {
		return nil
	}
	// Pages start at the start of the segment, so that none spans two segments.
	base := addr - (addr-s.addr)%pageSize
	page, ok := p.pages[base]
	if !ok {
		page = make([]byte, pageSize)
		page = page[:p.img.read(page, base)]
		if len(p.pages) >= maxPages {
			clear(p.pages)
		}
		if p.pages == nil {
			p.pages = map[uint64][]byte{}
		}
		p.pages[base] = page
	}
	p.last, p.page = base, page
	if addr-base >= uint64(len(page)) {
		return nil
	}
	return page[addr-base:]
}

// bytes returns n bytes at addr, at most a page.
func (p *pager) bytes(addr uint64, n int) ([]byte, bool) {
	if b := p.rest(addr); len(b) >= n {
		return b[:n], true
	}
	b := make([]byte, n)
	return b, p.img.read(b, addr) == n
}
