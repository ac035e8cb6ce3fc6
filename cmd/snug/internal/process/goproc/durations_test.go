// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"io"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
)

// durationsOf counts durations as the runtime does since Go 1.20 (runtime/histogram.go, record).
func durationsOf(t *testing.T, list ...time.Duration) Durations {
	t.Helper()
	b := make(block, sizeCoarse)
	for _, d := range list {
		i := buckets
		if d >= 0 {
			for i = 0; i < buckets && lower(i+1) <= d; i++ {
			}
		}
		at := 8 * i
		switch {
		case d < 0:
			at = 8 * buckets
		case i == buckets:
			at = 8 * (buckets + 1)
		}
		put64(b, at, b.uint64(int64(at))+1)
	}
	d, ok := parseDurations(b)
	if !ok {
		t.Fatal("not read")
	}
	return d
}

// TestBuckets: the bounds ascend, begin as the runtime's do, and each duration is between those of
// its bucket.
func TestBuckets(t *testing.T) {
	for i, want := range []time.Duration{0, 64, 128, 192, 256, 320, 384, 448, 512, 640} {
		if lower(i) != want {
			t.Errorf("bucket %d from %d, want %d", i, lower(i), want)
		}
	}
	if lower(buckets) != 1<<47 || bucketOf(1<<47) != buckets || bucketOf(1<<62) != buckets {
		t.Errorf("the end %d", lower(buckets))
	}
	for i := range buckets {
		if lower(i) >= lower(i+1) || bucketOf(lower(i)) != i || bucketOf(lower(i+1)-1) != i {
			t.Errorf("bucket %d from %d to %d", i, lower(i), lower(i+1))
		}
	}
}

func TestQuantile(t *testing.T) {
	ms := time.Millisecond
	d := durationsOf(t, ms, ms, ms, ms, ms, ms, ms, ms, ms, 80*ms)
	for share, exact := range map[float64]time.Duration{0: ms, 0.5: ms, 0.9: ms, 0.91: 80 * ms, 0.99: 80 * ms, 1: 80 * ms} {
		if got, ok := d.Quantile(share); !ok || got <= exact || float64(got) > 1.25*float64(exact) {
			t.Errorf("quantile %v: %v %v, exact %v", share, got, ok, exact)
		}
	}
	if d.Below(1<<20) != 9 || d.Below(1<<30) != 10 || d.Below(64) != 0 {
		t.Errorf("%d below 1 ms, %d below 1 s, %d below 64 ns", d.Below(1<<20), d.Below(1<<30), d.Below(64))
	}
	d = durationsOf(t, -5, 1<<50)
	if low, _ := d.Quantile(0.5); low != 0 {
		t.Errorf("a negative duration is %v", low)
	}
	if high, _ := d.Quantile(1); high != 1<<47 || d.Below(1<<40) != 1 {
		t.Errorf("an endless one is %v", high)
	}
	if _, ok := new(Durations).Quantile(0.5); ok {
		t.Error("a quantile of nothing")
	}
}

func TestSince(t *testing.T) {
	early, late := durationsOf(t, 100, time.Second), durationsOf(t, 100, 100, time.Second, time.Minute, 1<<50, -1)
	d, ok := late.Since(&early)
	if !ok || d.Count() != 4 || d.at(bucketOf(100)) != 1 || d.at(bucketOf(time.Second)) != 0 || d.at(bucketOf(time.Minute)) != 1 {
		t.Errorf("%+v %v", d, ok)
	}
	if _, ok := early.Since(&late); ok {
		t.Error("a count fell")
	}
	if d, ok := late.Since(new(Durations)); !ok || d.Count() != late.Count() {
		t.Errorf("since nothing: %+v", d)
	}
}

// TestFine: the buckets of Go 1.18 add up to those of later releases.
func TestFine(t *testing.T) {
	b := make(block, sizeFine)
	for i := range 45 * 16 {
		put64(b, 8*i, 1)
	}
	put64(b, 8*45*16, 3)
	d, ok := parseDurations(b)
	// The last of 45 powers of two with 16 buckets each, from 2^47 on, is above; the first three
	// are below 64 ns.
	if !ok || d.below != 3 || d.above != 16 || d.at(0) != 3*16 || d.at(1) != 16 || d.at(2) != 8 || d.at(4) != 4 || d.at(buckets-1) != 4 || d.Count() != 45*16+3 {
		t.Errorf("%+v %v", d, ok)
	}
	if _, ok := parseDurations(make(block, 100)); ok {
		t.Error("100 bytes are a histogram")
	}
}

// torn is a memory that shows a count as half written, in some reads of a histogram.
type torn struct {
	io.ReaderAt
	reads int
	bad   func(read int) bool
}

func (m *torn) ReadAt(p []byte, off int64) (int, error) {
	n, err := m.ReaderAt.ReadAt(p, off)
	if off == atRun {
		if m.reads++; m.bad(m.reads) {
			put64(p, 8, 1<<32) // of a count that became 0xffffffff + 1
		} else {
			put64(p, 8, 0xffffffff)
		}
	}
	return n, err
}

// TestTorn: a count of which a read has the halves of two is not shown.
func TestTorn(t *testing.T) {
	for name, c := range map[string]struct {
		bad   func(int) bool
		known bool
	}{
		"never":  {func(int) bool { return false }, true},
		"first":  {func(read int) bool { return read == 1 }, true},
		"third":  {func(read int) bool { return read == 3 }, true},
		"always": {func(read int) bool { return read%2 == 1 }, false},
	} {
		_, r := invented()
		r.mem = &torn{ReaderAt: r.mem, bad: c.bad}
		f := &Facts{Exe: Exe{IsGo: true, Minor: 26}}
		r.delays(f)
		if f.SchedLatency.Known() != c.known || c.known == (f.SchedLatency.Why != "") {
			t.Errorf("%s: %+v", name, f.SchedLatency)
		}
		if f.SchedLatency.Known() && f.SchedLatency.N.at(1) != 0xffffffff {
			t.Errorf("%s: %d", name, f.SchedLatency.N.at(1))
		}
	}
	if _, r := invented(); r != nil {
		r.image.Sched = gobin.Sched{}
		f := &Facts{}
		r.delays(f)
		if f.SchedLatency.Known() || f.SchedLatency.Why != noOffset {
			t.Errorf("without offsets: %+v", f.SchedLatency)
		}
	}
}
