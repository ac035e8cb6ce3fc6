// SPDX-License-Identifier: Apache-2.0

package limits_test

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/snug-go/snug/limits"
)

// TestSpace: what RLIMIT_AS and RLIMIT_DATA leave of the address space.
func TestSpace(t *testing.T) {
	if text := os.Getenv("SNUG_TEST_SPACE"); text != "" {
		var resource int
		var limit uint64
		if _, err := fmt.Sscan(text, &resource, &limit); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			t.Fatal(err)
		}
		l, err := limits.Self()
		if err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("space " + l.Memory.AddressSpace.String() + "\n")
		return
	}
	const gib = 1 << 30
	for limit, want := range map[string]struct{ least, most float64 }{
		fmt.Sprint(syscall.RLIMIT_AS, uint64(math.MaxUint64)): {},
		fmt.Sprint(syscall.RLIMIT_AS, uint64(4*gib)):          {gib, 4*gib - 1},
		fmt.Sprint(syscall.RLIMIT_DATA, gib):                  {gib / 2, gib - 1},
	} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestSpace$")
		cmd.Env = append(os.Environ(), "SNUG_TEST_SPACE="+limit)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("limit %s: %v\n%s", limit, err, out)
		}
		_, text, _ := strings.Cut(string(out), "space ")
		text, _, _ = strings.Cut(text, "\n")
		var n float64
		for _, c := range text {
			n = 10*n + float64(c-'0')
		}
		if want.most == 0 && text != "none" || want.most > 0 && (n < want.least || n > want.most) {
			t.Errorf("limit %s leaves %s", limit, text)
		}
	}
}
