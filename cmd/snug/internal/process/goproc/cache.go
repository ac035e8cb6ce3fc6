// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Cache remembers what was found out of executables, which is most of the work
// of a look, for as long as it exists; and where the runtime keeps its
// variables also in a folder, for later runs. It may be used from several
// goroutines.
type Cache struct {
	disk *disk

	mu       sync.Mutex
	programs map[proc.FileID]*program
}

// maxPrograms bounds the memory of a program that looks for months.
const maxPrograms = 4096

// NewCache makes a cache that keeps files in a folder of dir, such as
// os.UserCacheDir gives; "" keeps none. A folder that cannot be used, or
// belongs to somebody else, is not used; that is no error.
func NewCache(dir string) *Cache {
	return &Cache{disk: openDisk(dir), programs: map[proc.FileID]*program{}}
}

// program is an executable.
type program struct {
	exe Exe

	mu sync.Mutex
	// images by the user whose processes they were made with: what the file
	// does not tell is read from a process, which may lie, but only to those
	// who look at the same user's processes.
	images map[int]*image
	// failed counts by the same users.
	failed map[int]int
}

// maxFailed is how often a program is gone through without success: the first
// times it may just have been starting.
const maxFailed = 3

// image is where the runtime's variables are in a program.
type image struct {
	Entry  uint64       `json:"entry"`
	PIE    bool         `json:"pie"`
	Vars   gobin.Vars   `json:"vars"`
	Layout gobin.Layout `json:"layout"`

	// err is why they are not known.
	err error
}

// program finds out what a process is running. It is found by its file's ID,
// which a file that was changed does not keep.
func (c *Cache) program(p *proc.Process) (*program, error) {
	id, err := p.ExeID()
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	known := c.programs[id]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	f, id, err := p.OpenExe()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	exe, err := ReadExeAt(f)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.programs) >= maxPrograms {
		clear(c.programs)
	}
	if c.programs[id] == nil {
		c.programs[id] = &program{exe: exe, images: map[int]*image{}, failed: map[int]int{}}
	}
	return c.programs[id], nil
}

// image finds where the variables are. The error is of reading, or says what
// is not supported.
func (c *Cache) image(p *proc.Process, of *program, uid int, mem io.ReaderAt, entry uint64) (*image, error) {
	of.mu.Lock()
	defer of.mu.Unlock()
	if im := of.images[uid]; im != nil {
		return im, im.err
	}
	f, id, err := p.OpenExe()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	key := key{goBuildID(f), id.Size, uid}
	if im := c.disk.load(key); im != nil {
		of.images[uid] = im
		return im, nil
	}
	var bias uint64
	if start, ok := entryOf(f); ok {
		bias = entry - start
	}
	im := &image{}
	bin, err := gobin.OpenLive(f, id.Size, mem, bias)
	if err == nil {
		im.Entry, im.PIE, im.Vars, im.Layout = bin.Entry, bin.PIE, bin.Vars(), bin.Layout()
	} else if im.err = err; !errors.Is(err, gobin.ErrNotGo) && !errors.Is(err, gobin.ErrUnsupported) {
		return nil, fmt.Errorf("executable cannot be read: %w", err)
	}
	// What is kept was not made of half a process.
	if err := p.Same(); err != nil {
		return nil, err
	}
	// Neither was it made while a loader was still at work.
	var up Facts
	(&reader{mem: mem, image: im, bias: bias}).procs(&up)
	if up.GOMAXPROCS.Known() {
		of.images[uid] = im
		c.disk.store(key, im)
	} else if of.failed[uid]++; of.failed[uid] >= maxFailed {
		of.images[uid] = im
	}
	return im, im.err
}

// entryOf is the address in an ELF header, of 64 bits and little-endian as all
// that are supported, where the program begins.
func entryOf(r io.ReaderAt) (uint64, bool) {
	var head [32]byte
	if _, err := r.ReadAt(head[:], 0); err != nil || string(head[:6]) != "\x7fELF\x02\x01" {
		return 0, false
	}
	return binary.LittleEndian.Uint64(head[24:]), true
}

// goBuildID reads the note that Go's linker writes at the start of a program;
// "" when there is none. Source: cmd/internal/buildid, elf(5) on notes:
//
//	4 bytes size of name, 4 size of description, 4 kind, name, description
func goBuildID(r io.ReaderAt) string {
	const most = 64 << 10
	f, err := elf.NewFile(&frugal{r, maxRead})
	if err != nil {
		return ""
	}
	for _, prog := range f.Progs {
		if prog.Type != elf.PT_NOTE || prog.Filesz > most {
			continue
		}
		note := make([]byte, prog.Filesz)
		if _, err := prog.ReadAt(note, 0); err != nil {
			continue
		}
		for len(note) >= 12 {
			nameSize, size := uint64(f.ByteOrder.Uint32(note)), uint64(f.ByteOrder.Uint32(note[4:]))
			kind := f.ByteOrder.Uint32(note[8:])
			note = note[12:]
			from := (nameSize + 3) &^ 3
			if from+size > uint64(len(note)) {
				break
			}
			if kind == 4 && bytes.HasPrefix(note, []byte("Go\x00\x00")) && nameSize == 4 {
				return string(note[from : from+size])
			}
			note = note[min((from+size+3)&^3, uint64(len(note))):]
		}
	}
	return ""
}
