// SPDX-License-Identifier: Apache-2.0

package native

import (
	"strconv"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
)

// TestRamp: a heap that grows into its limit, slowly or fast, raises the alarm "tight" and then
// "spiral" before the program is killed.
func TestRamp(t *testing.T) {
	gate.Root(t, "root")
	base := cgv1.New(t, "memory")
	program := built(t, "ramp")
	groups := map[string]map[string]string{}
	rates := []int{2, 5, 20}
	for _, rate := range rates {
		groups["/"+strconv.Itoa(rate)] = map[string]string{"memory.limit_in_bytes": strconv.Itoa(128 * mib)}
	}
	base.Make(t, map[string]map[string]map[string]string{"memory": groups})
	for _, rate := range rates {
		name := strconv.Itoa(rate)
		t.Run(name+" MiB a second", func(t *testing.T) {
			t.Parallel()
			cmd := base.Command(t, "/"+name, program, name)
			out, err := cmd.CombinedOutput()
			said := strings.TrimSpace(string(out))
			t.Logf("level, seconds, MiB of live heap, CPU seconds:\n%s", said)
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(said, "\n")
			if len(lines) < 2 || !strings.HasPrefix(lines[0], "tight ") || !strings.HasPrefix(lines[1], "spiral ") {
				t.Error("want tight, then spiral")
			}
		})
	}
}
