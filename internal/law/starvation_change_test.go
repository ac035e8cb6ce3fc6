// SPDX-License-Identifier: Apache-2.0

package law

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// raised is a feed with GOMAXPROCS raised from 2 to 8.
func raised(t *testing.T) *feed {
	t.Helper()
	f := newFeed(2)
	f.run(8, stuck)
	f.want(t, "raised", 8, StarvationEscape, 4, 8)
	f.asked = nil
	return f
}

func TestBaseChanges(t *testing.T) {
	t.Run("while raised", func(t *testing.T) {
		f := raised(t)
		f.p.Base = 3
		f.run(595, calm)
		f.want(t, "held on", 8, StarvationEscape)
		f.run(20, calm)
		f.want(t, "returns to the new one", 3, "", 3)
	})
	t.Run("past the raise", func(t *testing.T) {
		f := raised(t)
		f.p.Base = 10
		f.run(3, calm)
		f.want(t, "nothing is held", 8, "")
		f.x.Procs = 10 // the loop follows the limits
		f.run(1000, calm)
		f.want(t, "and stays", 10, "")
	})
	t.Run("while it suspects", func(t *testing.T) {
		f := newFeed(2)
		f.run(1.6, stuck)
		f.p.Base, f.x.Procs = 3, 3
		began := f.x.At
		for f.x.Procs == 3 && f.x.At < began+20 {
			f.step(f.d.Next, stuck)
		}
		if took := f.x.At - began; f.x.Procs != 6 || took < hotFor {
			t.Errorf("%d Ps after %g s", f.x.Procs, took)
		}
	})
	t.Run("each second", func(t *testing.T) {
		f := newFeed(2)
		for i := range 300 {
			f.p.Base = 2 + i%2
			f.x.Procs = f.p.Base
			f.step(1, stuck)
		}
		f.want(t, "never", 3, "")
	})
	t.Run("cores shrink while raised", func(t *testing.T) {
		f := newFeed(4)
		f.x.Cores, f.x.Quota = 3.5, 0
		m := stuck
		m.goWait = 300
		f.run(12, m)
		f.want(t, "raised", 16, StarvationEscape, 8, 16)
		f.x.Cores = 1
		f.run(3, calm)
		f.want(t, "to the ceiling of fewer cores", 8, StarvationEscape, 8, 16, 8)
		f.x.Cores = 0
		f.run(30, calm)
		f.want(t, "unknown changes nothing", 8, StarvationEscape, 8, 16, 8)
	})
}

func TestSomebodyElseChangesGOMAXPROCS(t *testing.T) {
	t.Run("while raised", func(t *testing.T) {
		f := raised(t)
		f.x.Procs = 5
		f.run(590, calm)
		f.want(t, "theirs holds", 5, EscapeYielded)
		f.run(20, calm)
		f.run(8, stuck)
		f.want(t, "once more, from theirs", 8, StarvationEscape, 8)
		f.run(605, calm)
		f.run(15, calm)
		f.want(t, "and back to theirs", 5, "", 8, 5)
	})
	t.Run("again and again", func(t *testing.T) {
		f := newFeed(2)
		for range 6000 {
			f.step(f.d.Next, stuck)
			f.x.Procs = 2
		}
		if len(f.asked) > 35*10 { // 30 looks in 600 s
			t.Errorf("asked %d times in %.0f s", len(f.asked), f.x.At)
		}
	})
	t.Run("below Base", func(t *testing.T) {
		f := newFeed(4)
		f.x.Procs = 1
		m := stuck
		m.kernelWait = 0.1
		f.run(8, m)
		if !slices.Equal(f.asked, []int{4, 8}) {
			t.Errorf("asked for %v", f.asked)
		}
	})
	t.Run("by nobody: it could not be set", func(t *testing.T) {
		f := newFeed(2)
		f.refuse = true
		f.run(12, stuck)
		f.want(t, "asked for once more", 2, StarvationEscape, 4)
		if f.d.Procs != 4 {
			t.Errorf("%+v", f.d)
		}
		f.run(50, stuck)
		f.want(t, "but not for ever", 2, EscapeYielded, 4)
	})
}

// TestSamplesCloseTogether: other laws may look every 20 ms.
func TestSamplesCloseTogether(t *testing.T) {
	f := newFeed(2)
	began := f.x.At
	for f.x.At < 70 && f.x.Procs == 2 {
		f.step(0.02, stuck)
	}
	if took := f.x.At - began; f.x.Procs != 4 || took > 5 {
		t.Errorf("%d Ps after %g s", f.x.Procs, took)
	}
	n := len(f.asked)
	if f.step(1e-9, stuck); f.d.Procs != 4 || len(f.asked) != n {
		t.Errorf("the same moment once more: %+v", f.d)
	}
}

// TestStreams: noisy, oscillating, adversarial mixtures stay in their bounds and settle.
func TestStreams(t *testing.T) {
	kinds := []mix{calm, stuck, queue, spent, burst, full}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 3))
		base := 1 + r.IntN(6)
		f := newFeed(base)
		f.p.Stay, f.perP = 5+100*r.Float64(), r.IntN(4) > 0
		period := 1 + 60*r.Float64() // oscillating
		lies := r.IntN(3) == 0
		f.spoil = func(i int, x *CPU) {
			if lies && r.IntN(10) == 0 {
				*[]*float64{&x.Used, &x.GoWait, &x.KernelWait, &x.Wakeups, &x.Cores}[r.IntN(5)] = []float64{math.NaN(), -1, 0, math.Inf(1), 1e300}[r.IntN(5)]
			}
		}
		ceiling := max(8, base)
		changes, settled := 0, 0
		for f.x.At < 20000 {
			var m mix
			switch seed % 3 {
			case 0: // as it comes
				m = kinds[r.IntN(len(kinds))]
			case 1: // up and down
				m = kinds[int(f.x.At/period)%2]
			case 2: // against the law: calm when raised, stuck when not
				if m = calm; f.x.Procs == base {
					m = stuck
				}
			}
			m.goWait *= math.Exp(r.NormFloat64())
			before := f.x.Procs
			f.step(f.d.Next, m)
			if n := f.d.Procs; n != 0 && (n < base || !lies && n > ceiling) {
				t.Fatalf("seed %d: %+v", seed, f.d)
			}
			if !(f.d.Next >= 0.2 && f.d.Next <= 1) {
				t.Fatalf("seed %d: Next %g", seed, f.d.Next)
			}
			if f.x.Procs != before {
				if changes++; f.x.At > 10000 {
					settled++
				}
			}
		}
		// Five episodes of up to 3 raises and a return.
		if changes > 20 || settled > 8 {
			t.Errorf("seed %d: %d changes, %d of them late: %v", seed, changes, settled, f.asked)
		}
	}
}

// FuzzStepStarvation: any samples whatever.
func FuzzStepStarvation(f *testing.F) {
	f.Add([]byte{1, 2, 3, 200, 7, 9, 4, 250, 60, 61, 62, 63, 1, 1, 1, 1}, 2, 0, 3)
	f.Add([]byte("\x00\xff\x10\x80\x20\x40"), 1<<30, math.MaxInt, -1)
	f.Fuzz(func(t *testing.T, in []byte, base, ceiling, procs int) {
		var s StarvationState
		var d StarvationDecision
		p := StarvationPolicy{Base: base, Ceiling: ceiling, Stay: 3, Relapses: 2}
		x := CPU{Procs: procs, Cores: 2, Wakeups: 1}
		odd := []float64{math.NaN(), -1, 0, math.Inf(1), math.Inf(-1), 1e308}
		for i, b := range in {
			v := float64(b)
			x.At += v / 50
			x.GoWait += 200 * v
			x.Used += v / 100
			x.Wakeups += v
			x.KernelWait += v / 200
			read := x
			if b > 240 {
				*[]*float64{&read.At, &read.Used, &read.GoWait, &read.KernelWait, &read.Cores, &read.Wakeups}[i%6] = odd[int(b)%6]
			}
			if b == 240 {
				x.Procs = i
			}
			s, d = StepStarvation(s, read, p)
			if d.Procs < 0 || d.Procs != 0 && d.Procs < base || d.Procs > max(base, ceiling, 8, 1<<18) {
				t.Fatalf("%+v of Base %d, Ceiling %d", d, base, ceiling)
			}
			if !(d.Next >= 0.2 && d.Next <= 1) {
				t.Fatalf("%+v", d)
			}
			if d.Procs != 0 && b%3 > 0 {
				x.Procs = d.Procs
			}
		}
	})
}

func TestStepAllocatesNothing(t *testing.T) {
	f := newFeed(2)
	x := f.x
	if n := testing.AllocsPerRun(100, func() {
		x.At++
		x.GoWait += 98
		x.Used += 0.2
		f.s, f.d = StepStarvation(f.s, x, f.p)
	}); n != 0 {
		t.Errorf("%g allocations a step", n)
	}
}
