// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// Cache holds what is known about executables, which is most of the work of a look. It also
// keeps the addresses of the runtime's variables in a directory, for later runs. Several
// goroutines may use it.
type Cache struct {
	disk *disk

	mu       sync.Mutex
	programs map[proc.FileID]*program
	objects  map[string]Guest // by ID and path
	alone    map[alone]bool   // programs without Go
}

// maxPrograms, and maxUsers for each program, bound the memory of a snug that runs for months.
const maxPrograms, maxUsers = 4096, 64

// makeRoom forgets any entry of a full map, and not all: a process with many files must not make snug read everything
// again.
func makeRoom[K comparable, V any](m map[K]V, most int) {
	for k := range m {
		if len(m) < most {
			break
		}
		delete(m, k)
	}
}

// The bounds of what is read of an executable to know what it is, and of all other files of which a process may run
// code together: bytes and system calls. A library takes a dozen calls and some kilobytes.
const (
	maxExe, maxExeCalls       = 32 << 20, 4096
	maxGuests, maxGuestsCalls = 16 << 20, 8192
)

// NewCache returns a cache that keeps files in a subdirectory of dir, which is usually
// os.UserCacheDir; "" = keep no files. If the directory cannot be used or belongs to another
// user, the cache keeps no files and reports no error.
func NewCache(dir string) *Cache {
	return &Cache{disk: openDisk(dir), programs: map[proc.FileID]*program{}, objects: map[string]Guest{},
		alone: map[alone]bool{}}
}

// program is an executable.
type program struct {
	exe Exe

	mu sync.Mutex
	// images are by the user whose process they were made from. What the file does not
	// contain is read from a process, which may lie. A lie must not affect other users'
	// processes.
	images map[int]*image
	// failed counts failures by the same users.
	failed map[int]int
}

// maxFailed is how often a failed program is tried again: at first it may just have been
// starting.
const maxFailed = 3

// image holds the addresses of the runtime's variables in a program.
type image struct {
	Entry  uint64       `json:"entry"`
	PIE    bool         `json:"pie"`
	Vars   gobin.Vars   `json:"vars"`
	Layout gobin.Layout `json:"layout"`
	Sched  gobin.Sched  `json:"sched"`

	// err says why they are unknown.
	err error
}

// program returns the program that a process runs. It is cached by the ID of its file, which
// changes with the file.
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
	p = p.Narrow(maxExe, maxExeCalls)
	f, id, err := p.OpenExe()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	exe, err := ReadExeAt(f)
	if err = cmp.Or(p.Budget().Over(), err); err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	makeRoom(c.programs, maxPrograms)
	if c.programs[id] == nil {
		c.programs[id] = &program{exe: exe, images: map[int]*image{}, failed: map[int]int{}}
	}
	return c.programs[id], nil
}

// image returns the addresses of the variables. The error is a read error, or says what is not
// supported.
func (c *Cache) image(p *proc.Process, of *program, uid int, mem io.ReaderAt, entry uint64) (*image, error) {
	of.mu.Lock()
	defer of.mu.Unlock()
	if im := of.images[uid]; im != nil {
		return im, im.err
	}
	makeRoom(of.images, maxUsers)
	makeRoom(of.failed, maxUsers)
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
	start, ok, err := entryOf(f)
	if err != nil {
		return nil, fmt.Errorf("executable cannot be read: %w", err)
	}
	if ok {
		bias = entry - start
	}
	im := &image{}
	bin, err := gobin.OpenLive(f, id.Size, mem, bias)
	if over := p.Budget().Over(); over != nil {
		return nil, over
	}
	if err == nil {
		im.Entry, im.PIE, im.Vars, im.Layout, im.Sched = bin.Entry, bin.PIE, bin.Vars(), bin.Layout(), bin.Sched()
		if err := bin.Err(); err != nil {
			return nil, fmt.Errorf("executable cannot be read: %w", err)
		}
	} else if im.err = err; !errors.Is(err, gobin.ErrNotGo) && !errors.Is(err, gobin.ErrUnsupported) {
		return nil, fmt.Errorf("executable cannot be read: %w", err)
	}
	// Keep nothing that was read from two programs, or in part.
	if err := cmp.Or(p.Budget().Over(), p.Same()); err != nil {
		return nil, err
	}
	// Keep nothing that was read while a loader was still at work.
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

// entryOf returns the entry point in an ELF header. The file is 64-bit and little-endian, as
// are all supported ones.
func entryOf(r io.ReaderAt) (entry uint64, ok bool, err error) {
	var head [32]byte
	if _, err := r.ReadAt(head[:], 0); err != nil && err != io.EOF {
		return 0, false, err
	}
	return binary.LittleEndian.Uint64(head[24:]), string(head[:6]) == "\x7fELF\x02\x01", nil
}

// goBuildID reads the note that Go's linker writes at the start of a program; "" = none.
// Source: cmd/internal/buildid, elf(5) on notes:
//
//	4 bytes size of name, 4 size of description, 4 kind, name, description
func goBuildID(r io.ReaderAt) string {
	const most = 64 << 10
	f, err := gobin.ReadHeaders(&frugal{r: r, left: maxRead})
	if err != nil {
		return ""
	}
	for _, prog := range f.Programs {
		if prog.Type != gobin.SegmentNote || prog.Filesz > most {
			continue
		}
		note := make([]byte, prog.Filesz)
		if _, err := r.ReadAt(note, int64(min(prog.Off, 1<<62))); err != nil {
			continue
		}
		for len(note) >= 12 {
			nameSize, size := uint64(f.Order.Uint32(note)), uint64(f.Order.Uint32(note[4:]))
			kind := f.Order.Uint32(note[8:])
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
