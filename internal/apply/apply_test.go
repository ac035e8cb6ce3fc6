// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/snug-go/snug/internal/plan"
)

// fresh starts a test with knobs that snug does not hold, and restores their values afterwards.
func fresh(t *testing.T) {
	t.Helper()
	n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1)
	procs, memory = knob{}, knob{}
	t.Cleanup(func() {
		runtime.GOMAXPROCS(n)
		debug.SetMemoryLimit(m)
		procs, memory = knob{}, knob{}
	})
}

func want(n, bytes int64) *plan.Plan {
	setting := func(v int64) plan.Setting {
		return plan.Setting{Value: v, Leave: v == 0, Reason: plan.Reason{Code: plan.NoLimit}}
	}
	return &plan.Plan{GOMAXPROCS: setting(n), GOMEMLIMIT: setting(bytes), GOGC: setting(0)}
}

func check(t *testing.T, n int, bytes int64) {
	t.Helper()
	if got := runtime.GOMAXPROCS(0); got != n {
		t.Errorf("GOMAXPROCS = %d, want %d", got, n)
	}
	if got := debug.SetMemoryLimit(-1); got != bytes {
		t.Errorf("GOMEMLIMIT = %d, want %d", got, bytes)
	}
}

func TestSetAndUndo(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	r := Take(want(5, 1<<30), false)
	if r.GOMAXPROCS != Set || r.GOMEMLIMIT != Set {
		t.Errorf("did %v and %v, want both set", r.GOMAXPROCS, r.GOMEMLIMIT)
	}
	check(t, 5, 1<<30)
	r.Undo()
	check(t, 3, plan.NoMemLimit)
	runtime.GOMAXPROCS(5)
	r.Undo()
	check(t, 5, plan.NoMemLimit)
}

func TestLeave(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	if r := Take(want(0, 0), false); r.GOMAXPROCS != Left || r.GOMEMLIMIT != Left {
		t.Errorf("did %+v, want both left", r)
	}
	check(t, 3, plan.NoMemLimit)
}

func TestAlready(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	r := Take(want(3, 0), false)
	if r.GOMAXPROCS != Already || procs.owned {
		t.Errorf("did %v, owned %v: a value that is in force is not snug's", r.GOMAXPROCS, procs.owned)
	}
}

func TestDryRun(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	r := Take(want(5, 1<<30), true)
	if r.GOMAXPROCS != Would || r.GOMEMLIMIT != Would {
		t.Errorf("did %+v, want both would", r)
	}
	check(t, 3, plan.NoMemLimit)
	r.Undo()
	check(t, 3, plan.NoMemLimit)
}

func TestUndoLeavesWhatOthersSet(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	r := Take(want(5, 1<<30), false)
	runtime.GOMAXPROCS(4)
	debug.SetMemoryLimit(1 << 29)
	r.Undo()
	check(t, 4, 1<<29)
}

func TestForeignChangeIsGivenUp(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	Take(want(5, 0), false)
	runtime.GOMAXPROCS(4)
	if n := Now(0); n.OwnProcs != 5 || n.Procs != 4 {
		t.Errorf("now %+v, want the two apart", n)
	}
	Take(want(0, 0), false)
	check(t, 4, plan.NoMemLimit)
	if procs.owned {
		t.Error("a knob that something else changed is still held")
	}
}

func TestLaterTakeKeepsTheFirstValues(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	first := Take(want(5, 1<<30), false)
	second := Take(want(6, 1<<29), false)
	check(t, 6, 1<<29)
	first.Undo()
	check(t, 6, 1<<29)
	second.Undo()
	check(t, 3, plan.NoMemLimit)
}

func TestALaterTakeHoldsWhatIsThere(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	first := Take(want(5, 1<<30), false)
	second := Take(want(5, 1<<30), false)
	if second.GOMAXPROCS != Already || second.GOMEMLIMIT != Already || second.OwnProcs != 5 || second.OwnMemLimit != 1<<30 {
		t.Errorf("did %+v, want both already there and held", second)
	}
	if first.Memory(1<<29) != Lost || second.Memory(1<<29) != Set {
		t.Error("the first still sets, or the second does not")
	}
	if third := Take(want(5, 0), false); third.OwnMemLimit != 0 || third.OwnProcs != 5 {
		t.Errorf("did %+v, want GOMEMLIMIT given back", third)
	}
	check(t, 5, plan.NoMemLimit)
}

func TestReasonGone(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	Take(want(5, 1<<30), false)
	Take(want(0, 0), false)
	check(t, 3, plan.NoMemLimit)
}

func TestUnknownChangesNothing(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	Take(want(5, 1<<30), false)
	p := want(0, 0)
	p.GOMAXPROCS.Code, p.GOMEMLIMIT.Code = plan.Unknown, plan.Unknown
	r := Take(p, false)
	check(t, 5, 1<<30)
	r.Undo()
	check(t, 3, plan.NoMemLimit)
}

func TestHandsBackToTheRuntime(t *testing.T) {
	fresh(t)
	handed := resetProcs()
	runtimes := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(runtimes + 1) // the runtime's choice before its limit changed
	p := want(int64(runtimes+3), 0)
	p.Runtime = runtimes + 1
	r := Take(p, false)
	r.Undo()
	if !handed {
		runtimes++ // before Go 1.25 only the value can be restored
	}
	check(t, runtimes, plan.NoMemLimit)
}

var ballast []byte

func TestLiveHeapIsSeen(t *testing.T) {
	ballast = make([]byte, 96<<20)
	for i := range ballast {
		ballast[i] = 1
	}
	if n := Now(1 << 40); n.Live < 96<<20 || n.Live > 1<<36 {
		t.Errorf("live = %d, want at least the 96 MiB that are", n.Live)
	}
	ballast = nil
}
