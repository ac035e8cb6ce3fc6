// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/binary"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// arrival is what is written for each request: when it was due, in nanoseconds of
// CLOCK_MONOTONIC, which all processes share, and a number to draw from.
const arrivalBytes = 16

// arrivals is a process of its own that says when requests are due, on its
// stdout: the program that serves must not decide when it is asked. It also stops
// that program for a while, where that is asked for.
func arrivals(args []string) error {
	f := flag.NewFlagSet("governed arrivals", flag.ContinueOnError)
	rate := f.Float64("rate", 100, "requests per second on average")
	steady := f.Duration("jitter", -1, "how far a request may be off a regular time (default: Poisson arrivals)")
	seed := f.Uint64("seed", 1, "of the arrivals")
	length := f.Duration("for", time.Second, "how long")
	stopAt := f.Duration("stop-at", 0, "when to stop the program")
	stopFor := f.Duration("stop-for", 0, "and for how long")
	stops := f.Int("stops", 1, "how often")
	stopEvery := f.Duration("stop-every", time.Second, "from one stop to the next")
	parent := f.Int("parent", 0, "its process number")
	if err := f.Parse(args); err != nil {
		return err
	}
	runtime.LockOSThread()
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20) // where it may
	random := rand.New(rand.NewPCG(*seed, 1))
	began := monotonic()
	end := began + length.Nanoseconds()
	var stop, resume int64
	if *stopFor > 0 {
		stop = began + stopAt.Nanoseconds()
		resume = stop + stopFor.Nanoseconds()
	}
	mean := 1e9 / *rate
	due, regular := float64(began), float64(began)
	var out [arrivalBytes]byte
	for {
		if *steady >= 0 {
			regular += mean
			due = regular + (random.Float64()*2-1)*float64(*steady)
		} else {
			due += random.ExpFloat64() * mean
		}
		for _, signal := range []struct {
			at  *int64
			sig syscall.Signal
		}{{&stop, syscall.SIGSTOP}, {&resume, syscall.SIGCONT}} {
			if *signal.at > 0 && int64(due) >= *signal.at {
				sleepUntil(*signal.at)
				syscall.Kill(*parent, signal.sig)
				*signal.at += stopEvery.Nanoseconds()
				if signal.sig == syscall.SIGCONT {
					*stops--
				}
				if *stops <= 0 {
					stop, resume = 0, 0
				}
			}
		}
		if int64(due) >= end {
			return nil
		}
		sleepUntil(int64(due))
		binary.LittleEndian.PutUint64(out[:], uint64(int64(due)))
		binary.LittleEndian.PutUint64(out[8:], random.Uint64())
		if _, err := syscall.Write(1, out[:]); err != nil {
			return nil // nobody listens any more
		}
	}
}

// generate starts arrivals, which ends when its reader does.
func generate(args ...string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	// A full pipe would make the next arrival wait; this one holds 65,536 of them.
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	const setPipeSize = 1031 // F_SETPIPE_SZ of fcntl(2)
	syscall.Syscall(syscall.SYS_FCNTL, w.Fd(), setPipeSize, 1<<20)
	cmd := exec.Command(self, append([]string{"arrivals", "--parent", strconv.Itoa(os.Getpid())}, args...)...)
	cmd.Stdout, cmd.Stderr = w, os.Stderr
	cmd.Env = []string{"GOMAXPROCS=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = cmd.Start()
	w.Close()
	return cmd, r, err
}

// monotonic is CLOCK_MONOTONIC in nanoseconds, of clock_gettime(2).
func monotonic() int64 {
	var t syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, 1, uintptr(unsafe.Pointer(&t)), 0)
	return t.Nano()
}

func sleepUntil(at int64) {
	if wait := at - monotonic(); wait > 0 {
		nanosleep(wait)
	}
}

// nanosleep blocks the thread, and with it its P, as a read of a slow disk does.
func nanosleep(ns int64) {
	t := syscall.NsecToTimespec(ns)
	for syscall.Nanosleep(&t, &t) == syscall.EINTR {
	}
}
