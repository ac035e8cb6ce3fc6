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

// arrivalBytes is the size of the record of a request: when it was due, in nanoseconds of
// CLOCK_MONOTONIC, which all processes share, and a random number.
const arrivalBytes = 16

// arrivals runs as a process of its own and writes to stdout when requests are due: the program
// that serves must not decide when it gets requests. It can also stop that program for a time.
func arrivals(args []string) error {
	f := flag.NewFlagSet("governed arrivals", flag.ContinueOnError)
	rate := f.Float64("rate", 100, "requests per second on average")
	steady := f.Duration("jitter", -1, "maximum deviation from regular arrivals (default: Poisson arrivals)")
	seed := f.Uint64("seed", 1, "seed of the arrivals")
	length := f.Duration("for", time.Second, "duration")
	stopAt := f.Duration("stop-at", 0, "time of the first stop of the program")
	stopFor := f.Duration("stop-for", 0, "how long each stop lasts")
	stops := f.Int("stops", 1, "number of stops")
	stopEvery := f.Duration("stop-every", time.Second, "from one stop to the next")
	parent := f.Int("parent", 0, "process id of the program")
	if err := f.Parse(args); err != nil {
		return err
	}
	runtime.LockOSThread()
	syscall.Setpriority(syscall.PRIO_PROCESS, 0, -20) // if permitted
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
			return nil // the reader has ended
		}
	}
}

// generate starts arrivals, which ends when its reader does.
func generate(args ...string) (*exec.Cmd, *os.File, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	// A full pipe would delay the next arrival; this one holds 65,536.
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

// monotonic returns CLOCK_MONOTONIC in nanoseconds (clock_gettime(2)).
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

// nanosleep blocks the thread and its P, like a read from a slow disk.
func nanosleep(ns int64) {
	t := syscall.NsecToTimespec(ns)
	for syscall.Nanosleep(&t, &t) == syscall.EINTR {
	}
}
