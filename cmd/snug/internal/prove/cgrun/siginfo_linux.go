// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"encoding/binary"
	"io"
	"os"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Why not os/signal: a terminal's Ctrl-C goes to every process of its foreground
// group, so that the command has it already, while `kill -INT` of snug reaches
// snug alone and has to be passed on. Only siginfo_t tells the two apart, and
// os/signal does not hand it out. So while a command runs in the foreground,
// snug has a handler of its own for the signals it passes on, a few instructions
// that write the siginfo to a pipe.

// signalPipe is the write end of the pipe; the handler reads it.
//
//lint:ignore U1000 the handler is in assembly
var signalPipe uintptr

// handlerPC returns the addresses of the handler and, on amd64, of the code that
// it returns to.
func handlerPC() (handler, restorer uintptr)

// A received signal (sigaction(2)).
type received struct {
	sig syscall.Signal
	// code is si_code: 0 or less when a process sent it, SI_KERNEL when the
	// terminal or the kernel did.
	code int32
	// from is the sender's pid, 0 when it is outside this pid namespace.
	from int32
}

// fromProcess reports whether a process sent the signal, and not the terminal.
func (r received) fromProcess() bool { return r.code <= 0 }

// kernelSigaction is struct sigaction as rt_sigaction(2) takes it on amd64 and
// arm64.
type kernelSigaction struct {
	handler  uintptr
	flags    uint64
	restorer uintptr
	mask     uint64
}

const (
	sigDefault  = 0
	sigIgnored  = 1
	saSiginfo   = 0x4
	saOnStack   = 0x08000000 // goroutine stacks are too small for a signal frame
	saRestorer  = 0x04000000
	saRestart   = 0x10000000
	siginfoSize = 128
)

func sigaction(sig syscall.Signal, set, old *kernelSigaction) error {
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig),
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 8, 0, 0)
	if errno != 0 {
		return os.NewSyscallError("rt_sigaction", errno)
	}
	return nil
}

func ourHandler() *kernelSigaction {
	handler, restorer := handlerPC()
	a := &kernelSigaction{handler: handler, restorer: restorer, mask: ^uint64(0), flags: saSiginfo | saOnStack | saRestart}
	if restorer != 0 {
		a.flags |= saRestorer
	}
	return a
}

// signalReader starts to read the pipe, once: it is never closed, because a
// handler on another thread may still be about to write to it.
var signalReader = sync.OnceValues(func() (<-chan received, error) {
	var fds [2]int
	if err := unix.Pipe2(fds[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return nil, os.NewSyscallError("pipe2", err)
	}
	signalPipe = uintptr(fds[1])
	r, signals := os.NewFile(uintptr(fds[0]), "signals"), make(chan received, 64)
	go func() {
		var b [siginfoSize]byte
		for {
			if _, err := io.ReadFull(r, b[:]); err != nil {
				return
			}
			signals <- received{
				sig:  syscall.Signal(binary.NativeEndian.Uint32(b[0:])),
				code: int32(binary.NativeEndian.Uint32(b[8:])),
				from: int32(binary.NativeEndian.Uint32(b[siginfoPID:])),
			}
		}
	}()
	return signals, nil
})

// catch receives the given signals with who sent them, for good: handlers given
// back to the Go runtime would end snug by a late copy of the signal that its
// command died of. Those that are ignored stay so, as the command inherits that;
// the runtime has left only some of them ignored (see Limitations).
func catch(list []syscall.Signal) (<-chan received, error) {
	signals, err := signalReader()
	if err != nil {
		return nil, err
	}
	for _, sig := range list {
		var old kernelSigaction
		if err := sigaction(sig, nil, &old); err != nil || old.handler == sigIgnored {
			continue
		}
		if err := sigaction(sig, ourHandler(), nil); err != nil {
			return nil, err
		}
	}
	return signals, nil
}

// withDefault calls f while the signal has its default action.
func withDefault(sig syscall.Signal, f func()) {
	var old kernelSigaction
	if sigaction(sig, &kernelSigaction{handler: sigDefault}, &old) == nil {
		defer sigaction(sig, &old, nil)
	}
	f()
}
