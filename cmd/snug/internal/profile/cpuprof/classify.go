// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"strings"
)

// Class is a use of CPU time: the program, or a duty of the Go runtime. Its text is stable.
type Class string

const (
	GCIdleMark   Class = "gc.idle-mark"
	GCMark       Class = "gc.mark"
	GCAssist     Class = "gc.assist"
	GCSweep      Class = "gc.sweep"
	GCScavenge   Class = "gc.scavenge"
	GCBarrier    Class = "gc.barrier"
	GCStop       Class = "gc.stw"
	Alloc        Class = "alloc"
	Netpoll      Class = "sched.netpoll"
	Timers       Class = "sched.timers"
	Sysmon       Class = "sysmon"
	Sched        Class = "sched"
	Stack        Class = "stack"
	Cgo          Class = "cgo"
	Syscall      Class = "syscall"
	Lock         Class = "lock"
	Profiler     Class = "profiler"
	Signal       Class = "signal"
	User         Class = "user"
	RuntimeOther Class = "runtime-other"
	Native       Class = "native"
	Kernel       Class = "kernel"
)

// A rank is the position of a class in the order of rules. A stack has the lowest
// rank of its frames.
type rank uint8

// classes are all classes by rank, with their descriptions.
var classes = [...]struct {
	class Class
	words string
}{
	{GCIdleMark, "marking by idle Ps, which had nothing else to run"},
	{GCMark, "marking in the background"},
	{GCAssist, "marking by goroutines that allocate faster than the background marks"},
	{GCSweep, "sweeping: making freed memory ready for use"},
	{GCScavenge, "scavenging: returning memory to the kernel"},
	{GCBarrier, "write barriers while marking"},
	{GCStop, "stopping and starting the world, phases of the garbage collection"},
	{Alloc, "allocating memory"},
	{Netpoll, "asking the kernel for ready connections"},
	{Timers, "timers"},
	{Sysmon, "the runtime's monitor thread"},
	{Sched, "scheduling: looking for goroutines, waking and parking threads"},
	{Stack, "growing stacks"},
	{Cgo, "calls to C"},
	{Syscall, "system calls"},
	{Lock, "acquiring, releasing and waiting for locks"},
	{Profiler, "the runtime's own CPU profiler"},
	{Signal, "handling signals, among them requests to yield"},
	{User, "code of the program and its libraries"},
	{RuntimeOther, "other parts of the runtime: maps, channels, copying"},
	{Native, "code that is not Go, or unknown"},
	{Kernel, "in the kernel, from an unknown caller"},
}

// Classes returns all classes.
func Classes() []Class {
	all := make([]Class, len(classes))
	for i, c := range classes {
		all[i] = c.class
	}
	return all
}

// Words describes a class, in lower case and without a full stop.
func (c Class) Words() string {
	if r, ok := ranks[c]; ok {
		return classes[r].words
	}
	return ""
}

var ranks = func() map[Class]rank {
	m := map[Class]rank{}
	for i, c := range classes {
		m[c.class] = rank(i)
	}
	return m
}()

// rules lists the functions of each class: a stack with one of them anywhere belongs to
// the class. Names are from Go 1.18 to 1.27, without "runtime." and suffixes; a name
// that ends in * is a prefix. Comments say when a name was added or removed. No rule
// depends on names below gcDrain, which change most often.
//
// Sysmon comes before sched, because every thread of the runtime begins in sched's mstart1.
var rules = map[Class]string{
	// Since 1.22; always inlined, so only in profiles with inlined calls.
	GCIdleMark: "gcDrainMarkWorkerIdle",
	GCMark:     "gcBgMarkWorker gcDrainMarkWorkerDedicated gcDrainMarkWorkerFractional gcDrain",
	GCAssist:   "gcAssistAlloc* gcParkAssist",
	GCSweep:    "bgsweep sweepone (*sweepLocked).sweep deductSweepCredit",
	GCScavenge: "bgscavenge (*pageAlloc).scavenge*",
	GCBarrier:  "gcWriteBarrier* wbBufFlush* bulkBarrierPreWrite*",
	GCStop: "gcStart gcMarkDone gcMarkTermination stopTheWorldWithSema startTheWorldWithSema gcstopm " +
		"forEachP forEachPInternal", // forEachPInternal since 1.23
	// Since 1.26 compiled code calls a variant of mallocgc for each size.
	Alloc:   "mallocgc* newobject growslice* makeslice*",
	Netpoll: "netpoll",
	Timers: "checkTimers runtimer " + // to 1.22
		"(*timers).check (*timers).run", // since 1.23
	Sysmon: "sysmon",
	Sched: "schedule findRunnable findrunnable " + // findrunnable to 1.18
		"stealWork runqsteal runqgrab park_m gosched_m goschedImpl goexit0 stopm startm wakep ready " +
		"injectglist resetspinning handoffp mstart1 mPark mcall newproc preemptPark retake",
	Stack: "newstack copystack morestack",
	Cgo:   "cgocall asmcgocall",
	Syscall: "syscall.Syscall syscall.Syscall6 syscall.RawSyscall syscall.RawSyscall6 " +
		"runtime/internal/syscall.Syscall6 " + // to 1.22
		"internal/runtime/syscall.Syscall6 " + // 1.23 to 1.25
		"internal/runtime/syscall/linux.Syscall6 " + // since 1.26
		"entersyscall exitsyscall",
	Lock: "lock2 unlock2 semacquire1 semrelease1 futex procyield " +
		"procyieldAsm " + // since 1.26
		"sync.(*Mutex).lockSlow internal/sync.(*Mutex).lockSlow", // internal since 1.24
	Profiler: "sigprof runtime/pprof.profileWriter",
	Signal:   "sigtrampgo",
}

// Ranks of functions by full name, and by prefix.
var exactRule, prefixRule = byName(rules, func(c Class) rank { return ranks[c] }, ruleName)

// byName returns what lists of names stand for, by full name and, for a name that ends in *, by prefix.
func byName[K comparable, V any](lists map[K]string, of func(K) V, full func(string) string) (
	exact, prefix map[string]V) {
	exact, prefix = map[string]V{}, map[string]V{}
	for key, names := range lists {
		for name := range strings.FieldsSeq(names) {
			name = full(name)
			if begin, ok := strings.CutSuffix(name, "*"); ok {
				prefix[begin] = of(key)
			} else {
				exact[name] = of(key)
			}
		}
	}
	return exact, prefix
}

// lookUp returns what the name of a function stands for.
func lookUp[V any](name string, exact, prefix map[string]V) (v V, ok bool) {
	if v, ok = exact[name]; ok {
		return v, true
	}
	for begin, v := range prefix {
		if strings.HasPrefix(name, begin) {
			return v, true
		}
	}
	return v, false
}

// ruleName returns the full name of a function in rules.
func ruleName(name string) string {
	if strings.Contains(name, "/") || strings.HasPrefix(name, "syscall.") || strings.HasPrefix(name, "sync.") {
		return name
	}
	return "runtime." + name
}

// rankOf returns the rank of a stack with only this function.
func rankOf(function string) rank {
	switch function {
	case kernelFrame:
		return ranks[Kernel]
	case vdsoFrame, nativeFrame, "", "runtime.goexit":
		// Every goroutine returns to goexit: it says nothing about a plugin's code, which has no names.
		return ranks[Native]
	}
	name := plainName(function)
	if !inRuntime(name) {
		if r, ok := exactRule[name]; ok {
			return r
		}
		if isC(name) {
			return ranks[Native]
		}
		return ranks[User]
	}
	// The name of an inlined closure contains the function it was inlined into:
	// runtime.gcMarkDone.forEachP.func5.
	for whole := name; ; {
		if r, ok := lookUp(name, exactRule, prefixRule); ok {
			return r
		}
		dot := strings.LastIndexByte(name, '.')
		if dot <= len("runtime") || !strings.HasPrefix(whole, "runtime.") || name[dot-1] == ')' {
			return ranks[RuntimeOther]
		}
		name = name[:dot]
	}
}

// plainName removes what the compiler and the linker add to the name of a function: type
// arguments, closure numbers, wrappers, the calling convention.
func plainName(name string) string {
	if i := strings.IndexByte(name, '['); i >= 0 {
		if j := strings.LastIndexByte(name, ']'); j > i {
			name = name[:i] + name[j+1:]
		}
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, ".abi0"), ".abiinternal")
	name = strings.TrimSuffix(name, "-fm")
	for {
		dot := strings.LastIndexByte(name, '.')
		if dot <= 0 || !isCounter(name[dot+1:]) || packageOf(name[:dot]) == "" {
			return name // a function may really be named func1
		}
		name = name[:dot]
	}
}

// isCounter reports whether the last part of a name denotes a closure: func1,
// gowrap2, deferwrap1, 3, or func1-range2.
func isCounter(part string) bool {
	part, _, _ = strings.Cut(part, "-range")
	for _, word := range []string{"func", "gowrap", "deferwrap", ""} {
		if digits, ok := strings.CutPrefix(part, word); ok && digits != "" && strings.Trim(digits, "0123456789") == "" {
			return true
		}
	}
	return false
}

// packageOf returns the import path of a function's package; "" for C.
func packageOf(name string) string {
	slash := strings.LastIndexByte(name, '/')
	if paren := strings.IndexByte(name, '('); paren >= 0 && paren < slash {
		slash = strings.LastIndexByte(name[:paren], '/')
	}
	dot := strings.IndexByte(name[slash+1:], '.')
	if dot < 0 {
		return ""
	}
	return name[:slash+1+dot]
}

// inRuntime reports whether a function is part of the Go runtime, and not of the
// program or the rest of the standard library. Packages for users of the runtime
// (runtime/debug, runtime/pprof) are not part of it, except the profiler itself.
func inRuntime(name string) bool {
	switch p := packageOf(name); p {
	case "runtime", "internal/abi", "internal/bytealg", "internal/chacha8rand", "internal/cpu":
		return true
	default:
		return strings.HasPrefix(p, "internal/runtime/") || strings.HasPrefix(p, "runtime/internal/")
	}
}

// isC reports whether a name has no package, as all Go names do. Parts that GCC splits
// off a function have a dot in their names too.
func isC(name string) bool {
	if packageOf(name) == "" || strings.Contains(name, "::") {
		return true
	}
	for _, piece := range []string{".part", ".isra", ".constprop", ".cold"} {
		if strings.HasSuffix(name, piece) {
			return true
		}
	}
	return false
}
