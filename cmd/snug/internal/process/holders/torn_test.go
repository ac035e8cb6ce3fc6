// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"errors"
	"fmt"
	"io"
	"os"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// moving is memory that changes between reads: before each read a step of the program may happen.
type moving struct {
	parts map[uint64][]byte
	steps []func()
	// The first steps happen before read number start, speed of them before each read, and the
	// step number pause only after wait more reads.
	start, speed, pause, wait int
	reads, done               int
	words                     bool // a read is one for each word
}

func (m *moving) ReadAt(p []byte, addr int64) (n int, err error) {
	if !m.words {
		return m.readAt(p, addr)
	}
	for n < len(p) {
		got, err := m.readAt(p[n:min(n+8, len(p))], addr+int64(n))
		if n += got; err != nil {
			return n, err
		}
	}
	return n, nil
}

func (m *moving) readAt(p []byte, addr int64) (int, error) {
	m.reads++
	for n := 0; n < m.speed && m.reads > m.start && m.done < len(m.steps); n++ {
		if m.done == m.pause && m.wait > 0 {
			m.wait--
			break
		}
		m.steps[m.done]()
		m.done++
	}
	for at, part := range m.parts {
		if from := uint64(addr) - at; uint64(addr) >= at && from < uint64(len(part)) {
			n := copy(p, part[from:])
			if n < len(p) {
				return n, io.ErrUnexpectedEOF
			}
			return n, nil
		}
	}
	return 0, errors.New("not mapped")
}

func (m *moving) word(addr uint64) uint64 {
	var p [8]byte
	for at, part := range m.parts {
		if from := addr - at; addr >= at && from < uint64(len(part)) {
			copy(p[:], part[from:])
		}
	}
	return le.Uint64(p[:])
}

func (m *moving) set(addr, value uint64) {
	for at, part := range m.parts {
		if from := addr - at; addr >= at && from < uint64(len(part)) {
			le.PutUint64(part[from:], value)
		}
	}
}

// Addresses of a simulated runtime. Buckets are too far apart to be read at once.
const (
	simBuckets = 0x1000
	simCycle   = 0x1008
	simLock    = 0x1010
	simRate    = 0x1018
	simFirst   = 0x100000
	simApart   = 0x20000
	simCount   = 4
	simSize    = 32 // bytes of an object
)

func simBucket(i int) uint64 { return simFirst + uint64(i)*simApart }

// simulated returns a reader of a program with four buckets, in which 10(i+1) objects of bucket i
// are published, i+1 will be with the current cycle, and another 100 with the next.
func simulated(t testing.TB, size int) *Reader {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	file, err := gobin.Open(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	m := memoryOf(file, size)
	v := func(addr uint64) gobin.Var { return gobin.Var{Addr: addr, Votes: 1, Of: 1} }
	at := gobin.Records{MemBuckets: v(simBuckets), MemCycle: v(simCycle), MemLock: v(simLock), MemRate: v(simRate), MemLinked: true, Known: true}
	at.Offsets.Cycle = int64(size)
	return &Reader{file: file, mem: m, at: at, rest: func(int) {}}
}

// memoryOf returns its memory.
func memoryOf(file *gobin.File, size int) *moving {
	m := &moving{parts: map[uint64][]byte{simBuckets: make([]byte, 64)}}
	for i := range simCount {
		m.parts[simBucket(i)] = make([]byte, bucketHead+8+4*size)
		next := simBucket(i + 1)
		if i == simCount-1 {
			next = 0
		}
		for j, v := range []uint64{0, next, kindMemory, 0, simSize, 1, file.TextStart + 64} {
			m.set(simBucket(i)+8*uint64(j), v)
		}
		m.count(size, i, 0, 10*(i+1))
		m.count(size, i, 1+4%cycles, i+1)
		m.count(size, i, 1+5%cycles, 100)
	}
	m.set(simBuckets, simBucket(0))
	m.set(simCycle, 4<<1)
	m.set(simRate, 1)
	return m
}

// count adds allocations to a cycle of a bucket; the first cycle is the active one.
func (m *moving) count(size, bucket, cycle, n int) {
	at := simBucket(bucket) + bucketHead + 8 + uint64(cycle*size)
	m.set(at, m.word(at)+uint64(n))
	if size == 32 {
		m.set(at+16, m.word(at+16)+uint64(n)*simSize)
	}
}

// flush returns the steps in which mProf_Flush moves the current cycle into the active one.
func (m *moving) flush(size int, marked bool) []func() {
	var steps []func()
	if marked {
		steps = append(steps, func() { m.set(simCycle, m.word(simCycle)|1) })
	}
	steps = append(steps, func() { m.set(simLock, 1) })
	for i := range simCount {
		active := simBucket(i) + bucketHead + 8
		future := active + uint64((1+4%cycles)*size)
		for j := range uint64(size / 8) {
			steps = append(steps, func() { m.set(active+8*j, m.word(active+8*j)+m.word(future+8*j)) })
		}
		for j := range uint64(size / 8) {
			steps = append(steps, func() { m.set(future+8*j, 0) })
		}
	}
	return append(steps, func() { m.set(simLock, 0) })
}

// TestFlushWhileRead flushes between any two reads, at several speeds, and stops for a while in the
// middle: the profile is the same each time.
func TestFlushWhileRead(t *testing.T) {
	for _, size := range []int{32, 16} {
		r := simulated(t, size)
		reads, again := 0, 0
		read := func(m *moving, what string) {
			r.mem = m
			h, err := r.Heap()
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			if reads == 0 {
				reads = m.reads
			}
			if m.reads > reads {
				again++
			}
			got := fmt.Sprint(h.Early)
			for _, s := range h.Sites {
				got += fmt.Sprint(" ", s.Allocs)
			}
			if want := "false 11 22 33 44"; got != want {
				t.Fatalf("%s: %s, want %s", what, got, want)
			}
		}
		read(memoryOf(r.file, size), "at rest")
		for _, marked := range []bool{true, false} { // a profile of the program itself does not mark it
			for start := range reads {
				for _, speed := range []int{1, 2, 3, 5, 7, 11, 100} {
					m := memoryOf(r.file, size)
					m.start, m.speed, m.steps = start, speed, m.flush(size, marked)
					read(m, fmt.Sprintf("size %d, start %d, %d steps a read", size, start, speed))
				}
				for pause := range 40 {
					for _, wait := range []int{4, 5, 9, 13} {
						m := memoryOf(r.file, size)
						m.start, m.speed, m.pause, m.wait, m.steps = start, 4, pause, wait, m.flush(size, marked)
						read(m, fmt.Sprintf("size %d, start %d, pause %d for %d reads", size, start, pause, wait))
					}
				}
			}
		}
		if again == 0 {
			t.Error("nothing was read again")
		}
		t.Logf("size %d: %d reads at rest; read again in %d cases", size, reads, again)
	}
}

// TestEarly: before the first collection all allocations count, also those of the next cycles.
func TestEarly(t *testing.T) {
	r := simulated(t, 32)
	m := memoryOf(r.file, 32)
	for i := range simCount {
		m.count(32, i, 0, -10*(i+1))
		m.count(32, i, 1+4%cycles, -(i + 1))
	}
	r.mem = m
	h, err := r.Heap()
	if err != nil || !h.Early || len(h.Sites) != simCount || h.Sites[0].Allocs != 100 {
		t.Errorf("%v, %+v", err, h)
	}
	// Objects and bytes that do not fit.
	m.set(simBucket(2)+bucketHead+8+16, 1)
	if h, err := r.Heap(); !errors.Is(err, errTorn) {
		t.Errorf("%v, %+v", err, h)
	}
}

// TestHostileBuckets: no list of buckets makes it read without end, or more than the bounds.
func TestHostileBuckets(t *testing.T) {
	r := simulated(t, 32)
	for what, change := range map[string]func(m *moving){
		"a circle":        func(m *moving) { m.set(simBucket(simCount-1)+8, simBucket(0)) },
		"a circle of one": func(m *moving) { m.set(simBucket(0)+8, simBucket(0)) },
		"nowhere":         func(m *moving) { m.set(simBucket(1)+8, 1<<40) },
		"no address":      func(m *moving) { m.set(simBuckets, 1<<63) },
		"the end of all":  func(m *moving) { m.set(simBuckets, ^uint64(0)) },
		"another kind":    func(m *moving) { m.set(simBucket(1)+16, 2) },
		"too many calls":  func(m *moving) { m.set(simBucket(1)+40, 1<<40) },
		"too large":       func(m *moving) { m.set(simBucket(1)+32, 1<<60) },
		"a lock for ever": func(m *moving) { m.set(simLock, 1) },
		"more frees": func(m *moving) {
			m.set(simBucket(1)+bucketHead+8+8, 99)
			m.set(simBucket(1)+bucketHead+8+24, 99*simSize)
		},
		"a senseless rate": func(m *moving) { m.set(simRate, 1<<50) },
	} {
		m := memoryOf(r.file, 32)
		change(m)
		r.mem = m
		if h, err := r.Heap(); err == nil {
			t.Errorf("%s: %+v", what, h)
		}
	}
	for _, rate := range []uint64{0, ^uint64(0)} {
		m := memoryOf(r.file, 32)
		m.set(simRate, rate)
		r.mem = m
		if _, err := r.Heap(); !errors.Is(err, ErrOff) {
			t.Errorf("rate %d: %v", rate, err)
		}
	}
}

// Addresses and offsets of a simulated goroutine.
const (
	simG     = 0x1000
	simStack = 0x8000
	simWords = 6
)

var simOffsets = gobin.Offsets{Sched: 16, SyscallSP: 64, SyscallPC: 72, Status: 80, ID: 88, WaitReason: 96, Tracking: 97, ParentID: -1, GoPC: 104, StartPC: 112, LR: 32}

// TestGoroutineWhileRead lets a goroutine run and stop again at the same place, between any two
// reads: a stack that is shown is that of one stop.
func TestGoroutineWhileRead(t *testing.T) {
	for _, counts := range []bool{true, false} { // going through a system call is not counted
		shown, again := 0, 0
		for start := range 60 {
			for _, speed := range []int{1, 2, 3, 5, 8, 20} {
				for pause := range 25 {
					for _, wait := range []int{0, 5, 16, 23, 40} {
						m := &moving{parts: map[uint64][]byte{simG: make([]byte, 128), simStack: make([]byte, 8*simWords)}, start: start, speed: speed, pause: pause, wait: wait, words: true}
						m.set(simG, simStack)
						m.set(simG+8, simStack+8*simWords)
						m.set(simG+16, simStack)
						m.set(simG+80, statusWaiting)
						m.set(simG+88, 7)
						for stop := range uint64(3) {
							m.steps = append(m.steps, func() {
								if m.set(simG+80, statusRunning); counts {
									m.set(simG+96, m.word(simG+96)+1<<8)
								}
							})
							for i := range uint64(simWords) {
								m.steps = append(m.steps, func() { m.set(simStack+8*i, stop+1) })
							}
							m.steps = append(m.steps, func() { m.set(simG+80, statusWaiting) })
						}
						r := &Reader{mem: m, at: gobin.Records{Offsets: simOffsets}}
						one, stack, ok := r.settled(simG)
						if !ok || one.status == statusRunning {
							continue
						}
						if shown++; m.reads > 60 {
							again++
						}
						for i := 8; i < len(stack); i += 8 {
							if le.Uint64(stack[i:]) != le.Uint64(stack) {
								t.Fatalf("start %d, speed %d, pause %d for %d reads, counted %v: %v", start, speed, pause, wait, counts, stack)
							}
						}
					}
				}
			}
		}
		if shown == 0 || again == 0 {
			t.Error("nothing was read, or nothing again")
		}
		t.Logf("counted %v: %d stacks, %d read again", counts, shown, again)
	}
}

// TestBound: a profile with more sites or calls than the caller has memory for is an error.
func TestBound(t *testing.T) {
	r := simulated(t, 32)
	r.mem = memoryOf(r.file, 32)
	all, err := r.Heap()
	if err != nil || len(all.Sites) < 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, bound := range [][2]int{{1, 1 << 10}, {1 << 10, 1}} {
		r.Bound(bound[0], bound[1])
		if h, err := r.Heap(); err == nil || h != nil {
			t.Errorf("%v: %+v, %v", bound, h, err)
		}
	}
}
