// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"bytes"
	"encoding/binary"
	"io"
	"runtime/debug"
)

// BuildInfo returns what the go command recorded in an ELF program, as debug/buildinfo.Read does,
// which also links readers for the formats of other systems; nil if there is nothing.
//
//	"\xff Go buildinf:"  14 bytes, at a multiple of 16 in .go.buildinfo or in the first writable data
//	size of a pointer    1 byte
//	flags                1 byte: 1 = big-endian, 2 = the texts follow inline
//	version, modules     behind byte 32 two texts, each after its length (uvarint);
//	                     before Go 1.18, at byte 16, two pointers to strings instead
//
// Source: debug/buildinfo/buildinfo.go.
func (h *Headers) BuildInfo(r io.ReaderAt) *debug.BuildInfo {
	const header = 32
	addr, ok := h.buildInfoAddr(r)
	if !ok {
		return nil
	}
	b := h.Data(r, addr, header)
	if len(b) < header {
		return nil
	}
	var version, modules string
	if b[15]&2 != 0 {
		var next uint64
		version, next = h.inline(r, addr+header)
		if next == 0 {
			return nil
		}
		if modules, next = h.inline(r, next); next == 0 {
			return nil
		}
	} else {
		var order binary.ByteOrder = binary.LittleEndian
		if b[15]&1 != 0 {
			order = binary.BigEndian
		}
		size := uint64(b[14])
		if size != 4 && size != 8 {
			return nil
		}
		version = h.str(r, order, size, word(order, size, b[16:]))
		modules = h.str(r, order, size, word(order, size, b[16+size:]))
	}
	if version == "" {
		return nil
	}
	// 16 bytes of a mark stand before and behind the text (cmd/go/internal/modload, ModInfoProg).
	if n := len(modules); n >= 33 && modules[n-17] == '\n' {
		modules = modules[16 : n-16]
	} else {
		modules = ""
	}
	info, err := debug.ParseBuildInfo(modules)
	if err != nil {
		return nil
	}
	info.GoVersion = version
	return info
}

// buildInfoAddr returns the address of the information.
func (h *Headers) buildInfoAddr(r io.ReaderAt) (uint64, bool) {
	var from, size uint64
	if s := h.Section(".go.buildinfo"); s != nil {
		from, size = s.Addr, s.Size
	} else {
		for i := range h.Programs {
			if p := &h.Programs[i]; p.Type == SegmentLoad && p.Flags&(flagExec|flagWrite) == flagWrite {
				from, size = p.Addr, p.Memsz
				break
			}
		}
	}
	const chunk = 1 << 20
	magic := []byte("\xff Go buildinf:")
	for at := uint64(0); at < size; {
		b := h.Data(r, from+at, min(chunk, size-at))
		for rest, skipped := b, 0; ; {
			i := bytes.Index(rest, magic)
			if i < 0 {
				break
			}
			if found := from + at + uint64(skipped+i); found%16 == 0 {
				return found, true
			}
			rest, skipped = rest[i+1:], skipped+i+1
		}
		if len(b) < len(magic) {
			return 0, false
		}
		at += uint64(len(b) - len(magic) + 1) // it may begin at the end of this chunk
	}
	return 0, false
}

// inline returns the text whose length is at an address, and the address behind it; 0 = there is
// none.
func (h *Headers) inline(r io.ReaderAt, addr uint64) (string, uint64) {
	size, n := binary.Uvarint(h.Data(r, addr, binary.MaxVarintLen64))
	if n <= 0 || size > maxRecorded {
		return "", 0
	}
	b := h.Data(r, addr+uint64(n), size)
	if uint64(len(b)) < size {
		return "", 0
	}
	return string(b), addr + uint64(n) + size
}

// str returns the Go string whose header is at an address.
func (h *Headers) str(r io.ReaderAt, order binary.ByteOrder, pointer, addr uint64) string {
	b := h.Data(r, addr, 2*pointer)
	if uint64(len(b)) < 2*pointer {
		return ""
	}
	size := word(order, pointer, b[pointer:])
	if size > maxRecorded {
		return ""
	}
	text := h.Data(r, word(order, pointer, b), size)
	if uint64(len(text)) < size {
		return ""
	}
	return string(text)
}

// maxRecorded bounds the recorded texts, in bytes. Programs with a thousand modules have 100 KB.
const maxRecorded = 1 << 20

func word(order binary.ByteOrder, size uint64, b []byte) uint64 {
	if size == 4 {
		return uint64(order.Uint32(b))
	}
	return order.Uint64(b)
}
