// SPDX-License-Identifier: Apache-2.0

package gobin

import "bytes"

// lookup finds functions of the runtime by their names without the package path, in one pass over
// the names and one over the functions. Names that the program does not have are not in the
// result. Each name has one function.
func (t *pclntab) lookup(wanted map[string]bool) map[string]fn {
	found := map[string]fn{}
	t.named(t.nameOffsets("\x00runtime.", wanted), func(name string, f fn) {
		if _, twice := found[name]; !twice {
			found[name] = f
		}
	})
	return found
}

// Has reports whether the program has a function with one of these names, which all begin with
// prefix. Stripping keeps the names.
func (f *File) Has(prefix string, rest ...string) bool {
	wanted := map[string]bool{}
	for _, name := range rest {
		wanted[name] = true
	}
	return f.tab != nil && len(f.tab.nameOffsets("\x00"+prefix, wanted)) > 0
}

// named visits the functions whose names are at these offsets.
func (t *pclntab) named(at map[uint32]string, visit func(name string, f fn)) {
	budget := 2*int64(t.limit-t.funcs) + 1<<20
	entries := window{img: t.img, budget: budget}
	funcs := window{img: t.img, budget: budget}
	for i := range uint64(t.nfunc) {
		p, ok := entries.bytes(t.funcs+8*i, 12)
		if !ok {
			break
		}
		entry, end := t.text+uint64(le.Uint32(p)), t.text+uint64(le.Uint32(p[8:]))
		args := t.funcs + uint64(le.Uint32(p[4:]))
		f, ok := funcs.bytes(args, 8)
		if !ok || t.text+uint64(le.Uint32(f)) != entry || end < entry {
			continue
		}
		off := le.Uint32(f[4:])
		if name, ok := at[off]; ok {
			visit(name, fn{entry: entry, end: end, args: args, nameOff: off})
		}
	}
}

// nameOffsets finds names in funcnametab: offset -> name, without their common prefix.
func (t *pclntab) nameOffsets(prefix string, wanted map[string]bool) map[uint32]string {
	longest := 0
	for name := range wanted {
		longest = max(longest, len(name))
	}
	at := map[uint32]string{}
	const chunk = 256 << 10
	buf := make([]byte, chunk+len(prefix)+longest+1)
	for base := t.names; base < t.cu; base += chunk {
		p := buf[:min(uint64(len(buf)), t.cu-base)]
		p = p[:t.img.read(p, base)]
		for i := 0; ; {
			j := bytes.Index(p[i:], []byte(prefix))
			if j < 0 {
				break
			}
			i += j + len(prefix)
			name := p[i:min(i+longest+1, len(p))]
			end := bytes.IndexByte(name, 0)
			if end >= 0 && wanted[string(name[:end])] {
				at[uint32(base-t.names)+uint32(i-len(prefix)+1)] = string(name[:end])
			}
		}
	}
	return at
}

// window reads the image in large steps, for sequential access.
type window struct {
	img     *image
	addr, n uint64
	buf     []byte
	budget  int64 // bytes that may be read, which bounds random access
}

// bytes returns n bytes at addr, valid until the next call.
func (w *window) bytes(addr uint64, n int) ([]byte, bool) {
	at := addr - w.addr
	if addr < w.addr || at > w.n || w.n-at < uint64(n) {
		if w.buf == nil {
			w.buf = make([]byte, 256<<10)
		}
		if w.budget < 0 {
			return nil, false
		}
		w.budget -= int64(len(w.buf))
		w.addr, w.n, at = addr, uint64(w.img.read(w.buf, addr)), 0
		if w.n < uint64(n) {
			return nil, false
		}
	}
	return w.buf[at : at+uint64(n)], true
}

// code returns the instructions of f, or nothing if they are implausibly many.
func (t *pclntab) code(f fn) []byte {
	const most = 1 << 20
	if f.end-f.entry > most {
		return nil
	}
	p := make([]byte, f.end-f.entry)
	return p[:t.img.read(p, f.entry)]
}
