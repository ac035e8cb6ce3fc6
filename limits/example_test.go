// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"testing/fstest"

	"github.com/snug-go/snug/limits"
)

// Give a cache a quarter of the container's memory, or a fixed size if there is no limit.
func ExampleSelf() {
	size := int64(64 << 20)
	if l, err := limits.Self(); err == nil {
		if bytes, ok := l.Memory.Hard.Get(); ok {
			size = bytes / 4
		}
	}
	fmt.Println(size > 0)
	// Output: true
}

// container is the file tree of a process in a container: cgroup v2, with a quota of 1.5 cores
// and no memory limit.
func container() fstest.MapFS {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	return fstest.MapFS{
		"proc/self/cgroup":           file("0::/\n"),
		"proc/self/mountinfo":        file("30 20 0:26 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n"),
		"proc/self/status":           file("Cpus_allowed:\tff\n"),
		"proc/meminfo":               file("MemTotal: 8388608 kB\n"),
		"sys/fs/cgroup/cgroup.procs": file("1\n"),
		"sys/fs/cgroup/cpu.max":      file("150000 100000\n"),
		"sys/fs/cgroup/memory.max":   file("max\n"),
		"sys/fs/cgroup/memory.high":  file("max\n"),
	}
}

// Read reads any tree: a node's file system, a saved one, or one made up by a test.
func ExampleRead() {
	l, err := limits.Read(limits.Process{FS: container()})
	if err != nil {
		panic(err)
	}
	fmt.Println("cores:", l.CPU.Cores, "by", l.CPU.QuotaSource.File)
	fmt.Println("memory:", l.Memory.Hard)
	// Output:
	// cores: 1.5 by /sys/fs/cgroup/cpu.max
	// memory: none
}

// Test code that follows its container: resize the tree between two reads.
func ExampleOpen() {
	tree := container()
	h, err := limits.Open(limits.Process{FS: tree})
	if err != nil {
		panic(err)
	}
	defer h.Close()
	for _, quota := range []string{"150000 100000\n", "400000 100000\n", "max 100000\n"} {
		tree["sys/fs/cgroup/cpu.max"].Data = []byte(quota)
		l, err := h.Read(0)
		if err != nil {
			panic(err)
		}
		fmt.Println("quota", l.CPU.Quota, "of", l.CPU.Affinity, "CPUs")
	}
	// Output:
	// quota 1.5 of 8 CPUs
	// quota 4 of 8 CPUs
	// quota none of 8 CPUs
}

// A figure is known, none, or unknown: none is no limit, and unknown is no reason to act.
func ExampleValue() {
	for _, v := range []limits.Value[int64]{limits.Of[int64](64 << 20), limits.NoLimit[int64](), {}} {
		switch v.State {
		case limits.Known:
			fmt.Println("a cache of", v.N/4, "bytes")
		case limits.None:
			fmt.Println("a cache of the usual size")
		case limits.Unknown:
			fmt.Println("a small cache")
		}
	}
	// Output:
	// a cache of 16777216 bytes
	// a cache of the usual size
	// a small cache
}

// A Follower is the cheapest way to poll this process's limits.
func ExampleFollow() {
	f, err := limits.Follow()
	if err != nil { // not Linux
		return
	}
	var l limits.Limits
	if f.Read(&l) {
		fmt.Println("new limits")
	}
}
