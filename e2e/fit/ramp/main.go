// SPDX-License-Identifier: Apache-2.0

// Ramp is a program whose live heap grows at a steady rate until it reaches its memory limit. It
// prints each level of package adapt's alarm, with the seconds since its start, the live heap in
// MiB and the CPU seconds used, and ends 5 seconds after the first "spiral".
//
//	ramp MIB-PER-SECOND
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/snug-go/snug/adapt"
)

// maxBlocks bounds the live heap at 114 MiB. On a busy machine the alarm comes late, and the kernel
// would kill the program at 128 MiB.
const maxBlocks = 114 * 16

// block is a part of the live heap, with pointers for the collector to follow.
type block struct {
	next *block
	data [64<<10 - 8]byte
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "ramp:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("want a rate, got %q", os.Args[1:])
	}
	rate, err := strconv.ParseFloat(os.Args[1], 64)
	if err != nil {
		return err
	}
	begin := time.Now()
	levels := make(chan adapt.PressureLevel, 10)
	var grown int // blocks
	w, err := adapt.Watch(context.Background(), adapt.Options{OnPressure: func(p adapt.Pressure) { levels <- p.Level }})
	if err != nil {
		return err
	}
	defer w.Undo()
	var head *block
	var end <-chan time.Time
	for tick := time.Tick(5 * time.Millisecond); ; {
		select {
		case l := <-levels:
			fmt.Printf("%s %.2f %d %.2f\n", l, time.Since(begin).Seconds(), grown>>4, cpu())
			if l == adapt.PressureSpiral && end == nil {
				end = time.After(5 * time.Second)
			}
		case <-end:
			return nil
		case <-tick:
			if end != nil {
				continue // like a program that sheds load
			}
			want := int(time.Since(begin).Seconds() * rate * 16)
			if want > maxBlocks {
				runtime.GC() // as allocating would cause, but without more memory
			}
			for want = min(want, maxBlocks); grown < want; grown++ {
				head = &block{next: head}
				for i := 0; i < len(head.data); i += 4096 {
					head.data[i] = 1
				}
			}
		}
	}
}

// cpu returns the process's CPU seconds (getrusage(2)).
func cpu() float64 {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
}
