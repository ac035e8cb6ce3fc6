// SPDX-License-Identifier: Apache-2.0

package gobin

import (
	"math/rand/v2"
	"testing"
)

// TestUnwindHostile: no stack and no registers make it panic or read without end, and what it
// returns can be looked up.
func TestUnwindHostile(t *testing.T) {
	for _, m := range []mode{stripped, armstrip} {
		f := open(t, build(t, "local", m))
		random := rand.New(rand.NewPCG(1, 2))
		pc := func() uint64 { return f.TextStart + random.Uint64N(1<<20)&^3 }
		longest, whole := 0, 0
		for range 20000 {
			stack := make([]byte, 8*random.IntN(200)+random.IntN(8))
			for i := 0; i+8 <= len(stack); i += 8 {
				le.PutUint64(stack[i:], pc())
			}
			r := Registers{PC: pc(), SP: 0xc000000000, LR: pc() * random.Uint64N(2)}
			switch random.IntN(20) {
			case 0:
				r.SP = ^uint64(0) - 64
			case 1:
				r.PC = random.Uint64()
			case 2:
				r.SP = 0
			}
			calls, ok := f.Unwind(nil, r, stack, 50)
			if longest = max(longest, len(calls)); ok {
				whole++
			}
			for _, pc := range calls {
				if len(f.Frames(nil, pc)) == 0 {
					t.Fatalf("%#x is no function", pc)
				}
			}
		}
		if longest < 5 || longest > 51 {
			t.Errorf("%v: at most %d calls", m, longest)
		}
		t.Logf("%v: at most %d calls, %d stacks whole", m, longest, whole)
	}
}
