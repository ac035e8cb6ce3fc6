// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestAnonymous runs programs of several sizes. A small one has no live heap that matters, in a
// larger one the heap counts, and pages of files do not.
func TestAnonymous(t *testing.T) {
	if text := os.Getenv("SNUG_TEST_MIB"); text != "" {
		if small, ok := strings.CutPrefix(text, "start "); ok {
			fmt.Print(said(t, small))
			return
		}
		mib, _ := strconv.Atoi(text)
		anonymous(mib)
		return
	}
	for _, mib := range []int{0, 54, 100} {
		// A program inherits the peak of the one that starts it: this one's, so a small one is between.
		out := said(t, fmt.Sprint("start ", mib))
		var before, kernel, file, freed, kernelFreed int64
		if _, err := fmt.Sscan(out, &before, &kernel, &file, &freed, &kernelFreed); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if mib == 0 {
			if before != 0 {
				t.Errorf("a small program: %s", out)
			}
			continue
		}
		if before < int64(mib)<<20 || !near(before, kernel) || !near(before, file) {
			t.Errorf("%d MiB of heap: %d of %d, and %d with a mapped file", mib, before, kernel, file)
		}
		// Its peak is not its current size.
		if !near(freed, kernelFreed) || freed >= before-int64(mib)<<19 {
			t.Errorf("%d MiB of heap, given back: %d of %d", mib, freed, kernelFreed)
		}
	}
}

// said runs TestAnonymous with a value of SNUG_TEST_MIB and returns what it prints.
func said(t *testing.T, mib string) string {
	cmd := exec.Command(os.Args[0], "-test.run=^TestAnonymous$")
	cmd.Env = append(os.Environ(), "SNUG_TEST_MIB="+mib, "SNUG_TEST_FILE="+filepath.Join(t.TempDir(), "file"))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// near reports whether two figures that move by a few pages between readings are equal.
func near(a, b int64) bool { return a-b < 4<<20 && b-a < 4<<20 }

// anonymous prints the result for a program with a heap of mib MiB and the kernel's figure, the
// result with a mapped file as large, and both without that heap.
func anonymous(mib int) {
	f, err := limits.Follow()
	if err != nil {
		panic(err)
	}
	var l limits.Limits
	f.Read(&l)
	const least = 48 << 20
	debug.SetGCPercent(-1)
	heap := make([]byte, mib<<20)
	for i := range heap {
		heap[i] = 1
	}
	before, kernel := f.Anonymous(least), rssAnon()
	name := os.Getenv("SNUG_TEST_FILE")
	if err := os.WriteFile(name, heap, 0o600); err != nil {
		panic(err)
	}
	if file, err := os.Open(name); err == nil && mib > 0 {
		mapped, err := syscall.Mmap(int(file.Fd()), 0, len(heap), syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			panic(err)
		}
		sum := byte(0)
		for i := 0; i < len(mapped); i += 4096 {
			sum += mapped[i]
		}
		os.Setenv("SUM", string(sum))
	}
	withFile := f.Anonymous(least)
	runtime.KeepAlive(heap)
	heap = nil
	debug.FreeOSMemory()
	fmt.Println(before, kernel, withFile, f.Anonymous(least), rssAnon())
}

// rssAnon returns RssAnon in bytes from another file: proc_pid_status(5).
func rssAnon() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "RssAnon:")
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}
