// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"strconv"
	"testing"
)

// TestGoLine: what the linker wrote, read back.
func TestGoLine(t *testing.T) {
	for line := 17; line <= 26; line++ {
		e, err := ReadExe(buildTarget(t, how{goLine: "1." + strconv.Itoa(line), bare: true}))
		if err != nil {
			t.Fatal(err)
		}
		if got, ok := e.GoLine(); !ok || got != max(20, min(line, e.Minor)) {
			t.Errorf("line 1.%d, built by %s: %d, %t", line, e.GoVersion, got, ok)
		}
	}
	for name, e := range map[string]Exe{
		"Go 1.20 has no such settings":    {Minor: 20, Main: "m"},
		"no build information":            {IsGo: true},
		"a build system that writes none": {Minor: 26},
	} {
		if got, ok := e.GoLine(); ok {
			t.Errorf("%s: %d", name, got)
		}
	}
}
