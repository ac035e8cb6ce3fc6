// SPDX-License-Identifier: Apache-2.0

package size

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// played is a program: it keeps its objective with CPU for its work and for collections, which take more of it the less
// memory there is.
type played struct {
	work, collections float64 // cores; cores in 100 MiB over the live heap
	live              float64 // bytes
}

func (p played) keeps(c Container) bool {
	spare := (c.Memory - p.live) / (100 * mib)
	return spare > 0 && c.Cores >= p.work+p.collections/spare
}

func predicted(cores, coresLeast, memory, memoryLeast float64) *finding.Size {
	value := func(n, least float64) finding.SizeValue { return finding.SizeValue{Value: &n, Least: &least} }
	return &finding.Size{CPULimit: value(cores, coresLeast), Memory: value(memory, memoryLeast)}
}

// play runs a search to its end, and returns what it tried.
func play(s *Search, p played) (tried []Container) {
	for len(tried) < 1000 {
		c, ok := s.Next()
		if !ok {
			break
		}
		tried = append(tried, c)
		s.Add(c, p.keeps(c))
	}
	return tried
}

// TestSearch: the answer is the cheapest container of the whole grid, and few are tried, wherever the prediction is.
func TestSearch(t *testing.T) {
	roomiest := Container{4, 4 * gib}
	for name, p := range map[string]played{
		"small":                   {0.08, 0.002, 20 * mib},
		"half a core":             {0.42, 0.02, 100 * mib},
		"collections cost much":   {0.9, 1.2, 300 * mib},
		"it needs most of it":     {3.1, 0.1, 2800 * mib},
		"only the roomiest keeps": {3.9, 0.1, 3900 * mib},
	} {
		for at, d := range map[string]*finding.Size{
			"right":   predicted(1, p.work, p.live*2, p.live*1.2),
			"too low": predicted(0.1, 0.1, 16*mib, 12*mib),
			"high":    predicted(4, 3, 3*gib, 2*gib),
			"none":    {},
		} {
			for _, price := range []Price{Fargate, {1, 1}, {1, 100}} {
				s := NewSearch(price, roomiest, d)
				tried := play(s, p)
				got, ok := s.Cheapest()
				want := roomiest
				for _, cores := range s.cores {
					for _, memory := range s.memory {
						if c := (Container{cores, memory}); p.keeps(c) && price.Of(c) < price.Of(want) {
							want = c
						}
					}
				}
				if !ok || price.Of(got) != price.Of(want) || s.Open() != 0 {
					t.Errorf("%s, %s, %v: %v, want %v; %d open", name, at, price, got, want, s.Open())
				}
				if len(tried) > 16 {
					t.Errorf("%s, %s, %v: %d of %d tried: %v", name, at, price, len(tried), len(s.cores)*len(s.memory), tried)
				}
				seen := map[Container]bool{}
				for _, c := range tried {
					if seen[c] || !c.within(roomiest) {
						t.Errorf("%s, %s: tried %v", name, at, c)
					}
					seen[c] = true
				}
				if next, ok := s.Cheaper(got); ok && (p.keeps(next) || price.Of(next) >= price.Of(got)) {
					t.Errorf("%s, %s: the next cheaper one is %v", name, at, next)
				}
			}
		}
	}
}

// TestSearchOrder: the watch's cheapest comes first. If it holds, what saves more comes next; if not, all the memory there
// is says whether the CPU was too little.
func TestSearchOrder(t *testing.T) {
	roomiest, d := Container{2, 2 * gib}, predicted(1, 0.3, 200*mib, 100*mib)
	s := NewSearch(Fargate, roomiest, d)
	if c, _ := s.Next(); c != (Container{1, 200 * mib}) || c != s.Predicted() {
		t.Errorf("first %v", c)
	}
	s.Add(s.Predicted(), true)
	if c, _ := s.Next(); c != (Container{0.3, 200 * mib}) {
		t.Errorf("then %v", c)
	}
	s.Add(Container{0.3, 200 * mib}, true)
	if c, _ := s.Next(); c != (Container{0.3, 100 * mib}) {
		t.Errorf("then %v", c)
	}
	if s = NewSearch(Price{1, 100}, roomiest, d); s.guesses[2] != (Container{1, 100 * mib}) {
		t.Errorf("dear memory: %v", s.guesses)
	}
	s = NewSearch(Fargate, roomiest, d)
	s.Add(s.Predicted(), false)
	if c, _ := s.Next(); c != (Container{1, 2 * gib}) {
		t.Errorf("after a failure %v", c)
	}
}

// TestSearchRefuted: what broke its objective later is no answer, nor is anything smaller.
func TestSearchRefuted(t *testing.T) {
	s := NewSearch(Fargate, Container{2, 2 * gib}, predicted(1, 0.3, 200*mib, 100*mib))
	s.Add(Container{1, 200 * mib}, true)
	s.Add(Container{0.3, 100 * mib}, true)
	s.Add(Container{0.3, 200 * mib}, false)
	if c, ok := s.Cheapest(); !ok || c != (Container{1, 200 * mib}) {
		t.Errorf("%v, %v", c, ok)
	}
	if c, ok := s.Cheaper(Container{1, 200 * mib}); !ok || c != (Container{0.3, 200 * mib}) {
		t.Errorf("%v, %v", c, ok)
	}
	s.Add(Container{2, 2 * gib}, false)
	if c, ok := s.Cheapest(); ok {
		t.Errorf("%v", c)
	}
	if c, ok := s.Next(); ok {
		t.Errorf("%v", c)
	}
}

func TestFits(t *testing.T) {
	d := &finding.Size{Seen: seen().SizeSeen}
	memory, cpu, procs, byGo := Fits(Container{0.5, 256 * mib}, d, 26, 8, true)
	if *memory.Value >= 256*mib || *cpu.Value != 0.5 || *procs.Value != 1 || byGo {
		t.Errorf("%v %v %v %v", *memory.Value, *cpu.Value, *procs.Value, byGo)
	}
	if memory, _, procs, byGo = Fits(Container{1, 16 * mib}, d, 18, 8, false); memory.Value != nil || procs.Value == nil || byGo {
		t.Errorf("%v %v %v", memory, procs, byGo)
	}
}
