// SPDX-License-Identifier: Apache-2.0

package holders

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// ErrOff means that the program keeps no memory profile. It is wrapped with the reason.
var ErrOff = errors.New("it keeps no memory profile")

// errTorn means that the profile changed while it was read.
var errTorn = errors.New("the memory profile changed with every read")

const (
	maxBuckets = 1 << 20
	maxDepth   = 1 << 11 // is above runtime.maxProfStackDepth plus the frames it skips
	maxRate    = 1 << 40
	// A bucket is next, allnext, typ, hash, size, nstk, a word each, then nstk addresses, then
	// active and three future cycles (runtime/mprof.go). It never changes but for the cycles, and
	// is never freed.
	bucketHead = 6 * 8
	kindMemory = 1
	cycles     = 3
	cycles1    = 1 + cycles // active, then the future ones
	// maxSpan is how much is read at once, in bytes. The runtime allocates buckets one after the
	// other, in chunks of 256 KiB.
	maxSpan = 64 << 10
	// heapAttempts is how often the profile is read. The runtime moves a cycle once a collection,
	// which takes it well under a millisecond, unless its thread has to wait for a CPU.
	heapAttempts = 50
)

// pause lets the process finish what it is at, after the first attempt.
func pause(attempt int) {
	if attempt > 0 {
		time.Sleep(time.Duration(min(attempt, 10)) * time.Millisecond)
	}
}

// Heap is the runtime's own memory profile: the allocations that it has sampled, and which of
// them were still live at the last completed collection.
type Heap struct {
	// Rate is MemProfileRate: on average one allocation in Rate bytes is sampled.
	Rate int64
	// Sites are in no order. Several may have the same calls with other sizes.
	Sites []Site
	// Early reports that no collection has completed, so that the profile holds all allocations
	// up to now.
	Early bool
	// Source says where it was found.
	Source string
}

// Site is a call stack that allocated objects of one size.
type Site struct {
	// Calls are innermost first, as addresses for gobin.File.Frames. Each is one call, also if it
	// was inlined, except that the last may have callers into which it was inlined.
	Calls []uint64
	// Size is that of an object, in bytes.
	Size int64
	// Allocs and Frees are sampled objects.
	Allocs, Frees int64
}

// Estimate returns how many objects the sampled ones stand for, and their bytes. An object of
// size bytes is sampled with a probability of 1 - exp(-size/rate) (runtime/pprof/protomem.go,
// scaleHeapSample).
func Estimate(samples, size, rate int64) (objects, bytes int64) {
	if samples == 0 || size == 0 {
		return 0, 0
	}
	if rate <= 1 {
		return samples, samples * size
	}
	scale := 1 / (1 - math.Exp(-float64(size)/float64(rate)))
	return int64(float64(samples) * scale), int64(float64(samples*size) * scale)
}

// bucket is a bucket's fixed part, and the address of its cycles.
type bucket struct {
	site  Site
	addr  uint64
	cycle [cycles1]cycle
}

type cycle struct{ allocs, frees int64 }

func (c cycle) plus(d cycle) cycle { return cycle{c.allocs + d.allocs, c.frees + d.frees} }

// Heap reads the memory profile as runtime/pprof would write it. The error may be ErrOff,
// ErrUnknown or a read error.
func (r *Reader) Heap() (*Heap, error) {
	rate, err := r.rate()
	if err != nil {
		return nil, err
	}
	var list []*bucket
	for i := range heapAttempts {
		r.rest(i)
		if list, err = r.buckets(list); err != nil {
			return nil, err
		}
		h, err := r.published(list)
		if err == nil {
			h.Rate = rate
			h.Source = fmt.Sprintf("runtime.mbuckets, %d/%d votes", r.at.MemBuckets.Votes, r.at.MemBuckets.Of)
			return h, nil
		}
		if !errors.Is(err, errTorn) {
			return nil, err
		}
	}
	return nil, errTorn
}

// rate reads MemProfileRate.
func (r *Reader) rate() (int64, error) {
	if !r.at.MemLinked {
		return 0, fmt.Errorf("%w: the linker left it out, because the program never reads it itself", ErrOff)
	}
	var p [8]byte
	if err := r.variable(r.at.MemRate, "MemProfileRate", p[:]); err != nil {
		return 0, err
	}
	switch rate := int64(le.Uint64(p[:])); {
	case rate <= 0:
		return 0, fmt.Errorf("%w: the program or GODEBUG set MemProfileRate to %d", ErrOff, rate)
	case rate > maxRate:
		return 0, fmt.Errorf("MemProfileRate %d makes no sense", rate)
	default:
		return rate, nil
	}
}

// buckets reads the fixed parts of the buckets. known are those of an earlier read: the list only
// grows, at its head.
func (r *Reader) buckets(known []*bucket) ([]*bucket, error) {
	var p [bucketHead]byte
	if err := r.variable(r.at.MemBuckets, "mbuckets", p[:8]); err != nil {
		return nil, err
	}
	var added []*bucket
	held, sites, calls := 0, cmp.Or(r.sites, maxBuckets), cmp.Or(r.calls, maxHeld)
	// The memory may lie: a list that comes back to a bucket is found by Brent's algorithm.
	turtle, steps, power := uint64(0), 0, 1
	for at := le.Uint64(p[:]); at != 0; at = le.Uint64(p[8:]) {
		if err := r.read(at, p[:]); err != nil {
			return nil, fmt.Errorf("a bucket of the memory profile cannot be read: %w", err)
		}
		if steps++; at == turtle {
			return nil, errors.New("the buckets of the memory profile form a circle")
		} else if steps == power {
			turtle, steps, power = at, 0, 2*power
		}
		kind, size, depth := le.Uint64(p[16:]), le.Uint64(p[32:]), le.Uint64(p[40:])
		if kind != kindMemory || size > 1<<48 || depth > maxDepth {
			return nil, fmt.Errorf("a bucket of the memory profile makes no sense: kind %d, size %d, %d calls",
				kind, size, depth)
		}
		if held += int(depth); held > calls || len(known)+len(added) >= sites {
			return nil, fmt.Errorf("the memory profile has more than %d sites, or %d calls", sites, calls)
		}
		b := &bucket{site: Site{Size: int64(size)}, addr: at + bucketHead + 8*depth}
		if len(known) > 0 && known[0].addr == b.addr {
			break
		}
		stack := make([]byte, 8*depth)
		if err := r.read(at+bucketHead, stack); err != nil {
			return nil, fmt.Errorf("a bucket of the memory profile cannot be read: %w", err)
		}
		for ; len(stack) > 0; stack = stack[8:] {
			pc := le.Uint64(stack)
			if pc == 0 {
				break
			}
			b.site.Calls = append(b.site.Calls, r.caller(pc))
		}
		added = append(added, b)
	}
	return append(added, known...), nil
}

// published reads the cycles of all buckets and returns what a profile shows of them.
//
// A profile is the active cycle after the current one of the future cycles was added to it
// (runtime/mprof.go, memProfileInternal). The runtime moves it under a lock, bucket by bucket. So
// their sum is right unless a bucket was read in the middle of its move. Two reads of all buckets
// that agree, with the lock free before, between and after them and the number of the cycle
// unchanged, hold none: a move that both reads met in the same bucket would have held the lock
// between them.
func (r *Reader) published(list []*bucket) (*Heap, error) {
	before, err := r.moment()
	if err != nil {
		return nil, err
	}
	parts := spans(list, cycles1*int(r.at.Offsets.Cycle))
	err = r.each(parts, func(b *bucket, c [cycles1]cycle) error {
		b.cycle = c
		return nil
	})
	if err != nil {
		return nil, err
	}
	if now, err := r.moment(); err != nil || now != before {
		return nil, errors.Join(errTorn, err)
	}
	current := 1 + before.cycle%cycles
	early := true
	err = r.each(parts, func(b *bucket, again [cycles1]cycle) error {
		if again[0] != b.cycle[0] || again[current] != b.cycle[current] {
			return errTorn
		}
		if (again[0].plus(again[current]) != cycle{}) {
			early = false
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if now, err := r.moment(); err != nil || now != before {
		return nil, errors.Join(errTorn, err)
	}
	h := &Heap{Early: early}
	for _, b := range list {
		sum := b.cycle[0].plus(b.cycle[current])
		if early {
			// Nothing was published: then a profile shows what is still being counted.
			sum = b.cycle[1].plus(b.cycle[2]).plus(b.cycle[3])
		}
		if sum.allocs < 0 || sum.frees < 0 || sum.frees > sum.allocs || sum.allocs > 1<<48 {
			return nil, errTorn
		}
		if sum.allocs > 0 {
			site := b.site
			site.Allocs, site.Frees = sum.allocs, sum.frees
			h.Sites = append(h.Sites, site)
		}
	}
	return h, nil
}

// moment is what must not change while the cycles are read.
type moment struct {
	cycle uint32 // its number
	word  uint32 // as in memory, with the mark that it was flushed
}

// moment returns errTorn while the runtime moves cycles.
func (r *Reader) moment() (moment, error) {
	var p [8]byte
	if err := r.variable(r.at.MemLock, "profMemActiveLock", p[:]); err != nil {
		return moment{}, err
	}
	if le.Uint64(p[:]) != 0 {
		return moment{}, errTorn
	}
	if err := r.variable(r.at.MemCycle, "mProfCycle", p[:4]); err != nil {
		return moment{}, err
	}
	word := le.Uint32(p[:])
	if r.file.Minor < firstCycleHolder {
		return moment{word, word}, nil
	}
	return moment{word >> 1, word}, nil
}

// firstCycleHolder is the minor release since which the number of the cycle is stored with the
// mark that it was flushed.
const firstCycleHolder = 19

// span is buckets that one read serves.
type span struct {
	addr    uint64
	size    int
	buckets []*bucket
}

// spans groups buckets by their addresses. size is that of their cycles.
func spans(list []*bucket, size int) []span {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b *bucket) int { return cmp.Compare(a.addr, b.addr) })
	var all []span
	for _, b := range list {
		last := len(all) - 1
		if last < 0 || b.addr-all[last].addr > maxSpan-uint64(size) {
			all = append(all, span{addr: b.addr})
			last++
		}
		all[last].size = int(b.addr-all[last].addr) + size
		all[last].buckets = append(all[last].buckets, b)
	}
	return all
}

// each visits the cycles of all buckets until visit returns an error.
func (r *Reader) each(all []span, visit func(*bucket, [cycles1]cycle) error) error {
	if size := r.at.Offsets.Cycle; size != 16 && size != 32 {
		return fmt.Errorf("a cycle of %d bytes makes no sense", size)
	}
	buf := make([]byte, maxSpan)
	for _, s := range all {
		p := buf[:s.size]
		together := r.read(s.addr, p) == nil
		for _, b := range s.buckets {
			ok := false
			var c [cycles1]cycle
			if together {
				c, ok = r.parse(b, p[b.addr-s.addr:])
			}
			if !ok {
				var err error
				if c, err = r.alone(b); err != nil {
					return err
				}
			}
			if err := visit(b, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// alone reads the cycles of one bucket.
func (r *Reader) alone(b *bucket) ([cycles1]cycle, error) {
	p := make([]byte, cycles1*r.at.Offsets.Cycle)
	for range attempts {
		if err := r.read(b.addr, p); err != nil {
			return [cycles1]cycle{}, fmt.Errorf("a bucket of the memory profile cannot be read: %w", err)
		}
		if c, ok := r.parse(b, p); ok {
			return c, nil
		}
	}
	return [cycles1]cycle{}, errTorn
}

// parse reads the cycles of a bucket from its memory. All objects of a bucket have one size, so
// bytes that do not fit the number of objects were read in the middle of a change: then ok is
// false.
func (r *Reader) parse(b *bucket, p []byte) (c [cycles1]cycle, ok bool) {
	ok = true
	for i := range c {
		q := p[int64(i)*r.at.Offsets.Cycle:]
		c[i] = cycle{int64(le.Uint64(q)), int64(le.Uint64(q[8:]))}
		if r.at.Offsets.Cycle == 32 {
			ok = ok && int64(le.Uint64(q[16:])) == c[i].allocs*b.site.Size && int64(le.Uint64(q[24:])) == c[i].frees*b.site.Size
		}
	}
	return c, ok
}
