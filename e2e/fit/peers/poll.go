// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/limits"
)

// poll times a poll of this process's limits and the runtime's own poll, in turn, and reads of
// single files. It prints ns per poll, one line for each round of 500 polls.
//
//	runtime   SetDefaultGOMAXPROCS without a change: affinity and the leaf's quota
//	limits    an open limits.Handle without counters
//	counters  the same with throttling and memory use, as a watcher polls
func poll(args []string) error {
	fs := flag.NewFlagSet("poll", flag.ExitOnError)
	levels := fs.Int("levels", 0, "number of cgroup v1 levels to make; the poll runs in the last")
	rounds := fs.Int("rounds", 200, "rounds")
	fs.Parse(args)
	if *levels > 0 {
		// The runtime finds its group when a program starts, so enter it first.
		leave, err := enterGroup(*levels)
		if err != nil {
			return err
		}
		defer leave()
		self, err := os.Executable()
		if err != nil {
			return err
		}
		cmd := exec.Command(self, "poll", "-rounds", strconv.Itoa(*rounds))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		return cmd.Run()
	}
	plain, err := limits.Open(limits.Process{})
	if err != nil {
		return err
	}
	defer plain.Close()
	counting, err := limits.Open(limits.Process{})
	if err != nil {
		return err
	}
	defer counting.Close()
	l, err := counting.Read(limits.Counters)
	if err != nil {
		return err
	}
	if len(l.CPU.Levels) == 0 {
		return errors.New("no cgroup is visible")
	}
	looks := []struct {
		name string
		look func()
	}{
		{"runtime", runtime.SetDefaultGOMAXPROCS},
		{"limits", func() { plain.Read(0) }},
		{"counters", func() { counting.Read(limits.Counters) }},
	}
	own := l.CPU.Levels[0].File
	files := []string{"/proc/self/cgroup", own, own[:strings.LastIndexByte(own, '/')] + "/cpu.stat"}
	if text, err := os.ReadFile("/proc/self/cgroup"); err == nil {
		if dir, err := ownGroup(string(text), "memory"); err == nil {
			files = append(files, dir+"/memory.limit_in_bytes", dir+"/memory.usage_in_bytes", dir+"/memory.stat")
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		buf := make([]byte, 8192)
		looks = append(looks, struct {
			name string
			look func()
		}{"pread " + name[strings.LastIndexByte(name, '/')+1:], func() { f.ReadAt(buf, 0) }})
	}
	const each = 500
	times := make([][]float64, len(looks))
	fmt.Println("levels,round,look,ns")
	for round := range *rounds {
		for i, x := range looks {
			begin := time.Now()
			for range each {
				x.look()
			}
			ns := float64(time.Since(begin).Nanoseconds()) / each
			times[i] = append(times[i], ns)
			fmt.Printf("%d,%d,%s,%.0f\n", len(l.CPU.Levels), round, x.name, ns)
		}
	}
	for i, x := range looks {
		slices.Sort(times[i])
		base := times[0]
		t := times[i]
		fmt.Fprintf(os.Stderr, "| %d | %s | %.2f / %.2f / %.2f | %.1f |\n", len(l.CPU.Levels), x.name,
			t[0]/1000, t[len(t)/4]/1000, t[len(t)/2]/1000, t[len(t)/4]/base[len(base)/4])
	}
	return nil
}
