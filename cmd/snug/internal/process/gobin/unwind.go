// SPDX-License-Identifier: Apache-2.0

package gobin

// Fields of runtime._func, in bytes, and flags (abi.FuncFlag, the same since Go 1.18).
const (
	funcPCSP = 16
	// funcID and its flags follow the start line, which exists since Go 1.20.
	funcIDBack    = 4 // bytes from the end of the fixed part
	flagTopFrame  = 1
	flagSPWrite   = 2
	cgocallback   = "runtime.cgocallback"
	minFrameArm64 = 16 // sys.MinFrameSize, aligned to sys.StackAlign
)

// Registers are the registers that the runtime saved of a goroutine, in the process's addresses.
type Registers struct {
	PC, SP uint64
	// LR is 0 if it is on the stack; it is only used on arm64.
	LR uint64
	// Syscall reports that they were saved at the entry of a system call.
	Syscall bool
}

// Unwind appends the calls on the stack of a goroutine that does not run to dst, innermost first,
// at most limit. A call is an address within its instruction: pass it to Frames. stack is the
// memory of the goroutine's stack from the saved SP. whole reports that the stack was read to the
// goroutine's first function; it is false if limit or stack ended before, or a function's frame
// has no known size.
//
// Source: runtime/traceback.go, (*unwinder).resolveInternal and next.
func (f *File) Unwind(dst []uint64, r Registers, stack []byte, limit int) (calls []uint64, whole bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	arm := f.Arch == "arm64"
	start := r.SP
	word := func(addr uint64) (uint64, bool) {
		at := addr - start
		if addr < start || at >= uint64(len(stack)) || uint64(len(stack))-at < 8 {
			return 0, false
		}
		return le.Uint64(stack[at:]), true
	}
	pc, sp, lr := r.PC, r.SP, r.LR
	if !arm {
		lr = 0
	}
	exact := false // pc is not a return address
	for n := 0; ; n++ {
		at := f.tab.frameAt(pc - f.img.bias)
		if !at.found {
			return dst, false
		}
		call := pc - f.img.bias
		if !exact && call > at.entry {
			call--
		}
		if at.flags&flagTopFrame != 0 {
			if at.name != "runtime.goexit" {
				dst = append(dst, call)
			}
			return dst, true
		}
		if n >= limit {
			return dst, false
		}
		dst = append(dst, call)
		// The runtime trusts two functions that change their SP: cgocallback is made for it, and
		// the innermost one has given way at its entry or saved its SP before.
		if !at.sized || at.flags&flagSPWrite != 0 && at.name != cgocallback && n > 0 {
			return dst, false
		}
		fp, ok := sp+at.size, true
		switch {
		case !arm:
			fp += 8
			lr, ok = word(fp - 8)
		case n == 0 && sp < fp || lr == 0:
			lr, ok = word(sp)
		}
		if !ok || lr == 0 || lr == pc && sp == fp {
			return dst, false
		}
		pc, sp, lr = lr, fp, 0
		// The kernel or the runtime made it look as if the function had called.
		exact = at.name == "runtime.sigpanic" || at.name == "runtime.asyncPreempt" || at.name == "runtime.debugCallV2"
		if arm && exact {
			saved, ok := word(sp)
			if !ok {
				return dst, false
			}
			sp += minFrameArm64
			if at := f.tab.frameAt(pc - f.img.bias); !at.found {
				pc = saved
			} else if at.sized && at.size == 0 {
				lr = saved
			}
		}
	}
}

// frame is what unwinding needs to know of a pc.
type frame struct {
	found bool // a function has it
	entry uint64
	name  string
	flags byte
	size  uint64 // difference of SP from that at the entry
	sized bool   // size is known
}

// maxFrames bounds the frames that are kept: the goroutines of a program wait in few places.
const maxFrames = 1 << 14

// frameAt returns the frame at pc.
func (t *pclntab) frameAt(pc uint64) frame {
	if at, ok := t.known[pc]; ok {
		return at
	}
	if len(t.known) >= maxFrames {
		clear(t.known)
	}
	if t.known == nil {
		t.known = map[uint64]frame{}
	}
	at := t.readFrame(pc)
	t.known[pc] = at
	return at
}

func (t *pclntab) readFrame(pc uint64) (at frame) {
	f, ok := t.find(pc)
	if !ok {
		return at
	}
	at.found, at.entry, at.name = true, f.entry, t.name(f.nameOff)
	fixed := t.funcSize()
	head, ok := t.bytes(f.args, int(fixed))
	if !ok {
		return at
	}
	at.flags = head[fixed-funcIDBack+1]
	t.steps = 0
	size, ok := t.value(f, le.Uint32(head[funcPCSP:]), pc)
	at.size, at.sized = uint64(size), ok && size >= 0 && size&7 == 0
	return at
}
