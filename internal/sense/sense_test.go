// SPDX-License-Identifier: Apache-2.0

package sense

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/law"
)

func TestMain(m *testing.M) {
	if os.Getenv("SNUG_TEST_HEAP") != "" {
		printHeap()
		return
	}
	os.Exit(m.Run())
}

var ballast [][]byte

// fill allocates a live heap of the given size.
func fill(bytes int) {
	for ; bytes > 0; bytes -= 64 << 10 {
		b := make([]byte, 64<<10)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		ballast = append(ballast, b)
	}
}

// printHeap is the child of TestEffectiveGOGC.
func printHeap() {
	fill(64 << 20)
	runtime.GC()
	runtime.GC()
	var h law.Heap
	New().Heap(&h)
	fmt.Printf("%g %d %d %d\n", h.EffectiveGOGC(), h.GOGC, h.Limit, h.Live)
	runtime.KeepAlive(ballast)
}

// TestEffectiveGOGC reads back a child's GOGC, both from the knob and from the heap goal.
func TestEffectiveGOGC(t *testing.T) {
	for _, c := range []struct {
		gogc, memory string
		percent      int64
		limit        int64
	}{
		{"50", "", 50, math.MaxInt64},
		{"100", "", 100, math.MaxInt64},
		{"200", "", 200, math.MaxInt64},
		{"100", "1GiB", 100, 1 << 30},
		{"off", "1GiB", -1, 1 << 30},
	} {
		t.Run(c.gogc+" "+c.memory, func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(cmd.Environ(), "SNUG_TEST_HEAP=1", "GOGC="+c.gogc, "GOMEMLIMIT="+c.memory)
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			var effective float64
			var gogc, limit, live int64
			if _, err := fmt.Sscan(string(out), &effective, &gogc, &limit, &live); err != nil {
				t.Fatalf("%q: %v", out, err)
			}
			if gogc != c.percent || limit != c.limit {
				t.Errorf("GOGC %d, GOMEMLIMIT %d, want %d, %d", gogc, limit, c.percent, c.limit)
			}
			if live < 64<<20 || live > 70<<20 {
				t.Errorf("live = %d, want the 64 MiB that are", live)
			}
			want := float64(c.percent)
			if c.percent < 0 { // the limit decides: the rest of 1 GiB, in multiples of 64 MiB
				want, effective = 1, min(1, effective/1000)
			}
			if math.Abs(effective-want) > want/100 {
				t.Errorf("effective GOGC = %v, want %v", effective, want)
			}
		})
	}
}

// TestMapped allocates and frees 64 MiB.
func TestMapped(t *testing.T) {
	s := New()
	const size = 64 << 20
	debug.FreeOSMemory()
	before := s.Mapped()
	fill(size)
	with := s.Mapped()
	if grown := with - before; grown < size-size/16 || grown > size+size/8 {
		t.Errorf("grew by %d with %d bytes of heap", grown, size)
	}
	var h law.Heap
	s.Heap(&h)
	if d := h.Mapped - s.Mapped(); d < -(4<<20) || d > 4<<20 {
		t.Errorf("Heap says %d, Mapped %d", h.Mapped, s.Mapped())
	}
	if h.Objects < size || h.Free < 0 || h.Objects+h.Free > h.Mapped {
		t.Errorf("%+v does not add up", h)
	}
	ballast = nil
	debug.FreeOSMemory()
	if after := s.Mapped(); after > before+size/8 {
		t.Errorf("%d when it was freed, %d before it was made", after, before)
	}
}

func TestHeapCounts(t *testing.T) {
	s := New()
	var a, b law.Heap
	s.Heap(&a)
	runtime.GC()
	s.Heap(&b)
	if b.Cycles <= a.Cycles || b.Live <= 0 || b.Stacks <= 0 || b.Globals <= 0 || b.Goal <= 0 {
		t.Errorf("before a collection %+v, after it %+v", a, b)
	}
}

func TestCPU(t *testing.T) {
	s := New()
	a := law.CPU{At: 1, Cores: 2, Quota: 3, Periods: 4, Throttled: 5}
	s.CPU(&a, false)
	fill(16 << 20)
	ballast = nil
	runtime.GC() // the classes advance when a collection ends
	b := a
	s.CPU(&b, false)
	if b.At != 1 || b.Cores != 2 || b.Quota != 3 || b.Periods != 4 || b.Throttled != 5 {
		t.Errorf("%+v: others' figures are touched", b)
	}
	if b.Procs != runtime.GOMAXPROCS(0) || !math.IsNaN(b.KernelWait) {
		t.Errorf("%+v", b)
	}
	if !(b.GC > a.GC) || !(b.Busy > a.Busy) || b.GC > b.Busy || b.GoWait < a.GoWait || b.Wakeups < a.Wakeups {
		t.Errorf("from %+v to %+v", a, b)
	}
	if runtime.GOOS == "linux" && !(b.Used > a.Used) {
		t.Errorf("used %v, then %v", a.Used, b.Used)
	}
}

// TestGoWait runs four goroutines on one P: at any moment one runs and three wait. The runtime
// tracks one wait in eight. If the machine delays the thread for long, these few waits may not be
// tracked, and the test tries again. A wrong figure fails each time.
func TestGoWait(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := New()
	for try := time.Duration(1); ; try++ {
		waiting, each := takeTurns(s, try*400*time.Millisecond)
		if waiting > 1.5 && waiting < 6 && each > 50e-6 {
			return
		}
		t.Logf("%.2f goroutines waited on average, want 3 within a factor of 2; %v s for each wake-up, want three turns of 50 µs or more", waiting, each)
		if try == 10 {
			t.Fatal("it is never right")
		}
	}
}

// takeTurns runs four goroutines for 50 µs each in turn, and returns how many waited on average,
// and how long each.
func takeTurns(s *Sensor, window time.Duration) (waiting, each float64) {
	var from, to law.CPU
	s.CPU(&from, false)
	begin := time.Now()
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for time.Since(begin) < window {
				for turn := time.Now(); time.Since(turn) < 50*time.Microsecond; {
				}
				runtime.Gosched()
			}
		}()
	}
	wg.Wait()
	s.CPU(&to, false)
	return (to.GoWait - from.GoWait) / time.Since(begin).Seconds(), (to.GoWait - from.GoWait) / (to.Wakeups - from.Wakeups)
}

// TestBuckets covers the first and the last bucket, which have one end.
func TestBuckets(t *testing.T) {
	for _, c := range []struct{ from, to, want float64 }{
		{math.Inf(-1), 0, 0},
		{math.Inf(-1), math.Inf(1), 0},
		{0, 64e-9, 32e-9},
		{1, 1.5, 1.25},
		{70, math.Inf(1), 70},
	} {
		if got := middle(c.from, c.to); got != c.want {
			t.Errorf("middle(%v, %v) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}

// TestMetricsThatAreMissing simulates a Go that has dropped a metric.
func TestMetricsThatAreMissing(t *testing.T) {
	for i := range heapNames {
		s := New()
		s.heap[i].Name = "/no/such:metric"
		h := law.Heap{Live: 7, Cycles: 9}
		s.Heap(&h)
		if h.Mapped != -1 || h.Live != -1 || h.Goal != -1 || h.Cycles != 0 || !math.IsInf(h.EffectiveGOGC(), 1) {
			t.Errorf("without %s: %+v", heapNames[i], h)
		}
	}
	for i := range cpuNames {
		s := New()
		s.cpu[i].Name = "/no/such:metric"
		var c law.CPU
		s.CPU(&c, false)
		lost := [...]bool{math.IsNaN(c.GC) && math.IsNaN(c.Busy), math.IsNaN(c.Busy), math.IsNaN(c.Busy), c.Idle == 0, math.IsNaN(c.GoWait) && math.IsNaN(c.Wakeups)}
		if !lost[i] || c.Procs == 0 {
			t.Errorf("without %s: %+v", cpuNames[i], c)
		}
	}
	s := New()
	s.mapped[1].Name = "/no/such:metric"
	if n := s.Mapped(); n != -1 {
		t.Errorf("Mapped = %d, want -1", n)
	}
}

// TestMetricsExist fails if this Go lacks a metric, so that a rename is noticed here and not by
// users.
func TestMetricsExist(t *testing.T) {
	known := map[string]metrics.ValueKind{}
	for _, d := range metrics.All() {
		known[d.Name] = d.Kind
	}
	for _, name := range append(heapNames[:], cpuNames[:]...) {
		want := metrics.KindUint64
		if strings.HasPrefix(name, "/cpu/") {
			want = metrics.KindFloat64
		} else if strings.HasPrefix(name, "/sched/") {
			want = metrics.KindFloat64Histogram
		}
		if known[name] != want {
			t.Errorf("%s: kind %v, want %v", name, known[name], want)
		}
	}
}

func TestNothingIsAllocated(t *testing.T) {
	s := New()
	defer s.Close()
	var h law.Heap
	var c law.CPU
	for _, call := range []struct {
		name string
		f    func()
	}{
		{"Heap", func() { s.Heap(&h) }},
		{"Mapped", func() { s.Mapped() }},
		{"CPU", func() { s.CPU(&c, false) }},
		{"KernelWait", func() { s.KernelWait() }},
	} {
		call.f()
		if n := testing.AllocsPerRun(100, call.f); n != 0 {
			t.Errorf("%s allocates %v times, want 0", call.name, n)
		}
	}
}

func BenchmarkHeap(b *testing.B) {
	s := New()
	var h law.Heap
	b.ReportAllocs()
	for range b.N {
		s.Heap(&h)
	}
}

func BenchmarkMapped(b *testing.B) {
	s := New()
	b.ReportAllocs()
	for range b.N {
		s.Mapped()
	}
}

func BenchmarkCPU(b *testing.B) {
	s := New()
	var c law.CPU
	b.ReportAllocs()
	for range b.N {
		s.CPU(&c, false)
	}
}
