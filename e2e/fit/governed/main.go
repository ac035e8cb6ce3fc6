// SPDX-License-Identifier: Apache-2.0

// Governed is a program that is hard on its container, under one of several
// policies of who sets GOMAXPROCS, GOMEMLIMIT and GOGC. The experiments on
// adapt.Watch run it with `snug bench`.
//
//	POLICY=plain          nobody; or the variables of Go, where they are set
//	POLICY=snug           adapt.Watch, which SNUG_ADAPT and others tell what to do
//	POLICY=automemlimit   automemlimit with its default of 0.9
//
// With BUILD=NAME it becomes the program governed-NAME beside it, so that arms of
// one experiment can be builds by different versions of Go.
//
// The last line on stdout is one JSON object with the figures. A run that is
// killed has none: --trace prints another object four times a second.
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
	{"quiet", "next to nothing, to see what watching takes", quiet},
	{"resize", "tells when plans and knobs change", resize},
	{"delays", "how long changes of limits took, from what resize told", delays},
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
	return fmt.Errorf("which load?%s", b.String())
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

// flags are what most loads have in common.
type flags struct {
	*flag.FlagSet
	limit   bytesFlag
	seconds float64
	trace   bool
}

func newFlags(name string, seconds float64) *flags {
	f := &flags{FlagSet: flag.NewFlagSet("governed "+name, flag.ContinueOnError), limit: 256 << 20}
	f.Var(&f.limit, "limit", "the container's memory limit, of which live heap and the like are shares")
	f.Float64Var(&f.seconds, "seconds", seconds, "how long")
	f.BoolVar(&f.trace, "trace", false, "print a sample four times a second")
	return f
}

func (f *flags) share(part float64) int64 { return int64(part * float64(f.limit)) }

func (f *flags) duration() time.Duration { return time.Duration(f.seconds * float64(time.Second)) }
