// SPDX-License-Identifier: Apache-2.0

// Package holders reads from the memory of a Go process who holds its memory and its goroutines:
// the runtime's own heap profile and the stacks of all goroutines. It neither stops nor changes
// the process.
//
// The process writes while it is read. Each record is read until two reads agree and nothing that
// the runtime counts has moved between them. A record for which that does not succeed is counted
// as unread and never shown. Records are consistent in themselves; goroutines are read one after
// the other, so two of them may belong to different moments.
package holders

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/gobin"
	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// ErrUnknown means that the records of this Go release cannot be found. It is wrapped with the
// reason.
var ErrUnknown = errors.New("cannot be found")

// Bounds of what is read.
const (
	maxGoroutines = 1 << 22
	maxStack      = 64 << 10 // bytes of a stack
	maxCalls      = 128      // of a stack, as many as runtime/pprof keeps
	maxG          = 1 << 10  // is larger than runtime.g, in bytes
	maxHeld       = 1 << 23  // calls that are kept of all stacks
	// maxWild is how many goroutines of a list may not be in memory; of a long one a hundredth.
	maxWild = 64
	// attempts is how often a record is read until it is consistent.
	attempts = 16
	// maxCPU is the CPU time for which goroutines are read in one look, 5 to 15 µs each.
	maxCPU = 400 * time.Millisecond
)

// Budget is enough for the goroutines and the heap profiles of most programs: for 65,000 goroutines, which take four
// reads each.
var Budget = proc.Amount{Bytes: 400 << 20, Calls: 1 << 18, Time: time.Minute}

var le = binary.LittleEndian

// Reader reads the records of a process. Its methods may not be called at once.
type Reader struct {
	file *gobin.File
	mem  io.ReaderAt
	bias uint64
	at   gobin.Records
	exe  io.Closer

	budget *proc.Budget      // of all reads; nil in tests
	wild   int               // goroutines of a list that are not in memory
	rest   func(attempt int) // before each attempt to read the heap profile

	buffers []byte // for stacks

	sites, calls int // bounds of a heap profile; 0 = the default
}

// Bound lets Heap fail on a profile with more sites, or with more calls in all of them. Without
// it the bounds are a million and eight million, for which Heap takes some hundred megabytes.
func (r *Reader) Bound(sites, calls int) { r.sites, r.calls = sites, calls }

// OpenProcess opens the records of a process. All that is read of them is within a budget. The error is one of
// gobin.OpenLive or of reading the process, or ErrUnknown.
func OpenProcess(p *proc.Process, b *proc.Budget) (*Reader, error) {
	if _, err := p.Memory(); err != nil { // p keeps it open
		return nil, err
	}
	p = p.With(b)
	mem, err := p.Memory()
	if err != nil {
		return nil, err
	}
	entry, err := p.AuxEntry()
	if err != nil {
		return nil, err
	}
	exe, id, err := p.OpenExe()
	if err != nil {
		return nil, err
	}
	// The first look finds where it was linked.
	file, err := gobin.Open(exe, id.Size)
	if err == nil {
		file, err = gobin.OpenLive(exe, id.Size, mem, entry-file.Entry)
	}
	var r *Reader
	if err == nil {
		r, err = open(file, mem, entry-file.Entry)
	}
	if over := b.Over(); over != nil {
		err = over
	}
	if err != nil {
		exe.Close()
		return nil, err
	}
	r.exe, r.budget = exe, b
	return r, nil
}

// Close closes the executable. The process stays open.
func (r *Reader) Close() error { return r.exe.Close() }

// open finds the records of a process that runs file, loaded at its addresses plus bias.
func open(file *gobin.File, mem io.ReaderAt, bias uint64) (*Reader, error) {
	r := &Reader{file: file, mem: mem, bias: bias, at: file.Records(), rest: pause}
	if !r.at.Known {
		return nil, fmt.Errorf("%s: the layout of the runtime's records %w", cmp.Or(file.Version, "an unknown Go release"),
			ErrUnknown)
	}
	return r, nil
}

func (r *Reader) read(addr uint64, p []byte) error {
	if addr > 1<<62 {
		return fmt.Errorf("%#x: its address makes no sense", addr)
	}
	_, err := r.mem.ReadAt(p, int64(addr))
	return err
}

// variable reads a variable of the runtime.
func (r *Reader) variable(v gobin.Var, name string, p []byte) error {
	if v.Addr == 0 {
		return fmt.Errorf("runtime.%s %w, %d/%d votes, rival %d", name, ErrUnknown, v.Votes, v.Of, v.Rival)
	}
	return r.read(v.Addr+r.bias, p)
}

// Goroutines holds all goroutines of a program, grouped.
type Goroutines struct {
	// Groups have the same state, reason and calls, largest first.
	Groups []Group
	// Total is the number of the program's goroutines, and Runtime that of the runtime's own,
	// which are not in Groups.
	Total, Runtime int
	// Finalizers is the runtime's goroutine that runs the finalizers, one after the other; nil = it
	// has none yet. While it runs none, only functions of the runtime are in its calls.
	Finalizers *Group
	// Unread could not be read consistently and are not in Total.
	Unread int
	// Left were not looked at, because there are more than the budget or the CPU time of a look is for. Those that were
	// are spread over the list.
	Left int
	// Source says where the list was found.
	Source string
}

// Group is a number of goroutines that do the same.
type Group struct {
	Count int
	// State is "waiting", "running", "runnable", "syscall", "preempted" or "leaked".
	State string
	// Reason is why they wait, in the runtime's words; "" = none.
	Reason string
	// Calls are innermost first, as addresses for gobin.File.Frames. A running goroutine has
	// none.
	Calls []uint64
	// Cut reports that Calls lacks outer calls.
	Cut bool
	// Start is the first function, and Creator the go statement that created them, as
	// addresses; 0 = unknown or, for Creator, none.
	Start, Creator uint64
	// IDs are the numbers of the first few, in the order of their creation.
	IDs []uint64
}

const (
	maxIDs = 5
	mainID = 1
)

// states are the runtime's, by g.atomicstatus (runtime/runtime2.go). Those without a name are no
// goroutines.
var states = map[uint32]string{
	1: "runnable", 2: "running", 3: "syscall", 4: "waiting", 9: "preempted", 10: "leaked",
}

const (
	statusScan      = 0x1000
	statusSyscall   = 3
	statusRunning   = 2
	statusWaiting   = 4
	statusCopyStack = 8
)

// g is a goroutine as its fields say.
type g struct {
	status             uint32
	id, parent         uint64
	reason, seq        byte
	goPC, start        uint64
	regs               gobin.Registers
	stackLow, stackTop uint64
}

// Goroutines reads all goroutines.
func (r *Reader) Goroutines() (*Goroutines, error) {
	list, err := r.list()
	if err != nil {
		return nil, err
	}
	out := &Goroutines{Source: fmt.Sprintf("runtime.allgs, %d/%d votes", r.at.AllGs.Votes, r.at.AllGs.Of)}
	groups := map[string]*Group{}
	runtimes := map[uint64]bool{}
	var key []byte
	r.wild = 0
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begin := proc.ThreadTime()
	for i, addr := range spread(list) {
		one, calls, whole, ok := r.goroutine(addr)
		late := i%256 == 255 && r.budget != nil && proc.ThreadTime()-begin > maxCPU
		if over := r.budget.Over(); late || !ok && errors.Is(over, proc.ErrTooMuch) {
			out.Left = len(list) - i
			break
		} else if !ok && over != nil {
			return nil, over
		}
		if !ok {
			if out.Unread++; r.wild > max(maxWild, len(list)/100) {
				return nil, fmt.Errorf("a list of %d goroutines makes no sense: %d of the first %d are not in memory", len(list),
					r.wild, i+1)
			}
			continue
		}
		state, alive := states[one.status]
		if !alive || one.id == 0 {
			continue
		}
		start, creator := one.start-r.bias, uint64(0)
		// A thread of C that calls Go has a goroutine that no function has started. Any other start
		// says that these are not the fields.
		if one.start == 0 {
			start = 0
		} else if _, entry, _, ok := r.file.Func(start); !ok || entry != start {
			out.Unread++
			continue
		}
		if one.id != mainID { // which the runtime's assembly created
			creator = r.caller(one.goPC)
		}
		own, known := runtimes[start]
		if !known {
			own = r.runtimes(start)
			runtimes[start] = own
		}
		reason := ""
		if one.status == statusWaiting && int(one.reason) < len(r.at.WaitReasons) {
			reason = r.at.WaitReasons[one.reason]
		}
		if own {
			out.Runtime++
			if r.finalizes(start) {
				out.Finalizers = &Group{Count: 1, State: state, Reason: reason, Calls: calls, Cut: !whole && len(calls) > 0,
					Start: start, Creator: creator, IDs: []uint64{one.id}}
			}
			continue
		}
		out.Total++
		key = append(key[:0], byte(one.status), one.reason)
		if reason == "" {
			key[1] = 0
		}
		for _, word := range append(calls, start, creator) {
			key = le.AppendUint64(key, word)
		}
		group := groups[string(key)]
		if group == nil {
			group = &Group{State: state, Reason: reason, Calls: slices.Clone(calls), Cut: !whole && len(calls) > 0, Start: start,
				Creator: creator}
			groups[string(key)] = group
		}
		group.Count++
		if len(group.IDs) < maxIDs {
			group.IDs = append(group.IDs, one.id)
		}
	}
	if out.Total == 0 && out.Unread > 0 {
		return nil, fmt.Errorf("the fields of goroutines %w: none of %d makes sense", ErrUnknown, out.Unread)
	}
	for _, group := range groups {
		out.Groups = append(out.Groups, *group)
	}
	slices.SortStableFunc(out.Groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.IDs[0], b.IDs[0]))
	})
	return out, nil
}

// list returns the addresses of all goroutines. allgs only grows; its array is replaced when it
// is full. An array that is still in use after it was read was in use all the time.
func (r *Reader) list() ([]uint64, error) {
	var head, again [16]byte
	for range attempts {
		if err := r.variable(r.at.AllGs, "allgs", head[:]); err != nil {
			return nil, err
		}
		array, n := le.Uint64(head[:]), le.Uint64(head[8:])
		if n == 0 {
			return nil, fmt.Errorf("there are no goroutines: the program has not started yet")
		}
		if n > maxGoroutines {
			return nil, fmt.Errorf("%d goroutines make no sense", n)
		}
		p := make([]byte, 8*n)
		if r.read(array, p) != nil {
			continue
		}
		if err := r.variable(r.at.AllGs, "allgs", again[:]); err != nil {
			return nil, err
		}
		if le.Uint64(again[:]) != array {
			continue
		}
		list := make([]uint64, 0, n)
		for ; len(p) > 0; p = p[8:] {
			list = append(list, le.Uint64(p))
		}
		return list, nil
	}
	return nil, errors.New("the list of goroutines changed with every read")
}

// goroutine reads a goroutine and its calls. ok is false if it changed with every read.
func (r *Reader) goroutine(addr uint64) (one g, calls []uint64, whole, ok bool) {
	one, stack, ok := r.settled(addr)
	if len(stack) > 0 {
		calls, whole = r.file.Unwind(nil, one.regs, stack, maxCalls)
	}
	return one, calls, whole, ok
}

// settled reads a goroutine and the stack above its saved SP; no stack if it runs or is none. The
// stack is valid until the next call.
//
// Fields, stack, fields and stack are read in this order, and both must be the same twice. If the
// goroutine ran and stopped at the same place while its stack was first read, then the second
// differs from that mixture; and if it still ran when the stack was read again, then the fields in
// between said so.
func (r *Reader) settled(addr uint64) (one g, stack []byte, ok bool) {
	for range attempts {
		one, err := r.fields(addr)
		if err != nil {
			r.wild++
			return g{}, nil, false
		}
		if _, alive := states[one.status]; !alive && one.status != statusCopyStack || one.status == statusRunning {
			return one, nil, true
		}
		sp := one.regs.SP
		if one.status == statusCopyStack || sp < one.stackLow || sp >= one.stackTop || sp&7 != 0 {
			continue
		}
		n := min(one.stackTop-sp, maxStack)
		r.buffers = slices.Grow(r.buffers[:0], 2*maxStack)[:2*maxStack]
		stack, again := r.buffers[:n], r.buffers[maxStack:maxStack+n]
		if r.read(sp, stack) != nil {
			continue
		}
		if now, err := r.fields(addr); err != nil || now != one {
			continue
		}
		if r.read(sp, again) != nil || !slices.Equal(stack, again) {
			continue
		}
		return one, stack, true
	}
	return g{}, nil, false
}

// fields reads the fields of a goroutine.
func (r *Reader) fields(addr uint64) (g, error) {
	o := &r.at.Offsets
	var buf [maxG]byte
	p := buf[:max(o.StartPC, o.GoPC, o.ParentID)+8]
	if err := r.read(addr, p); err != nil {
		return g{}, err
	}
	one := g{
		status: le.Uint32(p[o.Status:]) &^ statusScan, id: le.Uint64(p[o.ID:]),
		reason: p[o.WaitReason], seq: p[o.Tracking],
		goPC: le.Uint64(p[o.GoPC:]), start: le.Uint64(p[o.StartPC:]),
		stackLow: le.Uint64(p), stackTop: le.Uint64(p[8:]),
		regs: gobin.Registers{SP: le.Uint64(p[o.Sched:]), PC: le.Uint64(p[o.Sched+8:]), LR: le.Uint64(p[o.Sched+o.LR:])},
	}
	if o.ParentID >= 0 {
		one.parent = le.Uint64(p[o.ParentID:])
	}
	if sp := le.Uint64(p[o.SyscallSP:]); sp != 0 {
		one.regs = gobin.Registers{SP: sp, PC: le.Uint64(p[o.SyscallPC:]), Syscall: true}
	}
	return one, nil
}

// finalizes reports whether a goroutine that starts at pc runs finalizers (runtime/mfinal.go): runfinq
// to Go 1.24.
func (r *Reader) finalizes(pc uint64) bool {
	name, _, _, _ := r.file.Func(pc)
	return name == "runtime.runfinq" || name == "runtime.runFinalizers"
}

// caller returns the address to look up for the return address of a call.
func (r *Reader) caller(pc uint64) uint64 {
	if pc == 0 {
		return 0
	}
	pc -= r.bias
	if _, entry, _, ok := r.file.Func(pc); ok && pc > entry {
		pc--
	}
	return pc
}

// runtimes reports whether a goroutine that starts at pc is the runtime's own
// (runtime/traceback.go, isSystemGoroutine). One that runs a finalizer counts as the runtime's.
func (r *Reader) runtimes(pc uint64) bool {
	name, _, _, ok := r.file.Func(pc)
	switch name {
	case "runtime.main", "runtime.handleAsyncEvent", "runtime.corostart":
		return false
	}
	return ok && strings.HasPrefix(name, "runtime.")
}
