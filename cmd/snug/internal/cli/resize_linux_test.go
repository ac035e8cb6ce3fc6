// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/goprogram"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// crowded is a program that always has more to do than one P can.
const crowded = `package main

import (
	"fmt"
	"os"
)

func main() {
	for range 4 {
		go func() {
			for n := 0; ; n++ {
			}
		}()
	}
	fmt.Println("ready")
	os.Stdin.Read(make([]byte, 1))
}
`

// TestDoctorResize grows a container under a program that is pinned to the old limit. doctor must name
// who pinned it and say that it does not follow.
func TestDoctorResize(t *testing.T) {
	if !strings.Contains(os.Getenv("SNUG_E2E"), "root") {
		t.Skip("set SNUG_E2E=root to make and resize a cgroup (v1)")
	}
	pid, _ := goprogram.Launched(t, "crowded", crowded, "GOMAXPROCS=1")
	group := newCPUGroup(t, pid)
	// Ahead of what other tests run at the same time, which would hide what is to be seen.
	group.write(t, "cpu.shares", "262144")
	group.write(t, "cpu.cfs_quota_us", "50000")
	group.write(t, "cgroup.procs", pid)
	for _, c := range []struct {
		quota string
		stale bool
	}{{"50000", false}, {"200000", true}} {
		group.write(t, "cpu.cfs_quota_us", c.quota)
		var found string
		// Other programs may take the CPU for a while: then nothing can be said.
		for range 15 {
			code, out, talk := snug(t, "doctor", "--json", "--duration", "2s", "--fail-on", "never", pid)
			var d finding.Doctor
			if err := json.Unmarshal([]byte(out), &d); err != nil || code != 0 || len(d.Targets) != 1 {
				t.Fatalf("%v, exit code %d\n%s%s", err, code, out, talk)
			}
			e := &d.Targets[0]
			if e.GOMAXPROCSSource == nil || *e.GOMAXPROCSSource != "environment" || e.GOMAXPROCSModule != nil {
				t.Errorf("GOMAXPROCS set by %v, %v", e.GOMAXPROCSSource, e.GOMAXPROCSModule)
			}
			found = ""
			for _, f := range e.Findings {
				if f.ID == "stale-procs" {
					found = f.Fix
				}
				if f.ID == "procs-too-few" {
					t.Errorf("beside the cause: %+v", f)
				}
			}
			if found != "" || !c.stale {
				break
			}
			time.Sleep(time.Second)
		}
		if c.stale && (!strings.Contains(found, "the variable's 1") || !strings.Contains(found, "does not follow")) || !c.stale && found != "" {
			t.Errorf("quota %s: %q", c.quota, found)
		}
	}
}
