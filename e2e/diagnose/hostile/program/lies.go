// SPDX-License-Identifier: Apache-2.0

package main

import (
	"debug/elf"
	"errors"
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// variable returns the words of a variable of the runtime.
func variable(name string, words int) []uint64 {
	exe, err := os.Executable()
	check(err)
	f, err := elf.Open(exe)
	check(err)
	defer f.Close()
	all, err := f.Symbols()
	check(err)
	for _, s := range all {
		if s.Name == name {
			at := uintptr(s.Value)
			return unsafe.Slice((*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), words)
		}
	}
	check(errors.New("no " + name))
	return nil
}

// lie writes a word of a variable.
func lie(name string, word int, value uint64) { variable(name, word+1)[word] = value }

// anonymous returns memory outside of the heap.
func anonymous(size int) []byte {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	check(err)
	return b
}

func words(b []byte) []uint64 {
	return unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), len(b)/8)
}

// array makes a slice of the runtime a long one, in which the elements that it had come again and again.
func array(name string, n int) {
	runtime.LockOSThread()
	v := variable(name, 3)
	at := uintptr(v[0])
	old := unsafe.Slice((*uint64)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), v[1])
	list := words(anonymous(8 * n))
	for i := range list {
		list[i] = old[i%len(old)]
	}
	v[0], v[1], v[2] = uint64(uintptr(unsafe.Pointer(&list[0]))), uint64(n), uint64(n)
}

// processors makes the list of Ps a long one, and what is as long.
func processors(n int) {
	runtime.LockOSThread()
	for _, name := range []string{"runtime.idlepMask", "runtime.timerpMask"} {
		v := variable(name, 3)
		at := uintptr(v[0])
		mask := anonymous(n)
		copy(mask, unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&at))), 4*v[1]))
		v[0], v[1], v[2] = uint64(uintptr(unsafe.Pointer(&mask[0]))), uint64(n/4), uint64(n/4)
	}
	array("runtime.allp", n)
}

// elsewhere makes a slice a long one of addresses at which there is nothing.
func elsewhere(name string, n int) {
	v := variable(name, 3)
	list := words(anonymous(8 * n))
	for i := range list {
		list[i] = 1<<46 + uint64(i)<<12
	}
	v[0], v[1], v[2] = uint64(uintptr(unsafe.Pointer(&list[0]))), uint64(n), uint64(n)
}

// ring makes the buckets of the heap profile a ring, or a list of millions, each far from the other.
func ring(list bool) {
	runtime.MemProfileRate = 1
	runtime.MemProfile(nil, true) // without it the linker leaves the profile out
	keep = append(keep, make([]byte, 1000))
	const head, size, apart = 48, 48 + 8 + 128, 1 << 16
	n := 1000
	if list {
		n = 1_000_000
	}
	b := anonymous(n * apart)
	first := uint64(uintptr(unsafe.Pointer(&b[0])))
	last := variable("runtime.mbuckets", 1)[0]
	for i := range n {
		w := words(b[i*apart : i*apart+size])
		next := first + uint64(i+1)*apart
		if i == n-1 {
			next = first + uint64(n/2)*apart
			if list {
				next = 0
			}
		}
		// next, allnext, typ, hash, size, nstk, then a call
		w[0], w[1], w[2], w[4], w[5], w[6] = next, next, 1, 64, 1, last
		if list && i > 300_000 {
			break // as many as fit into some memory
		}
	}
	lie("runtime.mbuckets", 0, first)
}

var keep [][]byte

// counters writes what cannot be into counters that are read.
func counters(string) {
	heap := variable("runtime.gcController", 13)
	for i := 1; i < 13; i++ {
		heap[i] = 1<<63 + uint64(i)
	}
}
