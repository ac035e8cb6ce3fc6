// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// stacked returns a profile of stacks of functions, innermost first, each with one
// sample of the given milliseconds.
func stacked(ms int64, stacks ...string) *profile.Profile {
	p := &profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		Period:     ms * 1e6,
	}
	locations := map[string]*profile.Location{}
	for _, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, ms * 1e6}}
		for _, at := range strings.Fields(stack) {
			l := locations[at]
			if l == nil {
				l = &profile.Location{ID: uint64(len(p.Location) + 1)}
				// Inlined calls are joined by a plus.
				for _, name := range strings.Split(at, "+") {
					f := &profile.Function{ID: uint64(len(p.Function) + 1), Name: name, SystemName: name}
					p.Function = append(p.Function, f)
					l.Line = append(l.Line, profile.Line{Function: f, Line: 1})
				}
				p.Location = append(p.Location, l)
				locations[at] = l
			}
			s.Location = append(s.Location, l)
		}
		p.Sample = append(p.Sample, s)
	}
	return p
}

func TestClasses(t *testing.T) {
	for _, tt := range []struct {
		name  string
		stack string // innermost first
		want  Class
	}{
		{"idle-mark-inlined-1.22", "runtime.scanobject runtime.gcDrain runtime.gcDrainMarkWorkerIdle+runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker runtime.goexit", GCIdleMark},
		{"idle-mark-green-tea-1.26", "runtime.scanSpan runtime.gcDrain runtime.gcDrainMarkWorkerIdle+runtime.gcBgMarkWorker.func2 runtime.systemstack.abi0 runtime.gcBgMarkWorker runtime.goexit.abi0", GCIdleMark},
		{"dedicated-mark-1.18", "runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker runtime.goexit", GCMark},
		{"dedicated-mark-1.27", "runtime.scanObject runtime.gcDrain runtime.gcDrainMarkWorkerDedicated+runtime.gcBgMarkWorker.func2 runtime.systemstack runtime.gcBgMarkWorker", GCMark},
		{"mark-without-the-goroutine", "runtime.greyobject runtime.scanblock runtime.gcDrain", GCMark},
		{"mark-done-by-a-worker", "runtime.futex runtime.notetsleep_internal runtime.forEachP runtime.gcMarkDone runtime.gcBgMarkWorker", GCMark},
		{"assist", "runtime.scanobject runtime.gcDrainN runtime.gcAssistAlloc1 runtime.gcAssistAlloc.func1 runtime.systemstack runtime.gcAssistAlloc runtime.deductAssistCredit runtime.mallocgc runtime.newobject main.work main.main runtime.main runtime.goexit", GCAssist},
		{"assist-parked", "runtime.gopark runtime.gcParkAssist runtime.gcAssistAlloc runtime.mallocgc main.work", GCAssist},
		{"sweep-by-allocation", "runtime.(*sweepLocked).sweep runtime.(*mcentral).cacheSpan runtime.(*mcache).refill runtime.(*mcache).nextFree runtime.mallocgc runtime.makeslice main.work", GCSweep},
		{"sweep-background", "runtime.(*sweepLocked).sweep runtime.sweepone runtime.bgsweep runtime.goexit", GCSweep},
		{"sweep-credit", "runtime.deductSweepCredit runtime.(*mcentral).cacheSpan runtime.mallocgc main.work", GCSweep},
		{"scavenge-background", "runtime.madvise runtime.sysUnused runtime.(*pageAlloc).scavengeOne runtime.(*pageAlloc).scavenge.func1 runtime.bgscavenge.func1 runtime.bgscavenge", GCScavenge},
		{"write-barrier-1.18", "runtime.wbBufFlush1 runtime.wbBufFlush.func1 runtime.systemstack runtime.wbBufFlush runtime.gcWriteBarrier runtime.gcWriteBarrierCX main.link", GCBarrier},
		{"write-barrier-1.21", "runtime.gcWriteBarrier2 main.link main.main", GCBarrier},
		{"write-barrier-bulk", "runtime.bulkBarrierPreWrite runtime.typedmemmove main.copyAll", GCBarrier},
		{"stop-the-world-start", "runtime.futex runtime.futexsleep runtime.notetsleep_internal runtime.stopTheWorldWithSema runtime.gcStart.func2 runtime.systemstack runtime.gcStart runtime.mallocgc main.work", GCStop},
		{"stop-the-world-closure-inlined", "runtime.preemptall runtime.gcMarkDone.forEachP.func5 runtime.systemstack", GCStop},
		{"stopped-by-the-world", "runtime.futex runtime.stopm runtime.gcstopm runtime.schedule runtime.park_m runtime.mcall", GCStop},
		{"each-p-1.23", "runtime.forEachPInternal runtime.forEachP.func1 runtime.systemstack", GCStop},
		{"alloc", "runtime.nextFreeFast+runtime.mallocgc runtime.newobject main.work", Alloc},
		{"alloc-large", "runtime.memclrNoHeapPointers runtime.mallocgcLarge main.work", Alloc},
		{"alloc-by-size-1.27", "runtime.mallocgcSmallScanNoHeaderSC3 main.work", Alloc},
		{"alloc-append", "runtime.memmove runtime.growslice main.work", Alloc},
		{"netpoll", "[kernel] internal/runtime/syscall.Syscall6 internal/runtime/syscall.EpollWait runtime.netpoll runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", Netpoll},
		{"timers-1.18", "runtime.dodeltimer0 runtime.runtimer runtime.checkTimers runtime.findrunnable runtime.schedule", Timers},
		{"timers-1.23", "runtime.(*timers).adjust runtime.(*timers).check runtime.findRunnable runtime.schedule", Timers},
		{"timer-run-1.23", "time.sendTime runtime.(*timer).unlockAndRun runtime.(*timers).run runtime.schedule", Timers},
		{"find-1.18", "runtime.findrunnable runtime.schedule runtime.park_m runtime.mcall", Sched},
		{"steal-1.26", "runtime.runqgrab runtime.runqsteal runtime.stealWork runtime.findRunnable runtime.schedule runtime.park_m runtime.mcall", Sched},
		{"idle-thread", "[kernel] runtime.futex runtime.futexsleep runtime.notesleep runtime.mPark runtime.stopm runtime.findRunnable", Sched},
		{"new-thread", "runtime.schedule runtime.mstart1 runtime.mstart0 runtime.mstart", Sched},
		{"go-statement", "runtime.newproc1 runtime.newproc.func1 runtime.systemstack runtime.newproc main.main", Sched},
		{"wake-for-the-program", "[kernel] runtime.futex runtime.futexwakeup runtime.notewakeup runtime.startm runtime.wakep runtime.ready runtime.goready.func1 runtime.systemstack main.send", Sched},
		{"sysmon", "[kernel] runtime.usleep runtime.sysmon runtime.mstart1 runtime.mstart0 runtime.mstart", Sysmon},
		{"retake-in-sysmon", "runtime.retake runtime.sysmon runtime.mstart1", Sysmon},
		{"stack-growth", "runtime.memmove runtime.copystack runtime.newstack runtime.morestack", Stack},
		{"cgo", "[native] runtime.asmcgocall runtime.cgocall main._Cfunc_sum main.main", Cgo},
		{"go-called-by-c", "main.callback main._cgoexp_1 runtime.cgocallbackg1 runtime.cgocallbackg runtime.cgocallback [native] runtime.asmcgocall runtime.cgocall main.main", User},
		{"c-on-its-own", "[native] [native]", Native},
		{"c-with-a-name", "inflate_fast", Native},
		{"c-split-by-gcc", "deflate.constprop.0", Native},
		{"c++", "std::sort", Native},
		{"syscall-1.18", "syscall.Syscall syscall.write syscall.Write internal/poll.ignoringEINTRIO internal/poll.(*FD).Write net.(*netFD).Write net.(*conn).Write main.main", Syscall},
		{"syscall-1.22", "[kernel] runtime/internal/syscall.Syscall6 syscall.RawSyscall6 syscall.Syscall main.main", Syscall},
		{"syscall-1.25", "[kernel] internal/runtime/syscall.Syscall6 syscall.RawSyscall6 main.main", Syscall},
		{"syscall-1.26", "[kernel] internal/runtime/syscall/linux.Syscall6 main.main", Syscall},
		{"syscall-leaving", "runtime.exitsyscall syscall.Syscall6 main.main", Syscall},
		{"lock-runtime", "runtime.procyield runtime.lock2 runtime.chansend main.send", Lock},
		{"lock-runtime-1.26", "runtime.procyieldAsm runtime.procyield runtime.lock2 runtime.chansend main.send", Lock},
		{"mutex-1.18", "sync.(*Mutex).lockSlow sync.(*Mutex).Lock main.main", Lock},
		{"mutex-1.24", "internal/sync.(*Mutex).lockSlow internal/sync.(*Mutex).Lock sync.(*Mutex).Lock main.main", Lock},
		{"profiler", "runtime.sigprof runtime.sighandler runtime.sigtrampgo runtime.sigtramp", Profiler},
		{"profiler-writing", "compress/flate.(*compressor).deflate runtime/pprof.profileWriter runtime.goexit", Profiler},
		{"program-with-labels", "main.work runtime/pprof.Do main.main", User},
		{"preemption-signal", "runtime.doSigPreempt runtime.sighandler runtime.sigtrampgo runtime.sigtramp", Signal},
		{"program", "main.work main.main runtime.main runtime.goexit", User},
		{"program-in-a-map", "runtime.mapaccess2_fast64 main.work main.main", User},
		{"program-swiss-map", "internal/runtime/maps.(*Map).getWithKey runtime.mapaccess2 main.work", User},
		{"program-page-fault", "[kernel] runtime.memmove main.work", User},
		{"program-clock", "[vdso] runtime.nanotime1 time.Now main.work", User},
		{"program-generic", "slices.SortFunc[go.shape.[]main.T,go.shape.int].func1 main.main", User},
		{"program-that-looks-like-it", "example.com/runtime.schedule example.com/x.mallocgc", User},
		{"program-method-of-such-name", "main.(*runtime).mcall", User},
		{"finalizers", "main.(*T).close runtime.runFinalizers", User},
		{"runtime-other", "runtime.memhash64 runtime.goexit", RuntimeOther},
		{"kernel-only", "[kernel]", Kernel},
		{"no-name", "[native] runtime.goexit", Native},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Summarize(stacked(10, tt.stack))
			if err != nil || len(s.Shares) != 1 || s.Shares[0].Class != tt.want {
				t.Errorf("%+v, %v; want %s", s, err, tt.want)
			}
		})
	}
}

// TestRulesAreSound: each name of a rule has its rule's class, and every class is
// reachable and has a colour.
func TestRulesAreSound(t *testing.T) {
	names := 0
	for class, rule := range rules {
		for _, name := range strings.Fields(rule) {
			name = ruleName(strings.TrimSuffix(name, "*"))
			names++
			if got := classes[rankOf(name)].class; got != class {
				t.Errorf("%s is %s, written in %s", name, got, class)
			}
		}
	}
	if names < 80 {
		t.Errorf("%d names", names)
	}
	for _, c := range classes {
		if c.words == "" || c.class.Words() != c.words {
			t.Errorf("%s: %q", c.class, c.words)
		}
	}
}

func TestPlainName(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.gcBgMarkWorker.func2":               "runtime.gcBgMarkWorker",
		"runtime.gcMarkTermination.func4.1":          "runtime.gcMarkTermination",
		"runtime.systemstack.abi0":                   "runtime.systemstack",
		"slices.SortFunc[go.shape.[]int,go.shape.x]": "slices.SortFunc",
		"main.F[...].func1":                          "main.F",
		"main.(*T).M-fm":                             "main.(*T).M",
		"main.f.gowrap1":                             "main.f",
		"main.f.deferwrap2":                          "main.f",
		"main.f-range1":                              "main.f-range1",
		"main.f.func1-range1":                        "main.f",
		"main.func1":                                 "main.func1",
		"example.com/x.func1":                        "example.com/x.func1",
		"deflate.constprop.0":                        "deflate.constprop",
		"":                                           "",
		"[kernel]":                                   "",
		"]x[":                                        "]x[",
	} {
		if got := plainName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	p := stacked(10,
		"main.work main.main", "main.work main.main", "runtime.mallocgc main.work main.main",
		"runtime.schedule", "runtime.sysmon runtime.mstart1", "runtime.gcDrain runtime.gcBgMarkWorker",
		"runtime.(*timers).check runtime.schedule", "net/http.serve main.main")
	s, err := Summarize(p)
	if err != nil {
		t.Fatal(err)
	}
	near := func(got, want float64) bool { return got > want-1e-9 && got < want+1e-9 }
	if s.Source != RuntimePprof || s.Samples != 8 || !near(s.CPUSeconds, 0.08) || !near(s.OverSize(), 3./8) || !near(s.GC(), 1./8) || !near(s.Ratio(User), 3./8) {
		t.Errorf("%+v", s)
	}
	if len(s.Top) != 2 || s.Top[0].Name != "main.work" || !near(s.Top[0].Self, 2./8) || !near(s.Top[0].Caused, 3./8) || s.Top[1].Name != "net/http.serve" {
		t.Errorf("%+v", s.Top)
	}
	if r := s.Top[0]; r.Name != "main.work" || r.Self != 0.25 || r.Caused != 0.375 {
		t.Errorf("%+v", r)
	}
	p.Comments = []string{perfComment + ", 99 Hz"}
	if s, err = Summarize(p); err != nil || s.Source != Perf {
		t.Errorf("%+v, %v", s, err)
	}
}

func TestSummaryOfOtherProfiles(t *testing.T) {
	heap := stacked(10, "main.main")
	heap.SampleType = []*profile.ValueType{{Type: "alloc_objects", Unit: "count"}, {Type: "alloc_space", Unit: "bytes"}}
	heap.PeriodType = &profile.ValueType{Type: "space", Unit: "bytes"}
	difference := stacked(10, "main.main")
	difference.Sample[0].Value[1] = -1
	for name, p := range map[string]*profile.Profile{"heap": heap, "difference": difference, "nothing": {}} {
		if s, err := Summarize(p); err == nil || !strings.Contains(err.Error(), ErrNotCPU.Error()) {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
	}
	parca := stacked(10, "main.main")
	parca.SampleType = parca.SampleType[:1]
	parca.Sample[0].Value = parca.Sample[0].Value[:1]
	if s, err := Summarize(parca); err != nil || s.Source != OtherSource || s.CPUSeconds != 0.01 {
		t.Errorf("a count with a period: %+v, %v", s, err)
	}
	if s, err := Summarize(stacked(10)); err != nil || s.CPUSeconds != 0 || len(s.Shares) > 0 || s.OverSize() != 0 {
		t.Errorf("no samples: %+v, %v", s, err)
	}
}
