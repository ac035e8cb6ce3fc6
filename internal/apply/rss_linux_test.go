// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/internal/plan"
)

// TestLive runs programs of several sizes. A small one has no live heap that matters; for a larger
// one AtStart uses the resident memory, and Now reads the heap.
func TestLive(t *testing.T) {
	if text := os.Getenv("APPLY_MIB"); text != "" {
		mib, _ := strconv.Atoi(text)
		fmt.Print(live(mib))
		return
	}
	const threshold = plan.MinValue >> 20
	for _, mib := range []int{0, threshold + 6, 160} {
		// A program started by vfork inherits the peak of a large parent; a shell is small, and
		// forks.
		cmd := exec.Command("sh", "-c", `"$0" -test.run='^TestLive$'; exit $?`, os.Args[0])
		cmd.Env = append(os.Environ(), "APPLY_MIB="+strconv.Itoa(mib))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		var atStart, resident, now, heap, freed, residentFreed int64
		if _, err := fmt.Sscan(string(out), &atStart, &resident, &now, &heap, &freed, &residentFreed); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if mib == 0 {
			if atStart != 0 || now != 0 {
				t.Errorf("a small program: %s", out)
			}
			continue
		}
		if atStart < int64(mib)<<20 || !near(atStart, resident) || now < int64(mib)<<20 || !near(now, heap) || now >= atStart {
			t.Errorf("%d MiB of heap: at start %d of %d resident, then %d of %d live", mib, atStart, resident, now, heap)
		}
		// Its peak is not its current size.
		if !near(freed, residentFreed) || freed >= atStart {
			t.Errorf("%d MiB of heap, given back: %d of %d resident", mib, freed, residentFreed)
		}
	}
}

// near reports whether two figures that move by a few pages between readings are equal.
func near(a, b int64) bool { return a-b < 4<<20 && b-a < 4<<20 }

// live prints the results of AtStart and Now for a program with a heap of mib MiB, with the
// kernel's and the runtime's figures; then AtStart's and the kernel's without that heap.
func live(mib int) string {
	debug.SetGCPercent(-1)
	heap := make([]byte, mib<<20)
	for i := range heap {
		heap[i] = 1
	}
	atStart, kernel := AtStart().Live, vmRSS()
	now := Now().Live
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	runtime.KeepAlive(heap)
	heap = nil
	debug.FreeOSMemory()
	return fmt.Sprintln(atStart, kernel, now, m.HeapAlloc, AtStart().Live, vmRSS())
}

// vmRSS returns the resident memory in bytes from another file than resident's:
// proc_pid_status(5).
func vmRSS() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	var kb int64
	fmt.Sscan(rest, &kb)
	return kb << 10
}
