// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// The memory of the load own in addition to its cache, as shares of the limit.
const (
	ownBatch = .05 // buffers of a batch, all alive until it ends
	ownShm   = .08 // a file in memory: grown over a second, kept, truncated
	// ownFile is the size of a disk file that is written and read, in bytes. It is page cache,
	// which the kernel reclaims when it needs memory.
	ownFile = 120 << 20
)

// entry is an entry of a cache: a key, some pointers, and a value of varying size.
type entry struct {
	key        [32]byte
	older, low *entry
	value      []byte
}

// cache holds a fixed number of bytes. New entries replace old ones.
type cache struct {
	mu       sync.Mutex
	entries  []*entry
	bytes    int64
	maxBytes int64
	seed     uint64
}

func (c *cache) random() uint64 {
	c.seed = c.seed*6364136223846793005 + 1442695040888963407
	return c.seed >> 33
}

// size returns the size of a value: 64 bytes to 4 KiB, more often small.
func (c *cache) size() int { return 64 << (c.random() % 7 * (c.random() % 7) / 6) }

func (c *cache) fresh() (e *entry, bytes int64) {
	e = &entry{value: make([]byte, c.size())}
	for i := 0; i < len(e.value); i += 1 << 10 { // an untouched page is not resident
		e.value[i] = 1
	}
	binary.LittleEndian.PutUint64(e.value, c.random())
	e.key = sha256.Sum256(e.value[:64])
	return e, int64(len(e.value)) + int64(unsafe.Sizeof(*e)) + 8
}

// fill fills the cache. It is called once.
func (c *cache) fill(maxBytes int64) {
	c.maxBytes = maxBytes
	for c.bytes < maxBytes {
		e, n := c.fresh()
		if len(c.entries) > 0 {
			e.older, e.low = c.entries[len(c.entries)-1], c.entries[c.random()%uint64(len(c.entries))]
		}
		c.entries, c.bytes = append(c.entries, e), c.bytes+n
	}
	for _, e := range c.entries { // chains would keep replaced entries alive
		e.older, e.low = nil, nil
	}
}

// use reads an entry, and replaces one in ten.
func (c *cache) use() (value []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.random() % uint64(len(c.entries))
	if c.random()%10 > 0 {
		return c.entries[i].value
	}
	e, n := c.fresh()
	old := int64(len(c.entries[i].value)) + int64(unsafe.Sizeof(entry{})) + 8
	if c.bytes-old+n <= c.maxBytes {
		c.entries[i], c.bytes = e, c.bytes-old+n
	}
	return e.value
}

// own resembles a service: a cache with values of many sizes that come and go, an answer built for
// each operation, a batch with large buffers every three seconds, a disk file that is written and
// read, and a file in memory.
func own(f *flags, live, rate float64, dir string) error {
	if rate == 0 {
		rate = 3000
	}
	disk, err := os.CreateTemp(dir, "governed")
	if err != nil {
		return err
	}
	defer disk.Close()
	if err := os.Remove(disk.Name()); err != nil { // the file disappears with this process, even if it is killed
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	c := &cache{seed: 1}
	c.fill(f.share(live))
	var shm, shmPeak, batch, batchPeak atomic.Int64
	stop := make(chan struct{})
	var side sync.WaitGroup
	pause := func(d time.Duration) bool {
		select {
		case <-stop:
			return false
		case <-time.After(d):
			return true
		}
	}
	side.Go(func() { // batches: eight buffers, filled one after the other
		one := f.share(ownBatch) / 8
		for pause(3 * time.Second) {
			var buffers [][]byte
			for range 8 {
				b := make([]byte, one)
				for i := 0; i < len(b); i += 512 {
					b[i] = 1
				}
				buffers = append(buffers, b)
				batch.Add(one)
				batchPeak.Store(max(batchPeak.Load(), batch.Load()))
				pause(25 * time.Millisecond)
			}
			pause(300 * time.Millisecond)
			runtime.KeepAlive(buffers)
			batch.Store(0)
		}
	})
	failures := make(chan error, 2)
	side.Go(func() { failures <- inMemory(f.share(ownShm), &shm, &shmPeak, pause) })
	side.Go(func() { failures <- onDisk(disk, pause) })

	m := newMeter()
	began := m.read()
	var o open
	untrace := tracer(began.at, o.ops.Load, func(s *sample) {
		s.LiveAsked, s.NonGo, s.Queue = c.maxBytes+batch.Load(), shm.Load(), o.queue.Load()
	}, f.trace)
	o.run(rate, f.duration(), func() {
		value := c.use()
		body := make([]byte, 4<<10+len(value)) // request and response
		copy(body[4<<10:], value)
		answer := make([]byte, 0, 256)
		for i := 0; i < len(value); i += 64 {
			answer = fmt.Appendf(answer, "%x,", value[i])
		}
		sum := sha256.Sum256(answer)
		copy(body, sum[:])
		runtime.KeepAlive(body)
	})
	wall := time.Since(began.at).Seconds()
	untrace()
	close(stop)
	side.Wait()
	for range 2 {
		if err := <-failures; err != nil {
			return err
		}
	}
	r := result{
		Load: "memory own", Ops: o.ops.Load(), LivePeak: c.maxBytes + batchPeak.Load(), NonGoPeak: shmPeak.Load(),
		Queue: int64(float64(o.queue.Load()) * tick.Seconds() * rate), Late: o.lateness(),
	}
	r.finish(m, began, wall)
	runtime.KeepAlive(c)
	printJSON(r)
	return nil
}

// inMemory grows a file in memory (memfd_create(2), charged like shared memory) over a second,
// keeps it for three, and truncates it for two.
func inMemory(bytes int64, now, peak *atomic.Int64, pause func(time.Duration) bool) error {
	name := []byte("governed\x00")
	fd, _, errno := syscall.Syscall(memfdCreate, uintptr(unsafe.Pointer(&name[0])), 0, 0)
	if errno != 0 {
		return os.NewSyscallError("memfd_create", errno)
	}
	f := os.NewFile(fd, "memory")
	defer f.Close()
	chunk := make([]byte, bytes/50)
	for {
		for i := range int64(50) {
			if _, err := f.WriteAt(chunk, i*int64(len(chunk))); err != nil {
				return err
			}
			now.Store((i + 1) * int64(len(chunk)))
			peak.Store(max(peak.Load(), now.Load()))
			if !pause(20 * time.Millisecond) {
				return nil
			}
		}
		if !pause(3 * time.Second) {
			return nil
		}
		if err := f.Truncate(0); err != nil {
			return err
		}
		now.Store(0)
		if !pause(2 * time.Second) {
			return nil
		}
	}
}

// onDisk overwrites a file repeatedly at 20 MiB a second.
func onDisk(f *os.File, pause func(time.Duration) bool) error {
	chunk := make([]byte, 1<<20)
	for i := int64(0); pause(50 * time.Millisecond); i++ {
		at := i * int64(len(chunk)) % ownFile
		if _, err := f.WriteAt(chunk, at); err != nil {
			return err
		}
		if _, err := f.ReadAt(chunk[:64<<10], at/2); err != nil {
			return err
		}
	}
	return nil
}

// memfdCreate is the number of memfd_create, which package syscall lacks.
var memfdCreate = map[string]uintptr{"amd64": 319, "arm64": 279}[runtime.GOARCH]
