// SPDX-License-Identifier: Apache-2.0

// Governed is a program that is hard on its container. A policy chooses what sets GOMAXPROCS,
// GOMEMLIMIT and GOGC. The experiments on adapt.Watch run it with `snug bench`.
//
//	POLICY=plain          nothing, or Go's variables if set
//	POLICY=snug           adapt.Watch, controlled by SNUG_ADAPT and others
//	POLICY=automemlimit   automemlimit with its default of 0.9
//
// With BUILD=NAME it becomes the program governed-NAME in the same directory, so that the settings
// of one experiment can differ in the version of Go.
//
// The last line on stdout is one JSON object with the figures. A killed run has none, so --trace
// prints another object four times a second.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

var commands = []struct {
	name, what string
	run        func(args []string) error
}{
	{"memory", "a live heap, garbage, bursts and memory that is not Go's", memory},
	{"spiral", "a live heap that grows from half of the limit to all of it", spiral},
	{"gc", "a fixed number of operations beside a live heap", collect},
	{"serve", "requests at a rate: sys, cpu, gc or burst", serve},
	{"crowd", "requests that fan out into many short goroutines", crowd},
	{"stalls", "workers that wait in system calls", stalls},
	{"quiet", "almost nothing, to measure the cost of watching", quiet},
	{"resize", "prints plans and changes of knobs with their times", resize},
	{"delays", "how long changes of limits took, from the output of resize", delays},
	{"arrivals", "the other half of serve", arrivals},
}

func main() {
	if err := start(); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "governed:", err)
		os.Exit(1)
	}
}

func start() error {
	if build := os.Getenv("BUILD"); build != "" {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		os.Unsetenv("BUILD")
		other := filepath.Join(filepath.Dir(self), "governed-"+build)
		return os.NewSyscallError("execve "+other, syscall.Exec(other, os.Args, os.Environ()))
	}
	if len(os.Args) > 1 {
		for _, c := range commands {
			if c.name == os.Args[1] {
				return c.run(os.Args[2:])
			}
		}
	}
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "\n  %-9s %s", c.name, c.what)
	}
	return fmt.Errorf("want a load:%s", b.String())
}

// bytesFlag is a size such as 256MiB.
type bytesFlag int64

func (b *bytesFlag) String() string { return strconv.FormatInt(int64(*b), 10) }

func (b *bytesFlag) Set(text string) error {
	number, unit := strings.TrimSuffix(text, "MiB"), int64(1)
	if number != text {
		unit = 1 << 20
	}
	n, err := strconv.ParseInt(number, 10, 64)
	*b = bytesFlag(n * unit)
	return err
}

// flags are the common flags of most loads.
type flags struct {
	*flag.FlagSet
	limit   bytesFlag
	seconds float64
	trace   bool
}

func newFlags(name string, seconds float64) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("governed "+name, flag.ContinueOnError), limit: 256 << 20}
	f.Var(&f.limit, "limit", "the container's memory limit; live heap and other sizes are shares of it")
	f.Float64Var(&f.seconds, "seconds", seconds, "duration")
	f.BoolVar(&f.trace, "trace", false, "print a sample four times a second")
	return f
}

func (f *flags) share(part float64) int64 { return int64(part * float64(f.limit)) }

func (f *flags) duration() time.Duration { return time.Duration(f.seconds * float64(time.Second)) }
