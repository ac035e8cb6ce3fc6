// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// gcRandom returns a random but realistic process under a limit.
func gcRandom(seed uint64) *gcLoop {
	r := rand.New(rand.NewPCG(seed, 4))
	logs := func(lo, hi float64) float64 { return lo * math.Pow(hi/lo, r.Float64()) }
	limit := logs(64*mib, 8192*mib)
	p := law.GCPolicy{On: true, Share: logs(0.02, 0.2)}
	l := newGCLoop(int64(limit), logs(0.003, 0.5)*limit, p)
	l.group.NonGo = 0.3 * r.Float64() * limit
	l.heap.SetMemoryLimit(int64(0.83*limit - l.group.NonGo))
	l.heap.Stacks = logs(0.0001, 0.05) * limit
	l.heap.Cores = logs(0.25, 8)
	l.heap.Procs = int(max(2, math.Ceil(l.heap.Cores)))
	l.heap.OpCPU = logs(2e-6, 1e-3)
	rate := logs(20*mib, 1000*mib) // bytes a CPU second
	l.heap.OpBytes = l.heap.OpCPU * rate
	l.heap.MarkRate = logs(300*mib, 2000*mib)
	if r.IntN(2) == 0 {
		l.heap.Rate = r.Float64() * l.heap.Cores / l.heap.OpCPU
	}
	// The allocation of one step is negligible beside the limit.
	l.dt = min(0.01, 0.01*limit/(rate*l.heap.Cores))
	return l
}

func gcSeeds(t *testing.T) uint64 {
	if testing.Short() {
		return 20
	}
	return 60
}

// TestGCSettles: under a constant load the law makes a few changes and then none, stays between
// Base and the maximum, and causes nothing that would not happen without it.
func TestGCSettles(t *testing.T) {
	raised := 0
	for seed := range gcSeeds(t) {
		l, plain := gcRandom(seed), gcRandom(seed)
		plain.policy = law.GCPolicy{}
		l.run(300)
		early := len(l.changes)
		l.run(600)
		plain.run(300)
		late := len(l.changes) - early
		if early > 8 || late > 2 {
			t.Errorf("seed %d: %d changes in 300 s, %d more in 600: %v", seed, early, late, l.changes)
		}
		if l.group.Killed && !plain.group.Killed || l.peak() > max(0.9, plain.peak()+0.01) {
			t.Errorf("seed %d: killed %v, peak %.3f, without the law %v, %.3f", seed, l.group.Killed, l.peak(), plain.group.Killed, plain.peak())
		}
		h, q := l.heap.Sample(), plain.heap.Sample()
		if l.gogc() < 100 || l.gogc() > 2000 || h.EffectiveGOGC() < min(100, 0.8*q.EffectiveGOGC()) {
			t.Errorf("seed %d: GOGC %d, effective %.0f, without the law %.0f", seed, l.gogc(), h.EffectiveGOGC(), q.EffectiveGOGC())
		}
		if l.gogc() > 100 {
			raised++
		}
	}
	if raised < int(gcSeeds(t)/3) {
		t.Errorf("GOGC was raised for %d processes of %d: the rest of this says little", raised, gcSeeds(t))
	}
}

// TestGCRecovers: other memory grows within 5 s and shrinks, and so does the live heap. If both
// took two thirds of the limit at once, that could exceed the extra heap: the law leaves room
// for bursts up to what the plan leaves.
func TestGCRecovers(t *testing.T) {
	for seed := range gcSeeds(t) / 4 {
		l := gcRandom(seed + 1000)
		l.heap.Live = 0.02 * float64(l.group.Limit)
		l.heap.OpBytes = 0.1 * l.heap.OpCPU * float64(min(l.group.Limit, 1024*mib))
		// So expensive that collections use their share at a GOGC of about 400.
		l.heap.Rate, l.heap.MarkRate = 0, 5*l.heap.OpBytes/l.heap.OpCPU
		l.policy.Share, l.group.NonGo = 0.03, 0
		limit := l.group.Limit / 100
		l.phase = func(at float64) {
			l.group.NonGo, l.heap.Live = 0, float64(2*limit)
			l.heap.SetMemoryLimit(83 * limit)
			switch {
			case at >= 200 && at < 300:
				come := min(1, (at-200)/5)
				l.group.NonGo = 68 * come * float64(limit)
				l.heap.SetMemoryLimit(max(20*limit, int64(float64(limit)*(83-68*come))))
			case at >= 600 && at < 700:
				l.heap.Live = float64(40 * limit)
			}
		}
		at := map[float64]int64{}
		for _, until := range []float64{200, 210, 600, 620, 1000} {
			l.run(until)
			at[until] = l.gogc()
		}
		if l.group.Killed || at[200] < 150 || at[210] >= at[200] || at[600] < 3*at[200]/4 || at[620] != 100 || at[1000] < 3*at[200]/4 {
			t.Errorf("seed %d: killed %v, %v, changes %v", seed, l.group.Killed, at, l.changes)
		}
	}
}

// TestGCOscillation: the law follows a recurring change ever more slowly, and settles at what
// fits its worst phase.
func TestGCOscillation(t *testing.T) {
	for _, period := range []float64{2, 7, 20, 60, 200} {
		l := newGCLoop(512*mib, 20*mib, gcOn)
		l.heap.OpCPU = 16e-6
		l.phase = func(at float64) {
			l.heap.Live = (20 + 15*math.Sin(2*math.Pi*at/period)) * mib
			l.group.NonGo = (100 + 100*math.Sin(7*at/period)) * mib
		}
		if l.run(1800); l.after(600) > 20 || l.peak() > 0.9 {
			t.Errorf("period %v s: %d changes in 20 minutes, peak %.2f: %v", period, l.after(600), l.peak(), l.changes)
		}
	}
}

// TestGCNoise: figures that are 10 % off either way, and sometimes missing.
func TestGCNoise(t *testing.T) {
	for seed := range uint64(5) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := newGCLoop(512*mib, 35*mib, gcOn)
		l.heap.OpCPU = 12e-6
		l.spoil = func(_ float64, x *law.GCSample) {
			x.Used = int64(float64(x.Used) * (0.9 + 0.2*r.Float64()))
			x.Heap.Live = int64(float64(x.Heap.Live) * (0.9 + 0.2*r.Float64()))
			switch r.IntN(10) {
			case 0:
				x.Used = -1
			case 1:
				x.CPU.Used = math.NaN()
			}
		}
		if l.run(1800); l.after(300) > 16 || l.gogc() < 130 {
			t.Errorf("seed %d: GOGC %d, %d changes: %v", seed, l.gogc(), l.after(300), l.changes)
		}
	}
}

// gcThree runs three processes under 512 MiB for twenty minutes.
func gcThree(live float64, p law.GCPolicy) (*Group, []*gcLoop) {
	g := &Group{Limit: 512 * mib}
	var loops []*gcLoop
	for range 3 {
		l := newGCLoop(g.Limit, live, p)
		l.heap.OpCPU, l.group = 24e-6, g
		l.heap.SetMemoryLimit(170 * mib)
		g.Heaps = append(g.Heaps, l.heap)
		loops = append(loops, l)
	}
	for next := 1.0; g.At < 1200 && !g.Killed; g.Step(0.005) {
		if g.At >= next {
			next++
			for _, l := range loops {
				l.poll()
			}
		}
	}
	return g, loops
}

// TestGCThreeProcessesUnderOneLimit: each sees the others' heaps as memory outside Go.
func TestGCThreeProcessesUnderOneLimit(t *testing.T) {
	for _, live := range []float64{10, 25, 40} {
		g, loops := gcThree(live*mib, gcOn)
		plain, _ := gcThree(live*mib, law.GCPolicy{})
		for i, l := range loops {
			if l.after(0) > 30 || l.after(600) > 12 {
				t.Errorf("%v MiB live, process %d: %d changes, %d late: %v", live, i, l.after(0), l.after(600), l.changes)
			}
		}
		if g.Killed || g.Peak > max(0.9*float64(g.Limit), 1.01*plain.Peak) {
			t.Errorf("%v MiB live: killed %v, peak %.2f of the limit, without the law %.2f", live, g.Killed, g.Peak/float64(g.Limit), plain.Peak/float64(g.Limit))
		}
	}
}

// FuzzGC feeds the law arbitrary input.
func FuzzGC(f *testing.F) {
	f.Add([]byte{1, 2, 3}, int64(100), true, 0.05)
	f.Add([]byte("any bytes make samples, one figure each eight of them, again and again"), int64(math.MaxInt64), true, math.Inf(1))
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 127, 0, 0, 0, 0, 0, 0, 240, 127}, int64(-1), true, 1e-300)
	f.Add([]byte("a share that is no number"), int64(0), true, math.NaN())
	f.Fuzz(func(t *testing.T, b []byte, base int64, on bool, share float64) {
		pos := 0
		word := func() uint64 {
			var w [8]byte
			for i := range w {
				if len(b) > 0 {
					w[i] = b[pos%len(b)]
				}
				pos++
			}
			pos++ // so that the next one differs
			return binary.LittleEndian.Uint64(w[:])
		}
		figure := func() float64 {
			if w := word(); w%3 != 0 {
				return float64(w % (1 << 40))
			} else {
				return math.Float64frombits(w)
			}
		}
		bytes := func() int64 {
			if w := word(); w%4 != 0 {
				return int64(w % (1 << 36))
			} else {
				return int64(w)
			}
		}
		p := law.GCPolicy{On: on, Base: base, Share: share}
		if base == 0 {
			base = 100
		}
		var s law.GCState
		at := 0.0
		for range 60 {
			at += float64(word() % 16)
			x := law.GCSample{At: at, Limit: bytes(), Used: bytes(), Heap: law.Heap{
				Mapped: bytes(), Free: bytes(), Objects: bytes(), Live: bytes(), Stacks: bytes(), Globals: bytes(), Goal: bytes(),
				Limit: bytes(), GOGC: bytes(), Cycles: word(),
			}, CPU: law.CPU{At: at, Used: figure(), GC: figure(), Busy: figure()}}
			if word()%7 == 0 {
				x.At = figure()
			}
			var d law.GCDecision
			s, d = law.StepGC(s, x, p)
			if d.GOGC != 0 && (d.GOGC < base || d.GOGC > max(base, 1e6)) {
				t.Fatalf("GOGC %d, base %d", d.GOGC, base)
			}
			if d.Code == "" || !math.IsNaN(d.Share) && !(d.Share >= 0 && d.Share <= 1) {
				t.Fatalf("%+v", d)
			}
		}
	})
}
